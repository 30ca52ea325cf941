"""The TorchScript of a staged function: a module of torch as source text, which runs without this package."""

import linecache
import os
import re
import textwrap
import types

import torch

from ...errors import ExportError
from .. import graph as graphs
from .. import outside, results
from ..graph import Tensor
from ..refusals import refuse
from . import numbers
from .code import FORMAT, Code, type_text

_HEADER = '''"""The module `{name}` in TorchScript. It needs torch only; `load` compiles it."""

import math
from typing import Dict, List, Optional, Tuple

import torch

'''

_EXPECT = '''
def _expect(tensor: torch.Tensor, dtype: torch.dtype, shape: List[int], name: str):
    """Raises an error for a tensor that the code below was not written for. A size of -1 is any size."""
    matches = tensor.dtype == dtype and tensor.dim() == len(shape)
    for dimension, size in enumerate(shape):
        matches = matches and (size == -1 or tensor.size(dimension) == size)
    if not matches:
        raise ValueError("`" + name + "` has a different dtype or shape than the tensor that the function was exported for")

'''

_LOAD = '''

def load(path: str) -> torch.jit.ScriptModule:
    """The compiled module with the tensors that this file contains."""
    return torch.jit.script({name}(torch.load(path)))
'''


class TorchScript:
    """A staged function as a module of TorchScript. The arguments of its `forward` are the tensors of the call, in the order of
    `parameters`. Its attributes are the tensors from outside, such as parameters of modules."""

    def __init__(self, name, source, tensors, parameters):
        #: The text of a Python file that defines the module's class and needs torch only.
        self.source = source
        #: The names of the arguments of `forward`. `d_u` is the argument `d["u"]`.
        self.parameters = parameters
        self._name, self._tensors = name, tensors

    def module(self):
        """The compiled module. It shares its tensors with the staged function."""
        return torch.jit.script(self._loaded()[self._name](self._tensors))

    def save(self, path):
        """Saves the compiled module, for `torch.jit.load` and for programs in C++."""
        self.module().save(os.fspath(path))

    def save_source(self, path):
        """Writes the source to a file, and the tensors to a file beside it with the suffix `.pt`. The file's function `load`
        compiles both."""
        path = os.fspath(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)
        torch.save(self._tensors, os.path.splitext(path)[0] + ".pt")

    def _loaded(self):
        """Runs the source and returns its namespace. `torch.jit` reads the source of a class, so it is kept in `linecache`."""
        module = types.ModuleType(f"torchscript_{self._name}")
        file = f"<torchscript {self._name} {id(self)}>"
        linecache.cache[file] = len(self.source), None, self.source.splitlines(True), file
        exec(compile(self.source, file, "exec"), module.__dict__)
        return module.__dict__


def write(trace):
    """Returns the TorchScript of a trace. Code that TorchScript cannot represent is an error at its line."""
    graph = graphs.read(trace.graph.optimized().sexpr())
    outside.check(trace, graph, FORMAT)
    code = Code(graph)
    attributes, parameters = outside.inputs(trace, graph.entry, code.name)
    code.names.update((found.value, f"self.{found.name}") for found in attributes)
    code.names.update((found.value, found.name) for found in parameters)
    body = graph.entry.body
    _expectations(code, trace, graph.entry)
    code.nodes(body.nodes)
    if not code.has_ended:
        _finish(code, trace, body, outside.changed(trace, attributes, code.name, FORMAT))
    name = "".join(part.capitalize() for part in re.findall(r"[a-zA-Z0-9]+", trace.staging.name)) or "Function"
    name = f"Function{name}" if name[0].isdigit() or name in ("List", "Dict", "Optional", "Tuple") else name
    source = _source(name, code, trace, attributes, parameters)
    found = TorchScript(name, source, dict(_tensors(attributes)), [parameter.name for parameter in parameters])
    _compiled(found, trace)
    return found


def _expectations(code, trace, entry):
    for value, capture in zip(entry.params, trace.captures):
        if capture.path is not None and isinstance(value.type, Tensor) and value.type.shape is not None:
            shape = [size if isinstance(size, int) else -1 for size in value.type.shape]
            sizes = f"torch.jit.annotate(List[int], {shape})" if not shape else str(shape)
            name = code.names[value]
            code.line(f'_expect({name}, {value.type.dtype}, {sizes}, "{name}")')


def _finish(code, trace, body, assigned):
    """Writes the last statements of `forward`: they write to tensors from outside, assign changed attributes, and
    return the result."""
    count = len(trace.result.operands)
    types = [graphs.type_of(result) for result in body.results]
    slots = [(code.text(result), type) for result, type in zip(body.results[:count], types)]
    inputs = [(code.text(value), value.type) for value in body.params]
    written = []
    for capture, value, is_recorded in zip(trace.writes, body.results[count:], trace.recorded):
        new = code.text(value)
        if value not in code.fresh or len(trace.writes) > 1:
            copy = code.name("new")
            code.line(f"{copy} = {new}.clone()")
            new = copy
        written.append((code.text(body.params[trace.captures.index(capture)]), new, is_recorded))
    for target, new, is_recorded in written:
        code.line(f"{target}.copy_({new})" if is_recorded else f"{target}.detach().copy_({new}.detach())")
    try:
        _return(code, results.returned(trace, slots, inputs), assigned)
    except results.UnsupportedResult as refused:
        refuse(str(refused), FORMAT, trace.span)


def _return(code, found, assigned):
    """Writes the statements that assign the changed attributes and return the result. `found` is a pair of the returned
    value and the values of the attributes, or a `Choice` between two such pairs."""
    if isinstance(found, results.Choice):
        for head, chosen in ((f"if {found.condition}:", found.yes), ("else:", found.no)):
            with code.block(head):
                _return(code, chosen, assigned)
        return
    result, values = found
    text = results.expression(result)[0]
    news = [results.expression(value) for value in values]
    names = [code.name("new") for _ in news]
    for name, (new, _) in zip(names, news):
        code.line(f"{name} = {new}")
    for attribute, name, (_, type) in zip(assigned, names, news):
        value = attribute.capture.current_value()
        if _kind(type) != ("tensor" if isinstance(value, torch.Tensor) else graphs.type_of(value)):
            raise results.UnsupportedResult(f"it assigns a value of another type to `{attribute.name}`")
        code.line(f"self.{attribute.name} = {name}")
    code.line(f"return {text}")


def _kind(type):
    return "tensor" if isinstance(type, Tensor) else type


def _tensors(attributes):
    for attribute in attributes:
        if not attribute.capture.is_number:
            value = attribute.capture.current_value()
            yield attribute.name, value if value.is_leaf else value.detach()


def _source(name, code, trace, attributes, parameters):
    lines = [_HEADER.format(name=name)]
    text = "\n".join(code.lines)
    called = {helper for helper in numbers.HELPERS if f"{helper}(" in text}
    if "_expect(" in text:
        lines.append(_EXPECT)
    lines += [textwrap.dedent(numbers.HELPERS[helper]) + "\n" for helper in numbers.HELPERS if helper in called]
    lines.append(f"\nclass {name}(torch.nn.Module):\n")
    lines.append("    def __init__(self, tensors: Dict[str, torch.Tensor]):\n        super().__init__()\n")
    lines += [f"        {_attribute(found.name, found.capture)}\n" for found in attributes]
    typed = "".join(f", {parameter.name}: {type_text(parameter.value.type)}" for parameter in parameters)
    lines.append(f"\n    def forward(self{typed}):\n{text}\n")
    lines.append(_LOAD.format(name=name))
    return "".join(lines)


def _attribute(name, capture):
    value = capture.current_value()
    if capture.is_number:
        return f"self.{name} = {results.number(value)}"
    if isinstance(value, torch.nn.Parameter):
        return f'self.{name} = torch.nn.Parameter(tensors["{name}"], {value.requires_grad})'
    return f'self.register_buffer("{name}", tensors["{name}"])'


def _compiled(found, trace):
    """Compiles the module, and raises an error if the compiler of TorchScript does not accept it."""
    try:
        found.module()
    except Exception as error:
        message = str(error).strip().splitlines()
        raise ExportError(f"torch.jit does not compile `{trace.staging.name}`: {' '.join(message[:3])}", trace.span) from error
