"""The ONNX model of a staged function."""

import importlib.util
import logging
import warnings
from contextlib import contextmanager

import torch

from ...errors import ExportError
from ..exported_program.control_flow import first_line
from ..exported_program.module import write as write_exported_program
from .program import FORMAT, OnnxProgram

OPSET = 21


def write(trace, arguments):
    """Returns the model of a trace, as a `torch.onnx.ONNXProgram`. `arguments` maps names to the arguments of the call."""
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise ExportError(f"an export to ONNX needs the packages {' and '.join(missing)}: pip install {' '.join(missing)}")
    program = write_exported_program(trace, arguments, OnnxProgram)
    try:
        with _quiet():
            from .translations import TABLE  # imports onnxscript

            return torch.onnx.export(program, (), dynamo=True, opset_version=OPSET, verbose=False, custom_translation_table=TABLE)
    except Exception as error:
        raise ExportError(f"cannot be exported to {FORMAT}: torch.onnx cannot write {_cause(error)}", trace.span) from error


def _cause(error):
    """Returns the first line of the exception that caused this error, such as the operator without an implementation."""
    while error.__cause__ is not None:
        error = error.__cause__
    return first_line(error)


@contextmanager
def _quiet():
    """Suppresses the progress messages and warnings of torch's exporter in a block."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
