"""Faults of code that `jax.jit` traces."""
from program import Fault, Framework

FAULTS = [
    Fault("if on a tracer", "raises", """
        if jnp.sum(x) > 0.0:  # fault
            y = x * 2.0
        else:
            y = x
    """, """
        y = jnp.where(jnp.sum(x) > 0.0, x * 2.0, x)
    """),
    Fault("while on a tracer", "raises", """
        y = x
        while jnp.max(jnp.abs(y)) > 1.0:  # fault
            y = y * 0.5
    """, """
        y = lax.while_loop(lambda v: jnp.max(jnp.abs(v)) > 1.0, lambda v: v * 0.5, x)
    """),
    Fault("conditional expression", "raises", """
        peak = jnp.max(x)
        scale = 1.0 / peak if peak > 1.0 else 1.0  # fault
        y = x * scale
    """, """
        peak = jnp.max(x)
        scale = jnp.where(peak > 1.0, 1.0 / peak, 1.0)
        y = x * scale
    """),
    Fault("and of tracers", "raises", """
        inside = x > -1.0 and x < 1.0  # fault
        y = jnp.where(inside, x, 0.0)
    """, """
        inside = (x > -1.0) & (x < 1.0)
        y = jnp.where(inside, x, 0.0)
    """),
    Fault("assert on a tracer", "raises", """
        assert jnp.all(jnp.isfinite(x))  # fault
        y = x * 2.0
    """, """
        assert x.ndim <= 1
        y = x * 2.0
    """),
    Fault("float()", "raises", """
        norm = float(jnp.linalg.norm(x))  # fault
        y = x / (norm + 1.0)
    """, """
        norm = jnp.linalg.norm(x)
        y = x / (norm + 1.0)
    """),
    Fault("int()", "raises", """
        best = int(jnp.argmax(x))  # fault
        y = x + best
    """, """
        best = jnp.argmax(x)
        y = x + best
    """),
    Fault("item()", "raises", """
        peak = x.max().item()  # fault
        y = x - peak
    """, """
        peak = x.max()
        y = x - peak
    """),
    Fault("NumPy function", "raises", """
        weights = np.exp(x - 1.0)  # fault
        y = x * weights
    """, """
        weights = jnp.exp(x - 1.0)
        y = x * weights
    """),
    Fault("np.asarray", "raises", """
        values = np.asarray(x)  # fault
        y = x - values.mean()
    """, """
        values = jnp.asarray(x)
        y = x - values.mean()
    """),
    Fault("item assignment", "raises", """
        y = x * 2.0
        y[0] = 0.0  # fault
    """, """
        y = x * 2.0
        y = y.at[0].set(0.0)
    """),
    Fault("Boolean mask", "raises", """
        positive = x[x > 0.0]  # fault
        y = x / (1.0 + jnp.sum(positive))
    """, """
        positive = jnp.where(x > 0.0, x, 0.0)
        y = x / (1.0 + jnp.sum(positive))
    """),
    Fault("nonzero without size", "raises", """
        (indices,) = jnp.nonzero(x > 0.0)  # fault
        y = x + jnp.sum(indices)
    """, """
        (indices,) = jnp.nonzero(x > 0.0, size=4)
        y = x + jnp.sum(indices)
    """),
    Fault("shape from a value", "raises", """
        length = jnp.sum(x > 0.0)  # cause
        padding = jnp.zeros(length)  # fault
        y = x + jnp.sum(padding)
    """, """
        length = x.size
        padding = jnp.zeros(length)
        y = x + jnp.sum(padding)
    """),
    Fault("range of a tracer", "raises", """
        y = x
        for _ in range(jnp.argmax(x)):  # fault
            y = y * 0.5
    """, """
        y = x
        for _ in range(x.ndim):
            y = y * 0.5
    """),
    Fault("max() of tracers", "raises", """
        scale = max(jnp.max(x), 1.0)  # fault
        y = x / scale
    """, """
        scale = jnp.maximum(jnp.max(x), 1.0)
        y = x / scale
    """),
    Fault("index of a list", "raises", """
        scales = [1.0, 2.0, 4.0, 8.0]
        y = x * scales[jnp.argmax(x)]  # fault
    """, """
        scales = jnp.array([1.0, 2.0, 4.0, 8.0])
        y = x * scales[jnp.argmax(x)]
    """),
    Fault("branches of cond", "raises", """
        y = lax.cond(jnp.sum(x) > 0.0, lambda v: v * 2.0, lambda v: v.astype(jnp.int32), x)  # fault
    """, """
        y = lax.cond(jnp.sum(x) > 0.0, lambda v: v * 2.0, lambda v: v * 3.0, x)
    """),
    Fault("structure of cond", "raises", """
        def shrink(v):
            return v * 0.5, jnp.sum(v)

        def keep(v):
            return v

        y = lax.cond(jnp.sum(x) > 0.0, shrink, keep, x)[0]  # fault
    """, """
        def shrink(v):
            return v * 0.5, jnp.sum(v)

        def keep(v):
            return v, jnp.sum(v)

        y = lax.cond(jnp.sum(x) > 0.0, shrink, keep, x)[0]
    """),
    Fault("carry of scan", "raises", """
        def add(total, v):  # cause
            return total + jnp.mean(v), total  # cause

        total, sums = lax.scan(add, jnp.zeros((), jnp.int32), jnp.atleast_1d(x))  # fault
        y = x + total
    """, """
        def add(total, v):
            return total + jnp.mean(v), total

        total, sums = lax.scan(add, jnp.zeros(()), jnp.atleast_1d(x))
        y = x + total
    """),
    Fault("result of a scan body", "raises", """
        def add(total, v):  # cause
            return total + v  # cause

        total, _ = lax.scan(add, 0.0, jnp.atleast_1d(x))  # fault
        y = x + total
    """, """
        def add(total, v):
            return total + v, None

        total, _ = lax.scan(add, 0.0, jnp.atleast_1d(x))
        y = x + total
    """),
    Fault("carry of fori_loop", "raises", """
        def grow(i, v):  # cause
            return jnp.concatenate([v, v])  # cause

        start = jnp.ravel(x)
        y = x + jnp.sum(lax.fori_loop(0, 3, grow, start))  # fault
    """, """
        def grow(i, v):
            return v + v

        start = jnp.ravel(x)
        y = x + jnp.sum(lax.fori_loop(0, 3, grow, start))
    """),
    Fault("carry of while_loop", "raises", """
        def halve(state):  # cause
            count, v = state
            return count + 1.0, v * 0.5  # cause

        count, y = lax.while_loop(lambda s: jnp.max(s[1]) > 1.0, halve, (jnp.zeros((), jnp.int32), x))  # fault
    """, """
        def halve(state):
            count, v = state
            return count + 1, v * 0.5

        count, y = lax.while_loop(lambda s: jnp.max(s[1]) > 1.0, halve, (jnp.zeros((), jnp.int32), x))
    """),
    Fault("leaked tracer", "raises", """
        HISTORY.append(jnp.sum(x))  # cause
        y = x * 2.0
    """, """
        HISTORY.append(x.ndim)
        y = x * 2.0
    """, setup="HISTORY = []", after='print("total", sum(HISTORY) + 1.0)', names=("HISTORY",)),
    Fault("random number of NumPy", "frozen", """
        noise = np.random.normal(size=x.shape)  # fault
        y = x + noise
    """, """
        noise = jax.random.normal(jax.random.key(0), x.shape)
        y = x + noise + jnp.sum(next_noise())
    """, setup="""
        def next_noise():
            return jnp.zeros(1)
    """, repaired_setup="""
        def next_noise():
            return jax.pure_callback(lambda: np.random.normal(size=(1,)).astype("float32"),
                                     jax.ShapeDtypeStruct((1,), jnp.float32), vmap_method="sequential")
    """),
    Fault("time", "frozen", """
        started = time.perf_counter()  # fault
        y = x * 0.0 + (started % 1.0)
    """, """
        y = x * 0.0 + clock()[0]
    """, setup="import time", repaired_setup="""
        import time


        def clock():
            return jax.pure_callback(lambda: np.array([time.perf_counter() % 1.0], "float32"),
                                     jax.ShapeDtypeStruct((1,), jnp.float32), vmap_method="sequential")
    """),
    Fault("counter of Python", "differs", """
        COUNTS["calls"] += 1  # fault
        y = x * 2.0
    """, """
        y = x * 2.0
    """, setup='COUNTS = {"calls": 0}', after='results.append(COUNTS["calls"])', names=("COUNTS",)),
    Fault("changed setting", "differs", """
        y = x * SETTINGS["scale"]  # fault
    """, """
        y = x * FIXED
    """, setup='SETTINGS = {"scale": 1.0}\nFIXED = 2.0', between='SETTINGS["scale"] = SETTINGS["scale"] + 1.0  # cause',
        names=("SETTINGS",)),
    Fault("unhashable static argument", "raises", """
        y = x + jnp.sum(pad(x, widths=[1, 1]))  # fault
    """, """
        y = x + jnp.sum(pad(x, widths=(1, 1)))
    """, setup="""
        from functools import partial


        @partial(jax.jit, static_argnames=("widths",))
        def pad(x, widths):
            return jnp.pad(jnp.ravel(x), widths)
    """),
    Fault("traced size argument", "raises", """
        y = x + jnp.sum(window(x, 2))  # cause
    """, """
        y = x + jnp.sum(window(x, 2))
    """, setup="""
        @jax.jit
        def window(x, size):
            return jnp.ones(size) * jnp.sum(x)  # fault
    """, repaired_setup="""
        from functools import partial


        @partial(jax.jit, static_argnames=("size",))
        def window(x, size):
            return jnp.ones(size) * jnp.sum(x)
    """),
    Fault("jit in a loop", "retraces", """
        y = x
        for k in range(3):
            y = jax.jit(lambda v: v * k)(y)  # fault
    """, """
        y = x
        for k in range(3):
            y = scale(y, k)
    """, setup="""
        @jax.jit
        def scale(v, k):
            return v * k
    """, traced=False),
    Fault("gradient of a vector", "raises", """
        slope = jax.grad(lambda v: jnp.sin(jnp.atleast_1d(v)))(x)  # fault
        y = x - 0.1 * slope
    """, """
        slope = jax.grad(lambda v: jnp.sum(jnp.sin(jnp.atleast_1d(v))))(x)
        y = x - 0.1 * slope
    """),
]

FRAMEWORK = Framework(
    "jax",
    """
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
""",
    "jax.jit", "jax.jit", "jnp.array([0.5, -1.0, 2.0, 3.0])", "jax.Array", FAULTS)
