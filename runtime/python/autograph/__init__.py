"""Staged Python: functions whose tensor parts run as a graph on libtorch, their Python parts in Python.

    import autograph as ag

    @ag.function
    def rnn(cell, inputs, state): ...
"""

from .api import convert, do_not_convert, py_function, set_element_type, set_loop_options, stack, to_code, to_graph
from .eager import functions_run_eagerly, run_functions_eagerly
from .errors import AutographError, ConversionError, StagingError
from .function import Function, function
from .saved import load

__all__ = [
    "AutographError", "ConversionError", "Function", "StagingError", "convert", "do_not_convert", "function",
    "functions_run_eagerly", "load", "py_function", "run_functions_eagerly", "set_element_type", "set_loop_options",
    "stack", "to_code", "to_graph",
]  # fmt: skip
