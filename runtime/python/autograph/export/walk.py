"""The order in which the nodes of a graph are written in another format, and what no format can hold."""

from .graph import STR, nodes, values
from .refusals import refuse


class Walk:
    """Visits the nodes of a graph's entry. A format has a method for each kind of node, such as `_if` or `_list_append`, which
    gets the node and its operands; `scalar` for arithmetic on numbers; and `operator` for the operators of torch."""

    #: The name of the format, for errors.
    format = None

    def __init__(self, graph):
        self.graph = graph
        self.names = {}  # what stands for each value that has been computed
        self.messages = _messages(graph.entry.body)
        self.has_ended = False  # an exception is raised before the next node

    def nodes(self, nodes):
        for node in nodes:
            if self.has_ended:
                return
            self.visit(node)

    def visit(self, node):
        kind, _, name = node.op.partition(".")
        if kind == "scalar":
            self.scalar(node, name)
        elif (method := getattr(self, "_" + node.op.replace(".", "_"), None)) is not None:
            method(node, *node.operands)
        else:
            self.operator(node)

    def _call(self, node, *operands):
        body = next(function.body for function in self.graph.functions if function.name == node.detail)
        span = next((inner.span for inner in nodes(body) if inner.span is not None), node.span)
        name = node.detail.partition(".")[0]
        refuse(f"`{name}` calls itself, and {self.format} has no recursion", self.format, span)

    def _python(self, node, *operands):
        if not all(output in self.messages for output in node.outputs) or not node.outputs:
            refuse("the graph calls Python here", self.format, node.span)
        self.message_of(node, operands)


def _messages(region):
    """The strings that only exceptions use."""
    found, other = set(), set()
    for node in nodes(region):
        used = {value for operand in node.operands for value in values(operand)}
        (found if node.op in ("raise", "assert") else other).update(used)
        other.update(value for inner in node.regions for result in inner.results for value in values(result))
    other.update(value for result in region.results for value in values(result))
    return {value for value in found - other if value.type == STR}
