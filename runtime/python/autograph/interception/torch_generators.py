"""Operators that draw from a `torch.Generator`. The graph calls Python for them, in program order."""

import itertools

import torch
from torch.utils import _pytree as pytree

from ..capture import views
from ..capture.contents import TORCH_RANDOM
from ..capture.places import Contents
from ..capture.staging import is_staged
from ..conversion import spans
from ..errors import RunInPython, StagingError
from . import schemas


def without_default(args):
    """Returns the arguments of an operator, with None in place of torch's default generator."""
    if not any(isinstance(arg, torch.Generator) for arg in args):
        return args
    default = torch.default_generator._cdata
    return [None if isinstance(arg, torch.Generator) and arg._cdata == default else arg for arg in args]


def draw(staging, func, args, result):
    """Records an ATen operator that has a generator among its arguments. `result` is its fake result."""
    args = [_of_program(staging, arg) if isinstance(arg, torch.Generator) else arg for arg in args]
    leaves, structure = pytree.tree_flatten(args)
    staged = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) or is_staged(leaf)]

    def callback(*operands):
        actual = list(leaves)
        for index, operand in zip(staged, operands):
            actual[index] = operand
        positional, named = schemas.by_kind(func, pytree.tree_unflatten(actual, structure))
        return (func(*positional, **named),)

    callback.__name__ = func.overloadpacket.__name__
    operands = [staging.operand(leaves[index]) for index in staged]
    value = staging.call_python(callback, operands, [views.result_type(result)], is_undone=True)[0]
    staging.sizes.adopt(result, value)
    return staging.adopt(result, value)


def _of_program(staging, generator):
    """Returns the generator of the program that shares its state with this one, because torch's dispatcher passes new
    objects. Python runs the call if the function has created the generator, or if only code that is not converted uses it:
    `DataLoader(data, shuffle=True)`."""
    known = [place.object for place in staging.drawn.values()]
    outside = (value for value in staging.objects.kept.values() if id(value) in staging.outside)
    for candidate in itertools.chain(known, outside):
        if isinstance(candidate, torch.Generator) and candidate._cdata == generator._cdata:
            staging.drawn[id(candidate)] = Contents(candidate, TORCH_RANDOM)
            return candidate
    message = "this uses a `torch.Generator` that the staged function creates, or that a library holds"
    help = "pass the generator as an argument, or iterate over a shuffled `DataLoader` outside of the function"
    raise RunInPython(StagingError(f"{message}\nhelp: {help}", spans.current()), lasts=True)
