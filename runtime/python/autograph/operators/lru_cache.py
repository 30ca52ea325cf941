"""Functions with `functools.lru_cache`: Python calls them while tracing, so that staged code uses and fills the cache.

    @functools.lru_cache
    def table(n):
        print("made")                          # once, as in eager Python
        return torch.rand(n)

The result is a constant of the graph: in eager Python, later calls would take the same result from the cache. A trace
calls the wrapped function itself if the cache could keep a value of the trace."""

import torch
from torch.utils import _pytree as pytree

from ..capture import permanent, texts
from ..capture.pausing import Paused
from ..capture.rows import StandIn
from ..capture.staging import is_staged
from ..conversion import spans
from . import python_calls


def call(staging, f, args, keywords):
    """Calls the function in Python, which uses its cache. Returns the result in a tuple. Returns None if Python cannot call it
    while tracing: the function would use a value of the trace, or it has raised an exception."""
    if not _can_be_used(staging, f, args, keywords):
        return None
    with permanent.allowed(), Paused(f"`{f.__name__}`, which has a cache,", is_once=False):
        try:
            with staging.attempt():
                result = f(*args, **keywords)
        except Exception:
            return None
    staging.objects.watch_returned(result)
    return (result,)


def _can_be_used(staging, f, args, keywords):
    """Returns whether a call can use the cache: the function existed before the trace, and neither its arguments nor the
    state that it can reach contain a value of the trace."""
    inner = f.__wrapped__
    if spans.is_converted_text(getattr(getattr(inner, "__code__", None), "co_filename", "")):
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    arguments = [*args, *keywords.values()]
    if any(is_staged(leaf) or isinstance(leaf, (StandIn, texts.Text)) for leaf in pytree.tree_leaves(arguments)):
        return False
    return not any(_is_of_trace(staging, value) for value in python_calls.reachable_values(inner, arguments))


def _is_of_trace(staging, value):
    """Returns whether a value is staged, or a tensor from outside that the trace has changed."""
    capture = staging.captures.get(id(value)) if isinstance(value, torch.Tensor) else None
    if capture is None or capture.fake is None:
        return is_staged(value)
    return capture.fake.__dict__["_ag_view"].base.value is not capture.param
