"""Visits the nodes of a graph in order, for all formats. Refuses operations that no format can represent."""

from .graph import STR, nodes, values
from .refusals import refuse


class Walk:
    """Visits the nodes of a graph's entry. A subclass for a format has a method for each kind of node, such as `_if` or
    `_list_append`, whose arguments are the node and its operands. It also has `scalar` for arithmetic on numbers, and
    `operator` for the operators of torch."""

    #: The name of the format, for errors.
    format = None

    def __init__(self, graph):
        self.graph = graph
        self.names = {}  # value of the graph -> its representation in the format
        self.messages = _messages(graph.entry.body)
        self.has_ended = False  # the last node raises an exception, so the following ones are unreachable

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
    """Returns the strings that are used only in messages of exceptions."""
    found, other = set(), set()
    for node in nodes(region):
        used = {value for operand in node.operands for value in values(operand)}
        (found if node.op in ("raise", "assert") else other).update(used)
        other.update(value for inner in node.regions for result in inner.results for value in values(result))
    other.update(value for result in region.results for value in values(result))
    return {value for value in found - other if value.type == STR}
