"""Parses inputs of a graph: `x=f32[32,10]` is a tensor of this type, and `n=3` is a Python literal."""

import ast
import inspect
import keyword

import torch

from ..record.types import DTYPES, TensorType

#: Limits for untrusted input: the length of a literal, and its nesting depth.
MAX_LENGTH, MAX_DEPTH = 10_000, 50
#: The size that is used for an unknown dimension.
ANY_SIZE = 2


class InputError(Exception):
    """An invalid input. The message names the invalid part."""


def parse_inputs(texts):
    """Returns the inputs by name."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"invalid input `{shortened(text)}`; expected NAME=VALUE")
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError(f"invalid parameter name `{shortened(name)}` in `{shortened(text)}`")
        if name in found:
            raise InputError(f"`{name}` is given twice")
        found[name] = argument(name, value.strip())
    return found


def parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError("the function has no signature that Python can inspect") from None


def check(function, parameters, inputs):
    """Checks that the function can be called with these inputs."""
    kinds = {parameter.kind for parameter in parameters}
    names = [parameter.name for parameter in parameters]
    for name in inputs:
        if name not in names and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise InputError(f"unknown parameter `{name}`; the parameters are: {', '.join(names) or 'none'}")
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in inputs:
            raise InputError(f"`{parameter.name}` is positional-only and cannot be passed by name")
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [
        parameter.name
        for parameter in parameters
        if parameter.name not in inputs and parameter.default is parameter.empty and parameter.kind not in variadic
    ]
    if missing:
        raise InputError(f"no `--input` for {', '.join(missing)}")


def argument(name, text):
    if is_type(text):
        return tensor(name, text)
    if len(text) > MAX_LENGTH or depth(text) > MAX_DEPTH:
        raise InputError(f"the value of `{name}` is too long or nested too deeply: `{shortened(text)}`")
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise InputError(
            f"invalid value `{shortened(text)}` for `{name}`; "
            "expected a tensor type such as `f32[2,3]` or a Python literal"
        ) from None


def is_type(text):
    """Returns whether a text looks like a tensor type: a name and brackets."""
    name, bracket, rest = text.partition("[")
    return bool(bracket) and name.isidentifier() and "]" in rest


def tensor(name, text):
    """Returns a tensor of this type. Its elements are zeros, because the graph does not depend on them."""
    dtype, _, rest = text.partition("[")
    dims, _, device = rest.partition("]")
    if dtype not in DTYPES.values():
        known = ", ".join(DTYPES.values())
        raise InputError(f"invalid element type `{dtype}` in `{name}={shortened(text)}`; expected one of {known}")
    for size in dims.split(",") if dims.strip() else ():
        if not (size.strip().isascii() and size.strip().isdigit()) and size.strip() != "?":
            raise InputError(f"invalid size `{shortened(size.strip())}` in `{name}={shortened(text)}`")
    if device and not device.startswith("@"):
        raise InputError(f"invalid device `{shortened(device)}` in `{name}={shortened(text)}`; expected e.g. `@cuda`")
    try:
        type = TensorType.parse(text)
        sizes = [ANY_SIZE if n is None else n for n in type.dims]
        return torch.zeros(sizes, dtype=type.dtype, device=type.device)
    except (RuntimeError, AssertionError, ValueError, OverflowError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot create a tensor for `{name}={shortened(text)}`: {reason}") from None


def depth(text):
    """Returns an upper bound of the nesting depth of the brackets in a text."""
    current = deepest = 0
    for letter in text:
        current += (letter in "([{") - (letter in ")]}")
        deepest = max(deepest, current)
    return deepest


def shortened(text):
    """Returns a text for a message: truncated, and with escapes for characters that cannot be encoded."""
    text = text if len(text) <= 60 else text[:60] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
