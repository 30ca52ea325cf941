"""Interpolation in one to three dimensions with each method of interpax."""
import interpax
import jax
import jax.numpy as jnp

x = jnp.linspace(0, 1, 8)
f1, f2, f3 = jnp.sin(x), jnp.outer(x, x), x[:, None, None] * x[:, None] * x
at = jnp.linspace(0.1, 0.9, 4)


def attempt(name, run, *arguments):
    try:
        jax.jit(run)(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


for method in ("nearest", "linear", "cubic", "cubic2", "cardinal", "catmull-rom", "monotonic", "monotonic-0", "akima"):
    for more in ({}, {"derivative": 1}, {"extrap": True}, {"extrap": (0.0, 1.0)}, {"period": 1.0}):
        attempt((method, more), lambda at, f: interpax.interp1d(at, x, f, method=method, **more), at, f1)
    attempt(method, lambda at, f: interpax.interp2d(at, at, x, x, f, method=method), at, f2)
    attempt(method, lambda at, f: interpax.interp3d(at, at, at, x, x, x, f, method=method), at, f3)
    attempt(method, lambda f: interpax.Interpolator1D(x, f, method=method)(at), f1)
    attempt(method, lambda f: interpax.Interpolator2D(x, x, f, method=method)(at, at), f2)
for kind in ("CubicSpline", "Akima1DInterpolator", "PchipInterpolator"):
    attempt(kind, lambda f: getattr(interpax, kind)(x, f)(at), f1)
attempt("fft", lambda f: interpax.fft_interp1d(f, 12), f1)
attempt("fft", lambda f: interpax.fft_interp2d(f, 12, 12), f2)
