"""The solvers of jaxopt, run under jit and differentiated."""
import jax
import jax.numpy as jnp
import jaxopt

A, b = jnp.array([[2.0, 0.5], [0.5, 1.0]]), jnp.array([1.0, -1.0])


def quadratic(x, scale=1.0):
    return scale * jnp.sum((A @ x - b) ** 2)


def residuals(x, scale=1.0):
    return scale * (A @ x - b)


def attempt(solver, *arguments, **keywords):
    try:
        state = solver.init_state(*arguments, **keywords)
        jax.jit(solver.update)(arguments[0], state, *arguments[1:], **keywords)
    except Exception as error:
        print(type(solver).__name__, "update", type(error).__name__, str(error)[:100])
    try:
        jax.jit(lambda scale: solver.run(*arguments, **keywords).params)(1.0)
        jax.jit(jax.jacrev(lambda start: solver.run(start, *arguments[1:], **keywords).params))(arguments[0])
    except Exception as error:
        print(type(solver).__name__, "run", type(error).__name__, str(error)[:100])


x = jnp.zeros(2)
options = {"maxiter": 10, "tol": 1e-3}
for linesearch in ("backtracking", "zoom", "hager-zhang"):
    attempt(jaxopt.LBFGS(quadratic, linesearch=linesearch, **options), x)
for solver in (jaxopt.BFGS, jaxopt.GradientDescent, jaxopt.NonlinearCG, jaxopt.LBFGS):
    attempt(solver(quadratic, **options), x)
for solver in (jaxopt.GaussNewton, jaxopt.LevenbergMarquardt):
    attempt(solver(residuals, **options), x)
attempt(jaxopt.ProximalGradient(quadratic, prox=jaxopt.prox.prox_lasso, **options), x, hyperparams_prox=0.1)
attempt(jaxopt.ProjectedGradient(quadratic, projection=jaxopt.projection.projection_simplex, **options), x)
attempt(jaxopt.ProjectedGradient(quadratic, projection=jaxopt.projection.projection_box, **options), x, hyperparams_proj=(0.0, 1.0))
attempt(jaxopt.PolyakSGD(lambda x: quadratic(x), **options), x)
attempt(jaxopt.ArmijoSGD(quadratic, **options), x)
attempt(jaxopt.FixedPointIteration(lambda x: 0.5 * jnp.cos(x), **options), x)
attempt(jaxopt.AndersonAcceleration(lambda x: 0.5 * jnp.cos(x), history_size=2, **options), x)
attempt(jaxopt.Broyden(lambda x: x - 0.5 * jnp.cos(x), **options), x)
attempt(jaxopt.Bisection(lambda x: x**3 - 0.5, 0.0, 1.0, maxiter=10), jnp.array(0.5))
attempt(jaxopt.OptaxSolver(quadratic, __import__("optax").sgd(0.1), maxiter=5), x)
attempt(jaxopt.EqualityConstrainedQP(), None, params_obj=(A, b), params_eq=(jnp.ones((1, 2)), jnp.ones(1)))
attempt(jaxopt.BlockCoordinateDescent(jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, **options), x,
        hyperparams_prox=0.1, data=(A, b))
scores, labels = jnp.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]), jnp.array([1, 2])
for loss in (jaxopt.loss.multiclass_logistic_loss, jaxopt.loss.multiclass_sparsemax_loss):
    jax.jit(jax.vmap(loss))(labels, scores)
for projection, more in ((jaxopt.projection.projection_l1_ball, (1.0,)), (jaxopt.projection.projection_l2_ball, (1.0,)),
                         (jaxopt.projection.projection_simplex, ()), (jaxopt.projection.projection_non_negative, ()),
                         (jaxopt.projection.projection_hyperplane, ((b, 1.0),)), (jaxopt.projection.projection_halfspace, ((b, 1.0),))):
    jax.jit(projection)(x + 2, *more)
