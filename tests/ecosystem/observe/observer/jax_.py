"""JAX: a trace is active while `jit`, `vmap`, `scan` and similar functions run a function. Under
`grad` alone, values are known."""
from pathlib import Path

import jax
from jax._src import core
from jax._src.interpreters import batching, partial_eval

NAME = "jax"
FOLDERS = tuple(str(Path(jax.__file__).parent.parent / name) + "/" for name in ("jax", "jaxlib"))
TRACES = (partial_eval.DynamicJaxprTrace, batching.BatchTrace)


def tracing():
    trace = core.trace_ctx.trace
    while trace is not None:
        if isinstance(trace, TRACES):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def verdict(kind, value):
    if not isinstance(value, core.Tracer):
        return "python"
    if kind == "iteration":
        # A loop over a tracer is unrolled.
        return "unclear"
    return "python" if core.is_concrete(value) else "staged"


def owns(file):
    return file.startswith(FOLDERS)


def install(probe):
    pass
