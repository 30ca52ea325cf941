"""Functions of a record: what they use of their surroundings becomes their parameters in the graph."""

from .nodes import Value


class _Body:
    """Values that a body uses, values that are made in it, functions that it calls."""

    def __init__(self, region):
        self.used, self.made, self.calls = {}, set(), {}
        self._region(region)

    def _region(self, region):
        self.made.update(region.params)
        for node in region.nodes:
            self._operand(node.args)
            self.made.update(node.outputs)
            if node.op == "call":
                self.calls[node.extra] = None
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
    """The functions that are called in a region or by each other, and for each the values from outside of it that it
    or one that it calls uses. One that lies within another comes before it."""
    bodies, waiting = {}, list(_Body(region).calls)
    while waiting:
        function = waiting.pop()
        if function not in bodies:
            bodies[function] = _Body(function.region)
            waiting.extend(bodies[function].calls)
    free = {function: {} for function in bodies}
    growing = True
    while growing:
        growing = False
        for function, body in bodies.items():
            used = dict(body.used)
            for callee in body.calls:
                used.update(free[callee])
            outside = {value: None for value in used if value not in body.made}
            growing = growing or len(outside) != len(free[function])
            free[function] = outside
    inner_first = sorted(bodies, key=lambda function: -function.region.depth)
    return {function: list(free[function]) for function in inner_first}
