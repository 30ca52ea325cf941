"""From the finished record to a graph of the runtime."""

from .. import _runtime
from ..errors import StagingError
from . import closures
from .record import Value, gradient_type


def graph(staging, results, kinds):
    """The graph of a record, and the exceptions that it raises by name. `kinds` tells what each result is:
    ("return", 0) or ("write", number of the parameter)."""
    lowering = _entry(staging, staging.name)
    lowering.functions(staging.record.entry)
    lowering.nodes(staging.record.entry.nodes)
    lowering.graph.finish([lowering.operand(result) for result in results], kinds)
    return lowering.graph, lowering.exceptions


def gradient_graph(staging, results, outputs, inputs, is_repeated):
    """The graph with the gradients of the inputs, from those of the outputs, behind its results; and of which inputs
    there are any. It does not print again what another run has printed."""
    from ..gradients import formula

    lowering = _entry(staging, staging.name)
    lowering.is_repeated = is_repeated
    seeds = [
        lowering.graph.parameter(str(gradient_type(output.type)), f"seed{index}", ("argument", f"seed{index}"))
        for index, output in enumerate(outputs)
    ]
    lowering.functions(staging.record.entry)
    lowering.nodes(staging.record.entry.nodes)
    made = lowering.differentiated(lowering.operand(outputs), seeds, lowering.operand(inputs), formula)
    found = [*map(lowering.operand, results), *(value for value in made if value is not None)]
    lowering.graph.finish(found, [("return", 0)] * len(found))
    return lowering.graph, lowering.exceptions, [value is not None for value in made]


def plain_graph(staging, results):
    """The graph of a record whose parameters are all there is."""
    made = _runtime.Graph(staging.name)
    lowering = _Lowering(made)
    for index, param in enumerate(staging.record.entry.params):
        lowering.values[param] = made.parameter(str(param.type), None, ("argument", str(index)))
    lowering.nodes(staging.record.entry.nodes)
    made.finish([lowering.operand(result) for result in results], [("return", 0)] * len(results))
    return made


def _entry(staging, name):
    made = _runtime.Graph(_plain(name))
    lowering = _Lowering(made)
    for number, capture in enumerate(staging.captures_in_order()):
        kind = ("argument", capture.param.name) if capture.path is not None else ("capture", number)
        lowering.values[capture.param] = made.parameter(str(capture.param.type), capture.param.name, kind)
    return lowering


def _plain(name):
    """What the text of a graph calls a function: a lambda has no name there either."""
    return name.replace("<lambda>", "lambda_")


class _Lowering:
    def __init__(self, graph):
        self.graph = graph
        self.values = {}
        self.is_repeated = False
        self.exceptions = {}  # name in the graph -> class
        self.numbers = {}  # functions of the record -> number in the graph, and what they use of their surroundings

    def operand(self, operand):
        if isinstance(operand, Value):
            return self.values[operand]
        if isinstance(operand, (list, tuple)):
            return [self.operand(element) for element in operand]
        return operand

    def functions(self, region):
        """All functions that are called, inner ones first."""
        found = closures.closures(region)
        self.numbers = {function: (self.graph.declare(), free) for function, free in found.items()}
        for function, (number, free) in self.numbers.items():
            outside, self.values = self.values, {}
            params = [*function.region.params, *free]
            types = [str(param.type) for param in params]
            made = self.graph.begin(number, _plain(function.name), types, [param.name or None for param in params])
            self.values.update(zip(params, made))
            self.nodes(function.region.nodes)
            results = [self.operand(result) for result in function.region.results]
            self.graph.end(results, [str(type) for type in function.types])
            self.values = outside

    def nodes(self, nodes):
        for node in nodes:
            self.node(node)

    def node(self, node):
        if node.op == "gradient":
            self.gradient(node)
            return
        if "print" in (node.op, node.extra) and self.is_repeated:
            return
        regions = [self.region(region) for region in node.regions]
        types = [str(value.type) for value in node.outputs]
        args, op = [self.operand(arg) for arg in node.args], node.op
        if op == "raise":
            op = f"raise {self.exception(node.extra)}"
        if op == "call":
            number, free = self.numbers[node.extra]
            op = f"call {number}"
            args += [self.operand(value) for value in free]
        made = self.graph.emit(op, args, types, regions=regions, span=_writable(node.span), grad=node.grad)
        self.values.update(zip(node.outputs, made))

    def differentiated(self, *arguments):
        """The gradients that the runtime finds; what has none is an error at its place."""
        try:
            return self.graph.gradient(*arguments)
        except RuntimeError as error:
            if len(error.args) == 2:
                raise StagingError(*error.args) from None
            raise

    def exception(self, kind):
        """The name of an exception's class in the graph."""
        name, number = kind.__name__, 1
        while self.exceptions.setdefault(name, kind) is not kind:
            number += 1
            name = f"{kind.__name__}{number}"
        return name

    def region(self, region):
        params = self.graph.open([str(p.type) for p in region.params])
        for param, made in zip(region.params, params):
            if param.name:
                self.graph.name(made, param.name)
        self.values.update(zip(region.params, params))
        self.nodes(region.nodes)
        return self.graph.close([self.operand(result) for result in region.results])

    def gradient(self, node):
        from ..gradients import lowered

        lowered(self, node)


def _writable(span):
    """A graph is a text: the name of a file that is none in UTF-8 is written with escapes."""
    if span is None or span[0].isascii():
        return span
    return (span[0].encode("utf-8", "backslashreplace").decode(), *span[1:])
