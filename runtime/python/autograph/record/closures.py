"""Closure conversion of the functions of a record: the outer values that they use become parameters in the graph."""

from .nodes import Value
from .ops import Call


class _Body:
    """The values that a body uses, the values that it defines, and the functions that it calls."""

    def __init__(self, region):
        self.used, self.defined, self.calls = {}, set(), {}
        self._region(region)

    def _region(self, region):
        self.defined.update(region.params)
        for node in region.nodes:
            self._operand(node.args)
            self.defined.update(node.outputs)
            if isinstance(node.op, Call):
                self.calls[node.op.function] = None
            for inner in node.regions:
                self._region(inner)
        self._operand(region.results)

    def _operand(self, operand):
        if isinstance(operand, Value):
            self.used[operand] = None
        elif isinstance(operand, list):
            for element in operand:
                self._operand(element)


def closures(region):
    """Returns the functions that are called in a region, directly or by each other. Maps each to the outer values that it or
    its callees use. A nested function comes before the function that contains it."""
    bodies, pending = {}, list(_Body(region).calls)
    while pending:
        function = pending.pop()
        if function not in bodies:
            bodies[function] = _Body(function.region)
            pending.extend(bodies[function].calls)
    free = {function: {} for function in bodies}
    changed = True
    while changed:
        changed = False
        for function, body in bodies.items():
            used = dict(body.used)
            for callee in body.calls:
                used.update(free[callee])
            outside = {value: None for value in used if value not in body.defined}
            changed = changed or len(outside) != len(free[function])
            free[function] = outside
    inner_first = sorted(bodies, key=lambda function: -function.region.depth)
    return {function: list(free[function]) for function in inner_first}
