"""Conversion without tracing, and functions for use in converted code."""

import functools
import types

import torch

from ..conversion import converter
from ..errors import ConversionError
from ..operators import calls
from ..operators.values import List
from .eager import functions_run_eagerly


def convert(function=None, *, recursive=True):
    """Converts a function. The arguments of each call determine which parts of its code are staged."""
    if function is None:
        return functools.partial(convert, recursive=recursive)
    if not callable(function):
        raise TypeError(f"{function!r} is not callable and cannot be converted")

    @functools.wraps(function)
    def converted(*args, **kwargs):
        return function(*args, **kwargs) if functions_run_eagerly() else calls.call(function, args, kwargs)

    converted.__ag_converted__ = True
    return converted


def to_graph(entity, recursive=True):
    """Returns the converted form of a function or method."""
    function = _function_of(entity)
    result = converter.converted(function)
    if result is None:
        raise ConversionError(f"`{function.__qualname__}` cannot be converted: {converter.reason(function)}")
    return _bound_like(entity, result)


def _bound_like(entity, function):
    if isinstance(entity, types.MethodType):
        return types.MethodType(_bound_like(entity.__func__, function), entity.__self__)
    if isinstance(entity, functools.partial):
        return functools.partial(_bound_like(entity.func, function), *entity.args, **entity.keywords)
    if hasattr(entity, "python_function"):
        return _bound_like(entity.python_function, function)
    if isinstance(entity, (types.FunctionType, staticmethod, classmethod)):
        return function
    return types.MethodType(function, entity)


def to_code(entity, recursive=True):
    """Returns the source text of the converted form."""
    return converter.text_of(_function_of(entity))


def _function_of(entity):
    """Returns the Python function of a method, a wrapper, a module or another callable object."""
    if isinstance(entity, types.FunctionType) and not hasattr(entity, "__ag_converted__"):
        return entity
    inner = None
    if isinstance(entity, (types.MethodType, staticmethod, classmethod)):
        inner = entity.__func__
    elif isinstance(entity, functools.partial):
        inner = entity.func
    elif isinstance(entity, torch.nn.Module):
        inner = type(entity).forward
    elif hasattr(entity, "python_function"):
        inner = entity.python_function
    elif hasattr(entity, "__ag_converted__"):
        inner = entity.__wrapped__
    elif not isinstance(entity, (type, *_BUILT_IN)):
        inner = getattr(type(entity), "__call__", None)
    if inner is None:
        raise ConversionError(f"{entity!r} is not a Python function")
    return _function_of(inner)


_BUILT_IN = (types.BuiltinFunctionType, types.BuiltinMethodType, types.MethodWrapperType, types.WrapperDescriptorType)


def do_not_convert(function=None):
    """Excludes a function from conversion, wherever it is called."""
    if function is None:
        return do_not_convert
    marked = getattr(function, "__func__", function)
    if not isinstance(marked, (type, *_BUILT_IN)):  # these are never converted
        setattr(marked, converter.Marker.ATTRIBUTE, True)
    return function


def stack(values, dim=0, strict=True):
    """`torch.stack(values, dim)` for a list or tuple. Any other value raises a `ValueError` if `strict`; otherwise it is
    returned unchanged."""
    if isinstance(values, (list, tuple, List)):
        return torch.stack(values, dim)
    if strict:
        raise ValueError(f"a {type(values).__name__} cannot be stacked")
    return values


def set_element_type(entity, dtype, shape=None):
    """Declares the element type of an empty list. It has no effect: the runtime infers the type."""


def set_loop_options(**options):
    """Sets options of the loop around it. The call must be the first statement of the body. With `maximum_iterations=n`, a
    staged loop runs at most `n` iterations. TensorFlow's other options are ignored."""
