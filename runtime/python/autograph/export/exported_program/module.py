"""The program of torch.export for a staged function: the module that torch.export traces."""

import inspect

import torch
from torch.utils import _pytree as pytree

from ...errors import AutographError
from .. import graph as graphs
from .. import outside, results
from ..graph import BOOL, Tensor, Value
from ..names import Names
from ..refusals import refuse
from . import numbers
from .control_flow import first_line
from .program import Program
from .structure import Stacked

_NONE = "the function returns None on some paths only"
_RESERVED = {"self", "training", *dir(torch.nn.Module)}


def write(trace, arguments, program=Program):
    """Returns the `torch.export.ExportedProgram` of a trace. `arguments` maps names in the trace to the arguments of the call.
    `program` is the class that computes the nodes. Code that such a program cannot contain is an error at its line."""
    graph = graphs.read(trace.graph.optimized().sexpr())
    outside.check(trace, graph, program.format)
    name = Names(_RESERVED).new
    attributes, parameters = outside.inputs(trace, graph.entry, name)
    module = Module(program, trace, graph, attributes, parameters, outside.changed(trace, attributes, name, program.format))
    if any(parameter.capture.path not in arguments for parameter in parameters):
        refuse("an argument is a tree of objects, whose attributes are inputs of the graph", program.format, trace.span)
    examples = tuple(_example(arguments[parameter.capture.path], parameter.value.type) for parameter in parameters)
    sizes = tuple(_sizes(parameter.value.type) for parameter in parameters)
    try:
        with torch.enable_grad():
            return torch.export.export(module, examples, dynamic_shapes=sizes, strict=False)
    except AutographError:
        raise
    except Exception as error:
        refuse(f"torch.export cannot trace it: {first_line(error)}", program.format, trace.span)


def _example(argument, type):
    return argument if isinstance(argument, torch.Tensor) else numbers.as_tensor(argument, type)


def _sizes(type):
    """Returns the unknown dimensions of a parameter, for the argument `dynamic_shapes` of torch.export."""
    if not isinstance(type, Tensor):
        return None
    unknown = [dimension for dimension, size in enumerate(type.shape or ()) if not isinstance(size, int)]
    return dict.fromkeys(unknown, torch.export.Dim.AUTO) or None


class Module(torch.nn.Module):
    """Runs the entry of a graph. Tensors and numbers from outside are its parameters and buffers."""

    def __init__(self, program, trace, graph, attributes, parameters, assigned):
        super().__init__()
        self._program, self._trace, self._graph, self._attributes, self._assigned = program, trace, graph, attributes, assigned
        self._values = [parameter.value for parameter in parameters]
        for attribute in attributes:
            self._register(attribute.name, attribute.capture)
        # torch.export takes the names of the inputs from the signature.
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(parameter.name, kind) for parameter in parameters])
        self.forward = _with_signature(self._run, signature)

    def _register(self, name, capture):
        value = capture.current_value()
        if isinstance(value, torch.nn.Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, torch.Tensor):
            self.register_buffer(name, value if value.is_leaf else value.detach())
        else:
            self.register_buffer(name, numbers.as_tensor(value, graphs.type_of(value)))

    def _run(self, *inputs):
        program, body = self._program(self._graph), self._graph.entry.body
        program.names.update(zip(self._values, inputs))
        program.names.update((a.value, getattr(self, a.name)) for a in self._attributes if a.value is not None)
        program.nodes(body.nodes)
        if program.has_ended:
            refuse("it raises an exception on each path", program.format, self._trace.span)
        try:
            return self._finish(program, body)
        except results.UnsupportedResult as refused:
            refuse(str(refused), program.format, self._trace.span)

    def _finish(self, program, body):
        """Writes to tensors from outside, and returns the result."""
        trace, values = self._trace, {}
        count = len(trace.result.operands)
        slots = [_slot(values, program, result) for result in body.results[:count]]
        inputs = [_slot(values, program, param) for param in body.params]
        result, news = _rebuilt(results.returned(trace, slots, inputs), values, program)
        written = [program.value(value) for value in body.results[count:]]
        targets = [program.value(body.params[trace.captures.index(capture)]) for capture in trace.writes]
        pairs = list(zip(targets, written, trace.recorded))
        pairs += [(getattr(self, to.name), _number(new), False) for to, new in zip(self._assigned, news)]
        result = program.returned(result, bool(pairs))
        if not pairs:
            return result
        pairs = [(target, new.clone(), is_recorded) for target, new, is_recorded in pairs]
        result = pytree.tree_map(lambda leaf: _own(leaf, program.fresh), result)
        for target, new, is_recorded in pairs:
            if target.shape != new.shape or target.dtype != new.dtype:
                raise results.UnsupportedResult("it assigns a tensor of another shape or dtype to an attribute")
            if is_recorded:
                target.copy_(new)
            else:
                target.detach().copy_(new.detach())
        return result


def _with_signature(function, signature):
    def forward(*inputs):
        return function(*inputs)

    forward.__signature__ = signature
    return forward


def _slot(values, program, operand):
    """Returns a text that represents an operand, and its type. Stores the value of the operand in `values` by this text."""
    text = f"%{operand.number}" if isinstance(operand, Value) else repr(operand)
    values[text] = program.value(operand) if not isinstance(operand, Value) or operand in program.names else None
    return text, graphs.type_of(operand)


def _own(leaf, fresh):
    return leaf.clone() if isinstance(leaf, torch.Tensor) and id(leaf) not in fresh else leaf


def _number(value):
    return value if isinstance(value, torch.Tensor) else numbers.as_tensor(value, graphs.type_of(value))


def _rebuilt(found, values, program):
    """Returns the result of the function and the new values of attributes. In both, values of the program replace the
    `Slot`s."""
    if isinstance(found, results.Choice):
        (yes, *news), (no, *others) = (_rebuilt(part, values, program) for part in (found.yes, found.no))
        condition = numbers.as_tensor(values[found.condition], BOOL)
        if (yes is None) != (no is None):
            program.check(condition if no is None else torch.logical_not(condition), _NONE)
            yes = no = yes if no is None else no
        return _chosen(condition, (yes, *news), (no, *others))
    result, news = found
    return _value(result, values), [_value(new, values) for new in news]


def _chosen(condition, yes, no):
    """Returns `yes if condition else no`, computed by the program. Both values must have the same structure."""
    (yes, tree), (no, other) = pytree.tree_flatten(yes), pytree.tree_flatten(no)
    if tree != other or not all(map(_is_alike, yes, no)):
        raise results.UnsupportedResult("the structure of the returned value depends on a condition")
    return pytree.tree_unflatten([a if a is b else _either(condition, _number(a), _number(b)) for a, b in zip(yes, no)], tree)


def _either(condition, yes, no):
    """Returns `yes if condition else no` for two tensors, which may have different sizes."""
    if all(isinstance(size, int) for size in (*yes.shape, *no.shape)) and yes.shape == no.shape:
        return numbers.where(condition, yes, no)
    return torch.ops.higher_order.cond(condition, lambda a, b: (a.clone(),), lambda a, b: (b.clone(),), (yes, no))[0]


def _is_alike(a, b):
    if a is b:
        return True
    if any(not isinstance(leaf, torch.Tensor) and not numbers.is_number(leaf) for leaf in (a, b)):
        return False
    a, b = _number(a), _number(b)
    return a.dim() == b.dim() and a.dtype == b.dtype


def _value(value, values):
    if isinstance(value, results.Slot):
        return _returned(values[value.text])
    if isinstance(value, results.UnsupportedResult):
        raise value
    if type(value) is list and len(value) == 1 and isinstance(value[0], results.Elements):
        return _returned(values[value[0].slot.text])
    if type(value) in (list, tuple):
        return type(value)(_value(item, values) for item in value)
    if isinstance(value, tuple):
        return tuple(_value(item, values) for item in value)
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {key: _value(item, values) for key, item in value.items()}
    if isinstance(value, str):
        raise results.UnsupportedResult("it returns a string, which torch.export cannot load")
    if value is None or numbers.is_number(value):
        return value
    if isinstance(value, results.Elements):
        raise results.UnsupportedResult("it returns a staged list whose elements are tuples or containers")
    raise results.UnsupportedResult(f"it returns an object of the class `{type(value).__name__}`")


def _returned(value):
    if isinstance(value, Stacked):
        if not isinstance(value.rows.size(0), int):
            raise results.UnsupportedResult("it returns a list whose length is known only when the program runs")
        return list(torch.unbind(value.rows))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_returned, value))
    if isinstance(value, str):
        raise results.UnsupportedResult("it returns a string, which torch.export cannot load")
    return value
