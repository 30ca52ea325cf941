"""How the graphs of a trace become plans. `compile=` of `@ag.function` selects a compiler by its name."""

import torch

#: Name of a compiler -> its class. `export` registers its compilers here.
COMPILERS = {}


class Libtorch:
    """The default: every node is a step of the plan."""

    regions = ()

    def plan(self, graph, callbacks, exceptions, strides):
        """Returns the plan of a graph. `callbacks` are the Python functions that it calls, `exceptions` are the classes
        that it raises, and `strides` are the strides of the inputs (`strides_of`)."""
        return graph.compile(callbacks, exceptions, strides=strides)


LIBTORCH = Libtorch()


def strides_of(value):
    """Returns the strides of a tensor that is not contiguous. Returns None for other values."""
    is_strided = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return list(value.stride()) if is_strided and not value.is_contiguous() else None


def checked(name):
    """Validates the argument `compile` of `function`."""
    if name is not None and name not in COMPILERS:
        raise ValueError(f"`compile` is {' or '.join(map(repr, COMPILERS))} or None, not {name!r}")
    return name


def compiler(name, function):
    """Returns a compiler for the graphs of the function with this name."""
    return LIBTORCH if name is None else COMPILERS[name](function)
