"""The inputs of a graph from their text: `x=f32[32,10]` is a tensor of that type, `n=3` a Python literal."""

import ast
import inspect
import keyword

import torch

from ..record.types import DTYPES, parse_type

#: The text may come from anywhere: no literal of a person is longer, or nests deeper.
LONGEST, DEEPEST = 10_000, 50
#: Elements of a tensor that stands for a dimension of any size.
ANY_SIZE = 2


class InputError(Exception):
    """A text that is no input; the message names the part that is wrong."""


def given(texts):
    """The arguments by name."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"`{shortened(text)}` is no NAME=VALUE")
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError(f"`{shortened(name)}` in `{shortened(text)}` is no name of a parameter")
        if name in found:
            raise InputError(f"`{name}` is given twice")
        found[name] = argument(name, value.strip())
    return found


def parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError("the parameters of this function are not known to Python") from None


def check(function, parameters, given):
    """That a call with these arguments is one."""
    kinds = {parameter.kind for parameter in parameters}
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise InputError(f"there is no parameter `{name}`; there are: {', '.join(names) or 'none'}")
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in given:
            raise InputError(f"`{parameter.name}` has no name in a call: it stands before the `/`")
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [
        parameter.name
        for parameter in parameters
        if parameter.name not in given and parameter.default is parameter.empty and parameter.kind not in variadic
    ]
    if missing:
        raise InputError(f"no `--input` for {', '.join(missing)}")


def argument(name, text):
    if is_type(text):
        return tensor(name, text)
    if len(text) > LONGEST or depth(text) > DEEPEST:
        raise InputError(f"the value of `{name}` is too long, or nests too deeply: `{shortened(text)}`")
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise InputError(
            f"`{shortened(text)}`, for `{name}`, is neither the type of a tensor nor a Python literal"
        ) from None


def is_type(text):
    """Whether it is meant as one: a name, and brackets."""
    name, bracket, rest = text.partition("[")
    return bool(bracket) and name.isidentifier() and "]" in rest


def tensor(name, text):
    """A tensor of a type; its elements are of no account."""
    dtype, _, rest = text.partition("[")
    dims, _, device = rest.partition("]")
    if dtype not in DTYPES.values():
        known = ", ".join(DTYPES.values())
        raise InputError(f"`{dtype}` in `{name}={shortened(text)}` is no element type; there are: {known}")
    for size in dims.split(",") if dims.strip() else ():
        if not (size.strip().isascii() and size.strip().isdigit()) and size.strip() != "?":
            raise InputError(f"`{shortened(size.strip())}` in `{name}={shortened(text)}` is no size")
    if device and not device.startswith("@"):
        raise InputError(f"`{shortened(device)}` behind `{name}={shortened(text)}` is no device, such as `@cuda`")
    try:
        type = parse_type(text)
        sizes = [ANY_SIZE if n is None else n for n in type.dims]
        return torch.zeros(sizes, dtype=type.dtype, device=type.device)
    except (RuntimeError, AssertionError, ValueError, OverflowError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"no tensor is made from `{name}={shortened(text)}`: {reason}") from None


def depth(text):
    """At most so deep do its brackets nest."""
    here = deepest = 0
    for letter in text:
        here += (letter in "([{") - (letter in ")]}")
        deepest = max(deepest, here)
    return deepest


def shortened(text):
    """For a message: not all of a long text, and nothing that cannot be written."""
    text = text if len(text) <= 60 else text[:60] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
