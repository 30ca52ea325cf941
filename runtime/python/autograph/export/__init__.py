"""Staged functions in formats that run without this package."""

from ..api.function import Function
from ..tracing import arguments
from .exported_program.module import write as write_exported_program
from .inductor import option as _inductor  # registers `compile="inductor"`
from .onnx.module import write as write_onnx
from .shared_library import write as write_shared_library
from .torchscript.module import TorchScript
from .torchscript.module import write as write_torchscript

__all__ = ["TorchScript", "compile", "exported_program", "onnx", "torchscript"]


def torchscript(function, *args, **kwargs):
    """Returns the graph that a call with these arguments runs, as TorchScript. `function` is a staged or a plain function."""
    return write_torchscript(_staged(function).trace(*args, **kwargs))


def exported_program(function, *args, **kwargs):
    """Returns the graph that a call with these arguments runs, as a `torch.export.ExportedProgram` with `torch.cond`,
    `while_loop` and `scan`. `function` is a staged or a plain function. Raises `ExportError` at the line that such a
    program cannot contain."""
    return _with_arguments(write_exported_program, function, args, kwargs)


def onnx(function, *args, **kwargs):
    """Returns the graph that a call with these arguments runs, as a `torch.onnx.ONNXProgram` of opset 21, whose `save`
    writes the file. Needs the packages onnx and onnxscript. Raises `ExportError` at the line that a model cannot
    contain."""
    return _with_arguments(write_onnx, function, args, kwargs)


def compile(function, arguments, path):
    """Writes the graph that a call with this tuple of arguments runs as the shared library `path`, and a C header beside it.
    The library needs neither torch nor Python. Its functions are named after the file: `rollout`, `rollout_run` and
    `rollout_error` for `rollout.so` or `librollout.so`. Shapes and dtypes are those of the arguments, and captured tensors
    are copied into the library. `function` is a staged or a plain function. Raises `ExportError` at the line that needs
    torch, or that changes Python state, arguments or captured tensors."""
    write_shared_library(_staged(function).trace(*arguments), path)


def _with_arguments(write, function, args, kwargs):
    staged = _staged(function)
    paths, leaves = arguments.names(staged.python_function, args, kwargs), arguments.flatten(args, kwargs)[0]
    return write(staged.trace(*args, **kwargs), dict(zip(paths, leaves)))


def _staged(function):
    return function if hasattr(function, "trace") else Function(function)
