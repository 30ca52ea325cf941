"""Writes a graph in which each region is a call of Python. If this call computes no results, the nodes of the region run:

    r, done = python(0, a, b)
    x = r if done else tanh(a * b)

So a region that is not compiled, or whose code raises an exception, behaves as it does without Inductor.
"""

from ..graph import Symbol, of_tree, text_of, tree_of
from .regions import Region, StraightLine


def rewritten(text, number):
    """Returns the S-expression of the graph with calls of Python in place of the regions, and a list of the regions.
    `number` is the index of the first region's callback; the other regions have the indexes after it."""
    tree = tree_of(text)
    graph = of_tree(tree)
    found = []
    for function, part in zip(graph.functions, [part for part in tree if part[0] == "def"], strict=True):
        _Writer(function, number, found).body(function.body, part[-1])
    return (text_of(tree) if found else text), found


class _Writer:
    """Writes one function."""

    def __init__(self, function, number, found):
        self.number, self.found = number, found
        self.last = max((value.number for value in _defined(function.body)), default=0)

    def body(self, body, tree):
        """Writes the nodes of a body into its tree."""
        bindings = []
        for item in StraightLine(body).items:
            if isinstance(item, Region):
                bindings += self.region(item)
            else:
                inner = [part for part in item.tree[1] if isinstance(part, list) and part and part[0] == "lambda"]
                for region, part in zip(item.regions, inner, strict=True):
                    self.body(region, part[-1])
                bindings.append(item.tree)
        tree[1] = bindings

    def region(self, region):
        """Returns the two bindings that replace a region: the call, and the `if`."""
        index = self.number + len(self.found)
        self.found.append(region)
        types = {symbol: type for node in region.nodes for symbol, type in map(tuple, node.tree[0])}
        results, place = list(map(symbol_of, region.results)), _place(region)
        given, done = [[self.fresh(), types[result]] for result in results], self.fresh()
        inputs = list(map(symbol_of, region.inputs))
        call = [[*given, [done, Symbol("bool")]], [Symbol("python"), Symbol(index), *inputs], *place]
        names = {symbol: self.fresh() for symbol in types}
        nodes = [_renamed(node.tree, names) for node in region.nodes]
        computed = _lambda([], [name for name, _ in given])
        otherwise = _lambda(nodes, [names[result] for result in results])
        choice = [[[result, types[result]] for result in results], [Symbol("if"), done, computed, otherwise], *place]
        return [call, choice]

    def fresh(self):
        self.last += 1
        return Symbol(f"x{self.last}")


def symbol_of(value):
    """Returns the name of a value in the S-expression."""
    return Symbol(f"{value.name}.{value.number}" if value.name else f"x{value.number}")


def _place(region):
    """Returns the source position of the first node that has one, in a list; an empty list if there is none."""
    marks = (mark for node in region.nodes for mark in node.tree[2:] if isinstance(mark, list) and mark[0] == "at")
    return [mark for mark in [next(marks, None)] if mark is not None]


def _lambda(nodes, results):
    return [Symbol("lambda"), [], [Symbol("let*"), nodes, [Symbol("values"), *results]]]


def _renamed(tree, names):
    if isinstance(tree, list):
        return [_renamed(part, names) for part in tree]
    return names.get(tree, tree) if isinstance(tree, Symbol) else tree


def _defined(region):
    """Yields all values that are defined in a region and in the regions nested in it."""
    yield from region.params
    for node in region.nodes:
        yield from node.outputs
        for inner in node.regions:
            yield from _defined(inner)
