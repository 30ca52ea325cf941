"""Python's built-in functions, on staged values."""

import builtins
import operator
import sys
import types

import torch

from ..capture import scalars, texts
from ..capture.rows import Row
from ..capture.staging import current, is_condition, is_staged, is_staged_tensor
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import ABS, AND, MAX, MIN, OR, PRINT, ROUND, TO_INT
from ..record.types import BOOL, FLOAT, INT
from . import attributes, outcomes, python_calls, ranges, regions
from .calls import call
from .if_exp import either, selected
from .overloads import OVERLOADS
from .standins import is_stand_in
from .values import LIST_LOOPS, List


def contains(container, item):
    """`item in container`."""
    if isinstance(container, str):
        item = texts.plain(current(), item)
    return container.contains(item) if isinstance(container, List) else item in container


def len_(value):
    if isinstance(value, List):
        return value.length()
    if is_staged_tensor(value):
        if value.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return value.shape[0]
    if isinstance(value, ranges.Iterable):
        return value.length()
    return len(value)


def divmod_(a, b):
    return (a // b, a % b) if is_staged(a) or is_staged(b) else divmod(a, b)


def int_(*args):
    args = _of_object(args, "__int__")
    if len(args) != 1 or not _is_number_of_graph(args[0]):
        return outcomes.integer(int(*texts.plain(current(), args)))
    return outcomes.integer(_number(args[0], INT))


def float_(*args):
    args = _of_object(args, "__float__")
    if len(args) != 1 or not _is_number_of_graph(args[0]):
        return float(*texts.plain(current(), args))
    return _number(args[0], FLOAT)


def bool_(*args):
    if len(args) != 1 or not is_condition(args[0]):
        return bool(*args)
    staging = current()
    flag = regions.condition(staging, args[0], "`bool`")
    return flag if isinstance(flag, bool) else staging.scalar(flag)


def _of_object(args, name):
    """Returns the arguments of a conversion of an object to a number. If a method of the user's class converts it to a number
    of the graph, this number replaces the object: Python itself accepts only its own numbers from such a method."""
    method = getattr(type(args[0]), name, None) if len(args) == 1 else None
    if current() is None or not isinstance(method, types.FunctionType) or is_stand_in(args[0]):
        return args
    return (call(method, args, {}),)


def _is_number_of_graph(value):
    """Returns whether a value is a staged number or a tensor. A tensor from outside that the trace has not used yet
    counts too."""
    return is_staged(value) or isinstance(value, torch.Tensor) and current() is not None


def _number(value, kind):
    staging = current()
    if isinstance(value, torch.Tensor):
        value = staging.item(value)
    if scalars.kind_of(value) == kind:
        return value
    return scalars.apply(staging, scalars.CONVERSIONS[kind], value)


def round_(value, ndigits=None):
    if not scalars.is_staged(value):
        return round(value) if ndigits is None else round(value, ndigits)
    staging = current()
    if ndigits is not None:
        kind = FLOAT if scalars.kind_of(value) == FLOAT else INT
        operands = [staging.operand(value), staging.operand(ndigits)]
        return staging.scalar(staging.call_python(lambda v, n: (round(v, n),), operands, [kind], is_pure=True)[0])
    return (
        value if scalars.kind_of(value) == INT else scalars.apply(staging, TO_INT, scalars.apply(staging, ROUND, value))
    )


def abs_(value):
    if not scalars.is_staged(value):
        return abs(value)
    return scalars.apply(current(), ABS, value)


def max_(*args, **kwargs):
    return _extreme(max, args, kwargs)


def min_(*args, **kwargs):
    return _extreme(min, args, kwargs)


def _extreme(function, args, kwargs):
    """Implements `max` and `min`."""
    if kwargs or not args:
        return function(*args, **kwargs)
    if len(args) == 1:
        if is_staged_tensor(args[0]) and args[0].dim() == 1:
            return args[0].amax() if function is max else args[0].amin()
        if isinstance(args[0], List) and args[0].holds_numbers():
            return LIST_LOOPS["extreme"](args[0], function, lambda a, b: _better(function, a, b))
        if isinstance(args[0], List) and args[0].holds_tensors():
            stacked = torch.stack(args[0])
            return stacked.amax(0) if function is max else stacked.amin(0)
        args = tuple(args[0])
        if not any(map(is_staged, args)):
            return function(args)
    if not any(map(is_staged, args)):
        return function(*args)
    best = args[0]
    for other in args[1:]:
        best = _better(function, best, other)
    return best


def _better(function, best, other):
    """Returns the better of two values; of equal values the first, as in Python."""
    if scalars.kind_of(best) is not None and scalars.kind_of(best) == scalars.kind_of(other):
        if not is_staged(best) and not is_staged(other):
            return function(best, other)
        return scalars.apply(current(), MAX if function is max else MIN, best, other)
    is_better = other > best if function is max else other < best
    if not is_staged(is_better):
        return other if is_better else best
    return selected(is_better, other, best, f"`{function.__name__}`")


def sum_(values, start=0):
    if is_staged_tensor(values):
        if values.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return values.sum(0) + start if not (type(start) is int and start == 0) else _python_sum(values)
    if isinstance(values, List) and values.holds_numbers():
        return LIST_LOOPS["sum"](values, start)
    if isinstance(values, List) and values.holds_tensors():
        return torch.stack(values).sum(0) + start
    total = start
    for value in values:
        total = total + value
    return total


def _python_sum(tensor):
    """Returns the sum of the rows with Python's `+`, which preserves an integer dtype. `Tensor.sum` returns 64-bit
    integers."""
    if tensor.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
        return tensor.sum(0, dtype=tensor.dtype)
    return tensor.sum(0)


def any_(values):
    return _quantified(any, OR, values)


def all_(values):
    return _quantified(all, AND, values)


def _quantified(function, op, values):
    """`any` or `all`; `op` combines two staged booleans."""
    name = function.__name__
    if is_staged_tensor(values):
        if values.dim() != 1:
            raise StagingError(
                f"`{name}` needs a tensor of one dimension; this one has {values.dim()}", spans.current()
            )
        return bool_(getattr(values, name)())
    if isinstance(values, List) and values.holds_numbers():
        return LIST_LOOPS[name](values)
    if isinstance(values, List) and values.holds_tensors():
        return bool_(getattr(torch.stack(values), name)())
    found = None
    for value in values:
        if found is None and not is_staged(value):
            if bool(value) is (function is any):
                return function is any
            continue
        value = bool_(value)
        if found is None:
            found = value
        elif is_staged(found) or is_staged(value):
            found = scalars.apply(current(), op, found, value)
    return (function is all) if found is None else found


def print_(*objects, sep=" ", end="\n", file=None, flush=False):
    """Prints each time the graph runs, even if no argument is staged. With the default `sep` and `end`, an operation of
    the graph prints; otherwise the graph calls Python's `print`."""
    staging = current()
    if staging is None:
        if file is None and python_calls.was_printed_before():
            return None
        return print(*objects, sep=sep, end=end, file=file, flush=flush)
    if file is not None:
        raise StagingError("`print` to a file cannot be staged", spans.current())
    if sys.stdout is not staging.stdout:
        raise StagingError("`print` cannot be staged where the function has replaced `sys.stdout`", spans.current())
    parts = [
        staging.operand(part)
        if is_staged(part) or isinstance(part, torch.Tensor)
        else texts.assembled(staging, str(part))
        for part in objects
    ]
    if sep in (" ", None) and end in ("\n", None):
        staging.path.is_late = True
        staging.emit(PRINT, parts, [])
        return None

    def callback(*values):
        print(*values, sep=sep, end=end, flush=flush)
        return ()

    staging.call_python(callback, parts, [], prints=True)
    return None


_TENSOR = torch.empty(0)
_PARAMETER = torch.nn.Parameter(_TENSOR)
_EXAMPLES = {INT: 0, FLOAT: 0.0, BOOL: False}


def isinstance_(value, types):
    """`isinstance` with the classes that values have when the graph runs. Staged numbers are instances of `int`, `float` or
    `bool`; fake tensors are instances of `Tensor` or `Parameter`, but not of `FakeTensor`, which libraries test for."""
    if isinstance(value, Row):
        return value._ag_instance(types)
    if is_staged_tensor(value):
        view = value.__dict__["_ag_view"]
        is_parameter = not view.chain and view.base.source is not None and view.base.source.is_parameter
        return isinstance(_PARAMETER if is_parameter else _TENSOR, types)
    kind = scalars.kind_of(value) if scalars.is_staged(value) else None
    if kind is None:
        return isinstance(value, types)
    return isinstance(_EXAMPLES[kind], types) or isinstance(value, types)


def type_(*args):
    if len(args) == 1 and isinstance(args[0], texts.Text):
        return str
    if len(args) == 1 and scalars.is_staged(args[0]):
        return scalars.PYTHON_CLASSES[scalars.kind_of(args[0])]
    if len(args) == 1 and type(args[0]) is List:
        return list
    if len(args) == 1 and is_staged_tensor(args[0]):
        return torch.nn.Parameter if isinstance_(args[0], torch.nn.Parameter) else torch.Tensor
    if len(args) == 1 and isinstance(args[0], Row):
        return args[0]._ag_type()
    return type(*args)


def _recorded_name(name):
    """Records that the code reads an attribute with this name. Returns the name as a plain string."""
    name = texts.plain(current(), name)
    if current() is not None:
        current().objects.names.add(name)
    return name


def hasattr_(owner, name):
    name = _recorded_name(name)
    maybe = attributes.existence(owner, name)
    return hasattr(owner, name) if maybe is None else maybe.flag


def getattr_(owner, name, *default):
    name = _recorded_name(name)
    maybe = attributes.existence(owner, name)
    if maybe is None or not default:
        return getattr(owner, name, *default)
    return either(maybe.flag, lambda: maybe.value, lambda: default[0], "`getattr`")


def setattr_(owner, name, value):
    setattr(owner, texts.plain(current(), name), value)


def pow_(base, exponent, modulus=None):
    if modulus is None:
        return pow(base, exponent)
    return pow(*(operator.index(n) if is_staged(n) else n for n in (base, exponent, modulus)))


OVERLOADS.update({
    builtins.len: len_, builtins.int: int_, builtins.float: float_, builtins.bool: bool_, builtins.round: round_,
    builtins.abs: abs_, builtins.max: max_, builtins.min: min_, builtins.sum: sum_, builtins.any: any_,
    builtins.all: all_, builtins.divmod: divmod_, builtins.print: print_, builtins.isinstance: isinstance_,
    builtins.type: type_,
    builtins.range: ranges.range_, builtins.enumerate: ranges.enumerate_, builtins.zip: ranges.zip_,
    builtins.reversed: ranges.reversed_, builtins.hasattr: hasattr_, builtins.getattr: getattr_, builtins.setattr: setattr_,
    builtins.pow: pow_,
    python_calls.counted_print: print_,
})  # fmt: skip
