"""Lowers a finished record to a graph of the runtime."""

import re

import torch

from .._runtime import Graph, Op
from ..errors import StagingError, Unreached
from ..record import closures
from ..record.nodes import Value
from ..record.ops import PRINT, Call, Callback, Gradient, Raise, of_torch

_ZEROS_LIKE = of_torch(torch.ops.aten.zeros_like.default)


def plain_graph(staging, results):
    """Returns the graph of a record that has no captures, functions or gradients."""
    graph = Graph(graph_name(staging.name))
    lowering = Lowering(graph)
    for index, param in enumerate(staging.record.entry.params):
        lowering.values[param] = graph.parameter(param.type, None, argument=str(index))
    lowering.nodes(staging.record.entry.nodes)
    graph.finish([lowering.operand(result) for result in results], [None] * len(results))
    return graph


def graph_name(name):
    """Returns the name of a function in the text of a graph. Programs may set `__name__` to any string."""
    return re.sub(r"[^\w.]", "_", name.replace("<lambda>", "lambda_"))


class Lowering:
    """Emits the nodes of a record into a graph. `derivative` returns the derivative of an operator as a graph; it is called
    for operators for which the runtime has no rule."""

    def __init__(self, graph, derivative=None):
        self.graph = graph
        self.derivative = derivative
        self.seeds = []  # parameters for the gradients of outputs
        self.values = {}  # Value of the record -> value of the graph
        self.omits_prints = False
        self.exceptions = {}  # name in the graph -> class
        self.calls = {}  # function of the record -> (the operation that calls it, the outer values that it uses)

    def operand(self, operand):
        if isinstance(operand, Value):
            return self.values[operand]
        if isinstance(operand, (list, tuple)):
            return [self.operand(element) for element in operand]
        return operand

    def functions(self, region):
        """Emits all functions that are called in a region. A function is emitted before its callers."""
        found = closures.closures(region)
        self.calls = {function: (self.graph.declare(), free) for function, free in found.items()}
        for function, (call, free) in self.calls.items():
            outer_values, self.values = self.values, {}
            params = [*function.region.params, *free]
            types, names = [param.type for param in params], [param.name or None for param in params]
            lowered = self.graph.begin(call, graph_name(function.name), types, names)
            self.values.update(zip(params, lowered))
            self.nodes(function.region.nodes)
            results = [self.operand(result) for result in function.region.results]
            self.graph.end(results, function.types)
            self.values = outer_values

    def nodes(self, nodes):
        for node in nodes:
            self.node(node)

    def node(self, node):
        op = node.op
        if isinstance(op, Gradient):
            self.gradient(node)
            return
        if self.omits_prints and (op == PRINT or isinstance(op, Callback) and op.prints):
            return
        regions = [self.region(region) for region in node.regions]
        types = [value.type for value in node.outputs]
        args = [self.operand(arg) for arg in node.args]
        if isinstance(op, Raise):
            op = Op.raising(self.exception(op.kind))
        elif isinstance(op, Callback):
            op = Op.start(op.number) if op.collective == "start" else Op.python(op.number)
        elif isinstance(op, Call):
            op, free = self.calls[op.function]
            args += [self.operand(value) for value in free]
        results = self.graph.emit(op, args, types, regions=regions, span=_encodable(node.span), grad=node.grad)
        self.values.update(zip(node.outputs, results))

    def exception(self, kind):
        """Returns the name of an exception's class in the graph."""
        name, number = kind.__name__, 1
        while self.exceptions.setdefault(name, kind) is not kind:
            number += 1
            name = f"{kind.__name__}{number}"
        return name

    def region(self, region):
        params = self.graph.open([param.type for param in region.params])
        for param, lowered in zip(region.params, params):
            if param.name:
                self.graph.name(lowered, param.name)
        self.values.update(zip(region.params, params))
        self.nodes(region.nodes)
        return self.graph.close([self.operand(result) for result in region.results])

    # Gradients.

    def gradient(self, node):
        """Emits the gradient that a node represents."""
        outputs, seeds, inputs = (self.operand(arg) for arg in node.args)
        create_graph, allow_unused, leaves = node.op
        gradients = self.differentiate(outputs, seeds, inputs, node.span, create_graph)
        unreached = {leaf for leaf, gradient in zip(leaves, gradients) if gradient is None and leaf[1] is not None}
        if unreached:
            raise Unreached(unreached)
        for value, input, output in zip(gradients, inputs, node.outputs):
            if value is None and allow_unused:
                value = self._zeros(input, output.type)
            elif value is None:
                message = "one of the differentiated tensors was not used to compute the output"
                help = "pass `allow_unused=True` to `torch.autograd.grad`, or detach the tensor"
                raise StagingError(f"{message}\nhelp: {help}", node.span)
            self.values[output] = value

    def differentiate(self, outputs, seeds, inputs, *place):
        """Returns the gradients of the inputs; None for an input that has none. A missing derivative is an error at the span
        of the operator."""
        try:
            return self.graph.gradient(outputs, seeds, inputs, self.derivative, *place)
        except RuntimeError as error:
            if len(error.args) == 2:
                raise StagingError(*error.args) from None
            raise

    def _zeros(self, input, type):
        args = [input, None, None, None, None, None]
        return self.graph.emit(_ZEROS_LIKE, args, [type])[0]


def _encodable(span):
    """Returns a span whose file name is valid UTF-8, as the text of a graph requires. Bytes that are not valid become
    escapes."""
    if span is None or span[0].isascii():
        return span
    return (span[0].encode("utf-8", "backslashreplace").decode(), *span[1:])
