"""Lowers a finished record to a graph of the runtime."""

from .._runtime import Graph
from ..errors import StagingError
from ..record import closures
from ..record.nodes import Value


def plain_graph(staging, results):
    """The graph of a record that has no captures, functions or gradients."""
    graph = Graph(staging.name)
    lowering = Lowering(graph)
    for index, param in enumerate(staging.record.entry.params):
        lowering.values[param] = graph.parameter(str(param.type), None, ("argument", str(index)))
    lowering.nodes(staging.record.entry.nodes)
    graph.finish([lowering.operand(result) for result in results], [("return", 0)] * len(results))
    return graph


def graph_name(name):
    """The name of a function in the text of a graph, where `<` and `>` are not allowed."""
    return name.replace("<lambda>", "lambda_")


class Lowering:
    """Emits the nodes of a record into a graph. `derivative` gives the derivative of an operator as a graph, for
    operators that the runtime has no rule for."""

    def __init__(self, graph, derivative=None):
        self.graph = graph
        self.derivative = derivative
        self.seeds = []  # parameters for the gradients of outputs
        self.values = {}  # Value of the record -> value of the graph
        self.omits_prints = False
        self.exceptions = {}  # name in the graph -> class
        self.function_ids = {}  # function of the record -> (its id in the graph, the outer values that it uses)

    def operand(self, operand):
        if isinstance(operand, Value):
            return self.values[operand]
        if isinstance(operand, (list, tuple)):
            return [self.operand(element) for element in operand]
        return operand

    def functions(self, region):
        """Emits all functions that are called, inner ones first."""
        found = closures.closures(region)
        self.function_ids = {function: (self.graph.declare(), free) for function, free in found.items()}
        for function, (id, free) in self.function_ids.items():
            outer_values, self.values = self.values, {}
            params = [*function.region.params, *free]
            types = [str(param.type) for param in params]
            lowered = self.graph.begin(id, graph_name(function.name), types, [param.name or None for param in params])
            self.values.update(zip(params, lowered))
            self.nodes(function.region.nodes)
            results = [self.operand(result) for result in function.region.results]
            self.graph.end(results, [str(type) for type in function.types])
            self.values = outer_values

    def nodes(self, nodes):
        for node in nodes:
            self.node(node)

    def node(self, node):
        if node.op == "gradient":
            self.gradient(node)
            return
        if "print" in (node.op, node.extra) and self.omits_prints:
            return
        regions = [self.region(region) for region in node.regions]
        types = [str(value.type) for value in node.outputs]
        args, op = [self.operand(arg) for arg in node.args], node.op
        if op == "raise":
            op = f"raise {self.exception(node.extra)}"
        if op == "call":
            id, free = self.function_ids[node.extra]
            op = f"call {id}"
            args += [self.operand(value) for value in free]
        results = self.graph.emit(op, args, types, regions=regions, span=_encodable(node.span), grad=node.grad)
        self.values.update(zip(node.outputs, results))

    def exception(self, kind):
        """The name of an exception's class in the graph."""
        name, number = kind.__name__, 1
        while self.exceptions.setdefault(name, kind) is not kind:
            number += 1
            name = f"{kind.__name__}{number}"
        return name

    def region(self, region):
        params = self.graph.open([str(p.type) for p in region.params])
        for param, lowered in zip(region.params, params):
            if param.name:
                self.graph.name(lowered, param.name)
        self.values.update(zip(region.params, params))
        self.nodes(region.nodes)
        return self.graph.close([self.operand(result) for result in region.results])

    # Gradients.

    def gradient(self, node):
        """Emits the gradient that a node stands for."""
        outputs, seeds, inputs = (self.operand(arg) for arg in node.args)
        create_graph, allow_unused = node.extra
        gradients = self.differentiate(outputs, seeds, inputs, node.span, create_graph)
        for value, input, output in zip(gradients, inputs, node.outputs):
            if value is None and allow_unused:
                value = self._zeros(input, output.type)
            elif value is None:
                message = "one of the tensors a gradient is taken for was not used to compute the output"
                raise StagingError(message, node.span)
            self.values[output] = value

    def differentiate(self, outputs, seeds, inputs, *place):
        """The gradients of the inputs; None for an input that has none. A missing derivative is an error at the span
        of the operator."""
        try:
            return self.graph.gradient(outputs, seeds, inputs, self.derivative, *place)
        except RuntimeError as error:
            if len(error.args) == 2:
                raise StagingError(*error.args) from None
            raise

    def _zeros(self, input, type):
        args = [input, None, None, None, None, None]
        return self.graph.emit("aten.zeros_like.default", args, [str(type)])[0]


def _encodable(span):
    """The text of a graph is UTF-8: a file name that is not is written with escapes."""
    if span is None or span[0].isascii():
        return span
    return (span[0].encode("utf-8", "backslashreplace").decode(), *span[1:])
