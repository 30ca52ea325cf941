"""Staged Python: the tensor code of a function runs as a graph on libtorch, and its other code runs in Python.

    import autograph as ag

    @ag.function
    def rnn(cell, inputs, state): ...

The package has layers. A module imports only modules of its own layer and of lower layers, and a layer has no import
cycle; `runtime/tests/layers_test.py` checks both.

    graph          the command `python -m autograph.graph`
    export         staged functions in formats that run without this package
    api            the public functions
    checkpoint     checkpoints: the graph of a program's objects in a file, and its matching with objects
    shadow         shadow mode: runs eager Python beside the graph and compares them
    tracing        traces: from a call to a graph, guards, results, gradients
    interception   torch functions and operators while a function is traced
    operators      what converted code calls: control flow, calls, lists, variables
    capture        the state of a trace: tensors, numbers, sizes, views, Python objects
    conversion     converted functions and their source maps
    source         utilities for programs that rewrite Python: trees, templates, text with a source map
    trees encodes trees of objects as tensors, for classes that refer to themselves
    errors         exceptions with a position in the user's source
    record         operations, types, values, nodes and regions as plain data

If a lower layer calls a higher one, the higher layer registers itself: `operators` stores itself in
`conversion.converter.OPERATORS`, and overloads of functions are registered in `operators.overloads`.
"""

from . import export, source
from .api.checkpoint import Checkpoint, RandomState, RestoreStatus
from .api.conversion import convert, do_not_convert, set_element_type, set_loop_options, stack, to_code, to_graph
from .api.eager import functions_run_eagerly, run_functions_eagerly
from .api.explain import Explanation, explain
from .api.function import Function, function
from .api.init_scope import init_scope
from .api.kernels import (
    compare_with_python, deterministic_kernels_used, show_config, use_deterministic_kernels, use_product_kernels,
)  # fmt: skip
from .api.passes import disable_passes, passes
from .api.saved import load
from .api.snek import lms, rep_fun, stage
from .errors import (
    AutographError, CheckpointError, ConversionError, ExportError, FallbackWarning, StagingError, VerificationError,
)  # fmt: skip
from .export import compile
from .operators.average_gradients import average_gradients
from .operators.py_function import py_function

__all__ = [
    "AutographError", "Checkpoint", "CheckpointError", "ConversionError", "Explanation", "ExportError",
    "FallbackWarning", "Function", "RandomState", "RestoreStatus", "StagingError", "VerificationError", "average_gradients",
    "compare_with_python", "compile", "convert",
    "deterministic_kernels_used", "disable_passes", "do_not_convert", "explain", "export", "function",
    "functions_run_eagerly", "init_scope", "lms", "load", "passes", "py_function", "rep_fun", "run_functions_eagerly",
    "set_element_type", "set_loop_options", "show_config", "source", "stack", "stage", "to_code", "to_graph",
    "use_deterministic_kernels", "use_product_kernels",
]  # fmt: skip
