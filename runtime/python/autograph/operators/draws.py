"""Methods of random number generators of Python, NumPy and torch. The graph calls them when it runs."""

import copy
import functools
import random
import sys

import torch

from ..capture import contents, scalars, views
from ..capture.places import Contents
from ..capture.staging import current, is_staged
from ..conversion import spans
from ..errors import StagingError
from ..record.types import BOOL, FLOAT, INT
from .values import List

_EXAMPLES = {INT: 1, FLOAT: 1.0, BOOL: True}


def is_draw(f):
    """Returns whether a function is a method of a random number generator. `f` may be an object of the user, whose
    `__getattr__` must not be called."""
    owner = f.__self__ if hasattr(type(f), "__self__") else None
    if owner is None or isinstance(owner, torch.Tensor):
        return False
    numpy = sys.modules.get("numpy")
    return isinstance(owner, (random.Random, torch.Generator)) or (
        numpy is not None and isinstance(owner, (numpy.random.RandomState, numpy.random.Generator))
    )


def draw(f, args, keywords):
    """Calls a method of a generator. If the generator exists outside of the function, and the method belongs to torch or
    returns a number, the graph calls it; otherwise Python calls it during tracing."""
    staging = current()
    if id(f.__self__) not in staging.outside:
        return f(*args, **keywords)
    if isinstance(f.__self__, torch.Generator):
        return _call_of_torch(staging, f, [*args, *keywords.values()])
    values = [_without_list(value) for value in (*args, *keywords.values())]
    plain = values[: len(args)], dict(zip(keywords, values[len(args) :]))
    kind = _kind(f, *plain) if all(map(_is_plain, values)) else None
    if kind is None:
        return f(*args, **keywords)
    staging.drawn[id(f.__self__)] = Contents(f.__self__, contents.kind_of(type(f.__self__)))
    staged = [index for index, value in enumerate(values) if is_staged(value)]

    def callback(*operands):
        actual = list(values)
        for index, operand in zip(staged, operands):
            actual[index] = operand
        found = f(*actual[: len(args)], **dict(zip(keywords, actual[len(args) :])))
        return () if kind == () else (scalars.PYTHON_CLASSES[kind[0]](found),)

    functools.update_wrapper(callback, f, assigned=("__name__",), updated=())
    operands = [staging.operand(values[index]) for index in staged]
    found = staging.call_python(callback, operands, list(kind), is_undone=True)
    return staging.wrap(found[0]) if kind else None


def _call_of_torch(staging, method, args):
    """Calls a method of a `torch.Generator`."""
    generator = method.__self__
    if method.__name__ == "seed":
        message = "`Generator.seed()` returns a number of 64 bits without a sign, which a graph does not have"
        raise StagingError(f"{message}\nhelp: call `manual_seed`", spans.current())
    types = _RESULTS_OF_TORCH.get(method.__name__)
    if types is None:
        return method(*args)
    staging.drawn[id(generator)] = Contents(generator, contents.TORCH_RANDOM)
    types = types(generator)

    def callback(*values):
        result = method(*values)
        return (result,) if types else ()

    functools.update_wrapper(callback, method, assigned=("__name__",), updated=())
    found = staging.call_python(callback, [staging.operand(arg) for arg in args], types, is_undone=True)
    return staging.wrap(found[0]) if types else generator


#: The types of the results of methods that read or change the state. Without a result, a method returns the generator.
_RESULTS_OF_TORCH = {
    "manual_seed": lambda generator: [],
    "set_state": lambda generator: [],
    "initial_seed": lambda generator: [INT],
    "get_state": lambda generator: [views.result_type(generator.get_state())],
}


def _without_list(value):
    """Returns a `List` as a Python list."""
    return list(value) if isinstance(value, List) and value.value is None else value


def _is_plain(value):
    if type(value) in (list, tuple, range):
        return all(isinstance(item, (int, float)) for item in value)
    return value is None or isinstance(value, (int, float, str)) or scalars.is_staged(value)


def _kind(f, args, keywords):
    """Returns the types of the results of a call: `(type,)` if it returns a number, `()` if it returns nothing, None if it
    returns anything else."""
    numpy = sys.modules.get("numpy")
    generator = copy.deepcopy(f.__self__)
    args = [_example(value) for value in args]
    found = getattr(generator, f.__name__)(*args, **{name: _example(value) for name, value in keywords.items()})
    if found is None:
        return () if f.__name__ == "seed" else None
    if isinstance(found, (bool, *((numpy.bool_,) if numpy else ()))):
        return (BOOL,)
    if isinstance(found, (int, *((numpy.integer,) if numpy else ()))):
        return (INT,)
    return (FLOAT,) if isinstance(found, float) else None


def _example(value):
    return _EXAMPLES[scalars.kind_of(value)] if scalars.is_staged(value) else copy.copy(value)
