"""Roots, fixed points, minima and least squares with the solvers of optimistix."""
import jax
import jax.numpy as jnp
import optimistix as optx


def residual(y, args):
    return jnp.stack([y[0] ** 2 + y[1] - 1.0, y[0] - y[1]])


def cost(y, args):
    return jnp.sum((y - 1.0) ** 2) + 0.1 * jnp.sum(y**4)


def attempt(name, solve, *arguments):
    try:
        jax.jit(solve)(*arguments)
        jax.jit(jax.jacfwd(solve))(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


start, bounds = jnp.array([0.5, 0.2]), {"rtol": 1e-3, "atol": 1e-3}
for solver in (optx.Newton(**bounds), optx.Chord(**bounds), optx.Dogleg(**bounds), optx.LevenbergMarquardt(**bounds)):
    attempt(solver, lambda y, solver=solver: optx.root_find(residual, solver, y).value, start)
attempt("bisection", lambda y: optx.root_find(lambda y, args: y**2 - 0.3, optx.Bisection(**bounds), y,
                                              options={"lower": 0.0, "upper": 1.0}).value, jnp.array(0.4))
attempt("fixed", lambda y: optx.fixed_point(lambda y, args: jnp.cos(y), optx.FixedPointIteration(**bounds), y).value, start)
for solver in (optx.BFGS(**bounds), optx.DFP(**bounds), optx.NelderMead(**bounds), optx.GradientDescent(0.1, **bounds),
               optx.NonlinearCG(**bounds), optx.BestSoFarMinimiser(optx.BFGS(**bounds))):
    attempt(solver, lambda y, solver=solver: optx.minimise(cost, solver, y, throw=False, max_steps=64).value, start)
for solver in (optx.GaussNewton(**bounds), optx.LevenbergMarquardt(**bounds), optx.IndirectLevenbergMarquardt(**bounds),
               optx.Dogleg(**bounds)):
    attempt(solver, lambda y, solver=solver: optx.least_squares(residual, solver, y, throw=False).value, start)
    attempt(solver, lambda y, solver=solver: optx.least_squares(
        lambda y, args: (residual(y, args), jnp.sum(y)), solver, y, has_aux=True, throw=False).aux, start)
attempt("golden", lambda y: optx.minimise(lambda y, args: (y - 0.3) ** 2, optx.GoldenSearch(**bounds), y,
                                          options={"lower": 0.0, "upper": 1.0}).value, jnp.array(0.5))
attempt("compat", lambda y: optx.compat.minimize(lambda y: cost(y, None), y, method="bfgs").x, start)
