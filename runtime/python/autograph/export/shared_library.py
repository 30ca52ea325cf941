"""Staged functions as shared libraries with a C header, which need neither torch nor Python."""

import ctypes
import os
import secrets
import sys
from pathlib import Path

import torch

from ..api import saved
from ..errors import AutographError
from . import graph as graphs
from . import results
from .refusals import refuse

FORMAT = "a shared library"

#: The leaf on a path of the function that returns None and no tensors. On this path, a call of the library is an error.
_NONE = ("none",)


def write(trace, path):
    """Writes the graph of a trace to the shared library `path`, and its header beside it. Code that needs torch is an error at
    its line."""
    if sys.platform != "linux":
        raise AutographError(f"ag.compile writes shared libraries for Linux only, not for {sys.platform}")
    path = Path(path)
    state = saved.python_state(trace)
    if state is not None:
        refuse(state, FORMAT, trace.span)
    graph = trace.without_uses(batches_loops=True)
    captures = [_elements(capture, trace) for capture in trace.captures if capture.path is None]
    returned, paths = _results(trace, graphs.read(graph.sexpr()).entry)
    file, line, *_ = trace.span or ("?", 0)
    source = trace.staging.name, os.path.basename(file), line
    name = path.name.partition(".")[0].removeprefix("lib")
    found = graph.shared_library(name, captures, returned, paths, source)
    if isinstance(found[0], str):
        reason, span = found
        refuse(reason, FORMAT, span or trace.span)
    library, header = found
    _write(path, library)
    _write(path.with_name(f"{name}.h"), header.encode())


def _write(path, content):
    """Writes a temporary file, which then replaces the file with this path. A process may run the code of the old file."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _elements(capture, trace):
    """Returns the elements of a captured tensor as bytes."""
    tensor = capture.current_value().detach()
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        refuse(f"{capture.place} is not a dense tensor on the CPU", FORMAT, trace.span)
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def _results(trace, entry):
    """Returns the numbers and tensors that the function returns, for `Graph.shared_library`, and the path of each:
    `result['loss']`."""
    slots = [(f"result {index}", graphs.type_of(operand)) for index, operand in enumerate(entry.body.results)]
    inputs = [(f"parameter {index}", value.type) for index, value in enumerate(entry.params)]
    try:
        found = _leaves(results.returned(trace, slots, inputs), "result")
    except results.UnsupportedResult as unsupported:
        refuse(str(unsupported), FORMAT, trace.span)
    if not found:
        refuse("it returns no tensor and no number", FORMAT, trace.span)
    return list(found.values()), list(found)


def _leaves(value, path):
    """Returns a dictionary from paths to leaves. `value` is what `results.returned` returns."""
    if isinstance(value, results.Choice):
        condition, yes, no = _leaf(value.condition), _leaves(value.yes, path), _leaves(value.no, path)
        if yes and no and yes.keys() != no.keys():
            raise results.UnsupportedResult("the structure of the returned value depends on a condition")
        paths = yes or no
        pairs = {path: (yes.get(path, _NONE), no.get(path, _NONE)) for path in paths}
        return {path: one if one == other else ("choice", condition, one, other) for path, (one, other) in pairs.items()}
    return dict(_parts(value[0], path))


def _parts(value, path):
    """Yields the path and the leaf of each tensor and number in a returned value. None and strings are left out."""
    if isinstance(value, results.Slot):
        yield path, _leaf(value.text)
    elif isinstance(value, (bool, int, float)):
        yield path, ("number", value)
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _parts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(item, f"{path}[{key!r}]")
    elif value is not None and not isinstance(value, str):
        raise results.UnsupportedResult(f"it returns an object of the class `{type(value).__name__}`")


def _leaf(text):
    kind, index = text.split()
    return kind, int(index)
