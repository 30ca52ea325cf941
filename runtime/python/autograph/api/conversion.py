"""Conversion without a graph, and what converted code may say to the converter."""

import functools
import types

import torch

from ..conversion import converter
from ..errors import ConversionError
from ..operators import calls
from ..operators.values import List
from .eager import functions_run_eagerly


def convert(function=None, *, recursive=True):
    """Makes a function run converted: what is staged in it depends on its arguments."""
    if function is None:
        return functools.partial(convert, recursive=recursive)
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called, so it cannot be converted")

    @functools.wraps(function)
    def converted(*args, **kwargs):
        return function(*args, **kwargs) if functions_run_eagerly() else calls.call(function, args, kwargs)

    converted.__ag_converted__ = True
    return converted


def to_graph(entity, recursive=True):
    """The converted form of a function or method."""
    function = _function_of(entity)
    made = converter.converted(function)
    if made is None:
        raise ConversionError(f"`{function.__qualname__}` cannot be converted: {converter.reason(function)}")
    return _with_what_is_bound(entity, made)


def _with_what_is_bound(entity, made):
    if isinstance(entity, types.MethodType):
        return types.MethodType(_with_what_is_bound(entity.__func__, made), entity.__self__)
    if isinstance(entity, functools.partial):
        return functools.partial(_with_what_is_bound(entity.func, made), *entity.args, **entity.keywords)
    if hasattr(entity, "python_function"):
        return _with_what_is_bound(entity.python_function, made)
    if isinstance(entity, (types.FunctionType, staticmethod, classmethod)):
        return made
    return types.MethodType(made, entity)


def to_code(entity, recursive=True):
    """The text of the converted form."""
    return converter.text_of(_function_of(entity))


def _function_of(entity):
    """The user's function in a method, a wrapper of ours or torch's, or an object that can be called."""
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
        raise ConversionError(f"{entity!r} is no function of Python")
    return _function_of(inner)


_BUILT_IN = (types.BuiltinFunctionType, types.BuiltinMethodType, types.MethodWrapperType, types.WrapperDescriptorType)


def do_not_convert(function=None):
    """Makes a function run as it is, wherever it is called."""
    if function is None:
        return do_not_convert
    marked = getattr(function, "__func__", function)
    if not isinstance(marked, (type, *_BUILT_IN)):  # these run as they are anyway
        setattr(marked, converter.Marker.ATTRIBUTE, True)
    return function


def stack(values, dim=0, strict=True):
    """`torch.stack` of a list; anything else is returned as it is unless `strict`."""
    if isinstance(values, (list, tuple, List)):
        return torch.stack(values, dim)
    if strict:
        raise ValueError(f"a {type(values).__name__} cannot be stacked")
    return values


def set_element_type(entity, dtype, shape=None):
    """Says what a list holds that nothing is put into yet. The runtime finds that out by itself."""


def set_loop_options(**options):
    """Options of the loop whose first statement this is; the converter hands them to the loop. A staged loop has at
    most `maximum_iterations` rounds; TensorFlow's other options mean nothing here."""
