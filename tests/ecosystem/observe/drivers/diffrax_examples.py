"""Differential equations of each kind, with the solvers, controllers, adjoints and paths of diffrax."""
import diffrax
import jax
import jax.numpy as jnp
import jax.random as jr


def decay(t, y, args):
    return -0.5 * y


def solvers():
    for solver in (diffrax.Euler(), diffrax.Heun(), diffrax.Midpoint(), diffrax.Ralston(), diffrax.Tsit5(), diffrax.Dopri5(),
                   diffrax.Dopri8(), diffrax.Bosh3(), diffrax.ImplicitEuler(), diffrax.Kvaerno3(), diffrax.Kvaerno5(),
                   diffrax.LeapfrogMidpoint(), diffrax.ReversibleHeun()):
        @jax.jit
        def solve(y0, solver=solver):
            return diffrax.diffeqsolve(diffrax.ODETerm(decay), solver, 0, 1, 0.1, y0,
                                       saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 3))).ys

        solve(jnp.ones(2))


def controllers():
    term = diffrax.ODETerm(decay)
    pid = diffrax.PIDController(rtol=1e-3, atol=1e-5, dtmax=0.5)
    for controller in (diffrax.ConstantStepSize(), pid, diffrax.ClipStepSizeController(pid, step_ts=[0.3], jump_ts=[0.5]),
                       diffrax.StepTo(jnp.linspace(0, 1, 5))):
        @jax.jit
        def solve(y0, controller=controller):
            dt0 = None if isinstance(controller, diffrax.StepTo) else 0.1
            saveat = diffrax.SaveAt(t0=True, t1=True, steps=True, dense=True)
            return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 1, dt0, y0, stepsize_controller=controller, saveat=saveat,
                                       max_steps=32).evaluate(0.5)

        solve(jnp.ones(2))


def adjoints():
    for adjoint in (diffrax.RecursiveCheckpointAdjoint(), diffrax.DirectAdjoint(), diffrax.BacksolveAdjoint(),
                    diffrax.ForwardMode(), diffrax.ImplicitAdjoint()):
        def final(y0, adjoint=adjoint):
            return diffrax.diffeqsolve(diffrax.ODETerm(decay), diffrax.Tsit5(), 0, 1, 0.1, y0, adjoint=adjoint).ys

        try:
            differentiate = jax.jacfwd if isinstance(adjoint, diffrax.ForwardMode) else jax.grad
            jax.jit(differentiate(final))(1.0)
        except Exception as error:
            print(type(adjoint).__name__, type(error).__name__, str(error)[:100])


def stochastic():
    path = diffrax.VirtualBrownianTree(0, 1, tol=0.05, shape=(2,), key=jr.PRNGKey(0))
    unsafe = diffrax.UnsafeBrownianPath((2,), key=jr.PRNGKey(0))
    for brownian, solver in ((path, diffrax.EulerHeun()), (path, diffrax.ItoMilstein()), (path, diffrax.StratonovichMilstein()),
                             (path, diffrax.Euler()), (unsafe, diffrax.Euler())):
        diffusion = diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.eye(2), brownian)
        terms = diffrax.MultiTerm(diffrax.ODETerm(decay), diffusion)

        @jax.jit
        def solve(y0, terms=terms, solver=solver, brownian=brownian):
            adjoint = diffrax.DirectAdjoint() if brownian is unsafe else diffrax.RecursiveCheckpointAdjoint()
            return diffrax.diffeqsolve(terms, solver, 0, 1, 0.1, y0, adjoint=adjoint).ys

        try:
            solve(jnp.ones(2))
        except Exception as error:
            print(type(solver).__name__, type(error).__name__, str(error)[:100])
    levy = diffrax.VirtualBrownianTree(0, 1, tol=0.05, shape=(), key=jr.PRNGKey(0), levy_area=diffrax.SpaceTimeLevyArea)
    jax.jit(lambda t: levy.evaluate(0, t, use_levy=True).W)(0.4)


def events():
    def falls(t, y, args, **kwargs):
        return y[0] - 0.8

    @jax.jit
    def solve(y0):
        event = diffrax.Event(falls)
        return diffrax.diffeqsolve(diffrax.ODETerm(decay), diffrax.Tsit5(), 0, 5, 0.1, y0, event=event).ts

    solve(jnp.ones(2))


def interpolation():
    ts, ys = jnp.linspace(0, 1, 6), jnp.linspace(0, 1, 6)[:, None] ** 2

    @jax.jit
    def cubic(ys):
        coefficients = diffrax.backward_hermite_coefficients(ts, ys)
        path = diffrax.CubicInterpolation(ts, coefficients)
        return path.evaluate(0.2, 0.6), path.derivative(0.3)

    @jax.jit
    def linear(ys):
        path = diffrax.LinearInterpolation(ts, diffrax.linear_interpolation(ts, ys, fill_forward_nans_at_end=True))
        return path.evaluate(0.5), diffrax.rectilinear_interpolation(ts, ys)

    cubic(ys)
    linear(ys)

    @jax.jit
    def controlled(y0):
        path = diffrax.LinearInterpolation(ts, ys)
        term = diffrax.ControlTerm(lambda t, y, args: -y[:, None], path).to_ode()
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 1, 0.1, y0).ys

    controlled(jnp.ones(3))


for example in (solvers, controllers, adjoints, stochastic, events, interpolation):
    try:
        example()
    except Exception as error:
        print(example.__name__, type(error).__name__, str(error)[:200], flush=True)
