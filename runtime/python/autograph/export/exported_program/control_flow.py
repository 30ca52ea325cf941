"""Conditions and loops as the higher-order operators `cond`, `while_loop` and `scan` of torch.

    if c: y = f(x)             y = cond(c, f, g, (x,))
    else: y = g(x)

    while c(x): x = f(x)       x = while_loop(c, f, (x,), ...)

    for i in range(n):         x, ys = scan(f, (x,), (range(n),), ...)
        x = f(x, i)
        ys.append(x)

All tensors that the functions of these operators read are operands, and their results share no memory with operands or with
each other. Shapes and dtypes are the same in each iteration. Numbers are tensors.
"""

import importlib
from contextlib import contextmanager

import torch

from ...errors import AutographError
from ..graph import BOOL, FLOAT, INT, STR, List, Tensor, Value, values
from ..refusals import refuse
from . import numbers
from .bounded import BoundedLists, growth, size_of
from .counting import counting_loop
from .free_values import free_values
from .structure import Bounded, Stacked, join, part_count, split

_NUMBERS = (BOOL, INT, FLOAT)
_CHANGES = "a tensor or a list changes its size in a loop"
_DEPENDS = "a list grows in a loop, and the number of iterations depends on the list or on random numbers"
_DIFFERENT = "the branches end with lists of different lengths, or with different strings"


class ControlFlow(BoundedLists):
    """Computes the nodes for conditions and loops."""

    def _if(self, node, condition):
        condition = self.value(condition)
        for raising, other in (node.regions, node.regions[::-1]):
            if always_raises(raising):
                flag = numbers.as_tensor(condition, BOOL)
                self.check(torch.logical_not(flag) if raising is node.regions[0] else flag, _exception(raising))
                self.inlined(node, other)
                return
        if not isinstance(condition, (torch.Tensor, torch.SymInt)):
            self.inlined(node, node.regions[0 if condition else 1])
            return
        outside, structures = Operands(self, node.regions), {}
        outside.keep_one()
        # A list that is created in a branch may have another length than the list of the other branch.
        pairs = zip(*(region.results for region in node.regions))
        unchanged = [all(value in self.names for value in _values(results)) for results in pairs]

        def branch(number, region):
            def run(*tensors):
                with self.inside(outside.names(tensors)):
                    self.nodes(region.nodes)
                    outputs = zip(region.results, node.outputs, unchanged)
                    results = [self.carried(result, output.type, are_rows=not same) for result, output, same in outputs]
                    tensors, structures[number] = split(results)
                    if structures.get(1 - number, structures[number]) != structures[number]:
                        refuse(_DIFFERENT, self.format, node.span)
                    return self.owned(tensors or [torch.zeros(())])

            return run

        found = self.higher_order(
            node, torch.ops.higher_order.cond, numbers.as_tensor(condition, BOOL),
            branch(0, node.regions[0]), branch(1, node.regions[1]), tuple(outside.tensors),
        )  # fmt: skip
        if not part_count(structures[0]):
            self.check(found[0] == 0, "a check in a branch failed")
        self.define(node, *join(found, structures[0]))

    def inlined(self, node, region):
        self.nodes(region.nodes)
        if not self.has_ended:
            self.define(node, *(self.converted(result, output.type) for result, output in zip(region.results, node.outputs)))

    def _while(self, node, *starts):
        condition, body = node.regions
        self.loop(node, starts, [condition], body)

    def _for(self, node, start, stop, step, *starts):
        body, *tests = node.regions
        bounds = [self.value(bound) for bound in (start, stop, step)]
        appended = appended_lists(body) if not tests else {}
        if appended and all(isinstance(bound, (int, torch.SymInt)) for bound in bounds) and len(appended) == len(growth(body, 1)):
            self.scan(node, starts, body, bounds, appended)
        else:
            self.loop(node, starts, tests, body, bounds)

    # Loops.

    def loop(self, node, starts, tests, body, bounds=None):
        """Computes a loop with `while_loop`. It runs while all `tests` are true and, for a `for`, the index is in
        `range(*bounds)`."""
        outside = Operands(self, node.regions)
        growing = self.growing(node, starts, body, bounds)
        if bounds is not None:
            bounds = [numbers.as_tensor(bound, INT) for bound in bounds]
            places = [outside.place(bound) for bound in bounds]
        outside.keep_one()
        pairs = enumerate(zip(starts, node.outputs))
        carried = [growing.get(place) or self.carried(start, output.type, are_rows=True) for place, (start, output) in pairs]
        tensors, structure = split(carried)
        tensors = [_contiguous(tensor) for tensor in (tensors if bounds is None else [bounds[0], *tensors])]
        first = 0 if bounds is None else 1

        def names(arguments, region):
            own, rest = arguments[: len(tensors)], arguments[len(tensors) :]
            found = outside.names(rest)
            params = region.params[len(region.params) - len(starts) :]
            found.update(zip(params, join(own[first:], structure)))
            if region is body and bounds is not None:
                found[body.params[0]] = own[0]
            return found, own, rest

        def test(*arguments):
            flags = []
            if bounds is not None:
                index, (_, stop, step) = arguments[0], (arguments[len(tensors) + place] for place in places)
                flags.append(numbers.where(step > 0, index < stop, index > stop))
            for region in tests:
                with self.inside(names(arguments, region)[0]):
                    self.nodes(region.nodes)
                    flags.append(self.checked(self.tensor(region.results[0], BOOL)).clone())
            return flags[0] if len(flags) == 1 else torch.logical_and(*flags)

        def run(*arguments):
            found, own, rest = names(arguments, body)
            with self.inside(found):
                self.nodes(body.nodes)
                if self.has_ended:
                    return self.owned(own)
                results = [self.carried(result, output.type, are_rows=True) for result, output in zip(body.results, node.outputs)]
                results = list(map(_with_capacity_of, join(own[first:], structure), results))
                nexts, new = split(results)
                if new != structure:
                    refuse(_CHANGES, self.format, node.span)
                if not all(map(_has_same_shape, own[first:], nexts)):
                    refuse(_CHANGES, self.format, node.span)
                if bounds is not None:
                    nexts = [own[0] + rest[places[2]], *nexts]
                return self.owned(nexts)

        arguments = test, run, tuple(tensors), tuple(outside.tensors)
        found = self.higher_order(node, torch.ops.higher_order.while_loop, *arguments)
        ends = list(join(found[first:], structure))
        for place in growing:
            if not isinstance(self.value(starts[place]), Bounded):
                ends[place] = self.trimmed(ends[place])
        self.define(node, *ends)

    def growing(self, node, starts, body, bounds):
        """Returns the lists that grow in a loop, by their positions, as tensors with capacity for all items."""
        changes = growth(body, 0 if bounds is None else 1)
        new = [place for place in changes if not isinstance(self.value(starts[place]), Bounded)]
        count = 0
        if any(changes[place][1] for place in new):
            count = self.counted(node, changes.keys()) if bounds is None else self.iterations(bounds)
        elements = {place: node.outputs[place].type.element for place in changes}
        found = {place: self.with_capacity(starts[place], elements[place], count * changes[place][1]) for place in changes}
        return {place: bounded for place, bounded in found.items() if bounded is not None}

    def counted(self, node, lists):
        """Returns the number of iterations of a `while` loop. A loop before it computes the number."""
        counting = counting_loop(node, set(lists))
        if counting is None:
            refuse(_DEPENDS, self.format, node.span)
        self.visit(counting)
        return size_of(self.value(counting.outputs[-1]))

    def scan(self, node, starts, body, bounds, appended):
        """Computes, with `scan`, a loop that appends one item to each of the lists `appended` in each iteration."""
        indexes = torch.arange(*bounds, dtype=torch.int64)
        lists = [self.items(start, node) if index in appended else None for index, start in enumerate(starts)]
        if isinstance(indexes.size(0), int) and indexes.size(0) == 0:
            self.define(node, *map(self.value, starts))
            return
        outside = Operands(self, node.regions)
        kept = [index for index in range(len(starts)) if index not in appended]
        types = [output.type for output in node.outputs]
        carried = [self.carried(starts[index], types[index], are_rows=True) for index in kept]
        tensors, structure = split(carried)
        tensors = [_contiguous(tensor) for tensor in tensors]
        rows = {}

        def run(*arguments):
            own, index, rest = arguments[: len(tensors)], arguments[len(tensors)], arguments[len(tensors) + 1 :]
            found = outside.names(rest)
            params = body.params[1:]
            found.update(zip([params[place] for place in kept], join(own, structure)))
            found.update((params[place], []) for place in appended)
            found[body.params[0]] = index
            with self.inside(found):
                self.nodes(body.nodes)
                nexts, new = split([self.carried(body.results[place], types[place], are_rows=True) for place in kept])
                if new != structure:
                    refuse(_CHANGES, self.format, node.span)
                items = []
                for place in appended:
                    parts, rows[place] = split(self.numbered(self.value(body.results[place])[-1], types[place].element))
                    items += parts
                return self.owned([*nexts, *items])

        dummy = [] if tensors else [torch.zeros(())]
        arguments = _with_dummy(run, dummy), [*tensors, *dummy], [indexes], tuple(outside.tensors)
        found = self.higher_order(node, torch.ops.higher_order.scan, *arguments)
        found = found[len(dummy) :]
        values = dict(zip(kept, join(found[: len(tensors)], structure)))
        found = list(found[len(tensors) :])
        for place in appended:
            count = part_count(rows[place])
            columns, found = found[:count], found[count:]
            values[place] = self.grown(lists[place], columns, rows[place], node)
        self.define(node, *(values[place] for place in range(len(starts))))

    def grown(self, before, columns, structure, node):
        """Returns a list after a scan: its items before the scan, followed by the rows of the results of the scan."""
        if not before and len(columns) == 1 and join(columns, structure) is columns[0]:
            return Stacked(columns[0])
        if not isinstance(columns[0].size(0), int):
            refuse("the length of a list is known only when the program runs", self.format, node.span)
        return [*before, *(join(parts, structure) for parts in zip(*map(torch.unbind, columns)))]

    # Values that enter and leave regions.

    def carried(self, operand, type, are_rows=False):
        """Returns the value of a region's result, with numbers as tensors. With `are_rows`, a list is stored as the rows of one
        tensor if possible."""
        value = self.empty(type) if self.has_ended else self.converted(operand, type)
        return self.numbered(value, type, are_rows)

    def numbered(self, value, type, are_rows=False):
        if value is None and (type in _NUMBERS or isinstance(type, List) or isinstance(type, Tensor) and type.shape is not None):
            value = self.empty(type)  # nothing reads the value on this path
        if type in _NUMBERS:
            return numbers.as_tensor(value, type)
        if isinstance(value, tuple):
            return tuple(self.numbered(item, kind, are_rows) for item, kind in zip(value, type.items))
        if isinstance(value, list) and isinstance(type, List):
            found = self.rows(value, type.element) if are_rows else None
            return found if found is not None else [self.numbered(item, type.element, are_rows) for item in value]
        return value

    def owned(self, tensors):
        """Returns the results of a region, copied where they share memory with other tensors."""
        found, seen = [], set()
        if tensors:
            tensors = [self.checked(tensors[0]), *tensors[1:]]
        for tensor in tensors:
            is_own = id(tensor) in self.fresh and id(tensor) not in seen and _is_contiguous(tensor)
            seen.add(id(tensor))
            found.append(tensor if is_own else _contiguous(tensor))
        return tuple(found)

    @contextmanager
    def inside(self, names):
        """In this block, the nodes of a region can be computed. `names` are the values that the region reads from
        outside."""
        before = self.names, self.fresh, self.constant, self.has_ended
        self.names, self.fresh, self.constant, self.has_ended = names, {}, {}, False
        try:
            yield
        finally:
            self.names, self.fresh, self.constant, self.has_ended = before

    def higher_order(self, node, operator, *arguments):
        try:
            found = operator(*arguments)
        except AutographError:
            raise
        except Exception as error:
            refuse(_reason(operator, error), self.format, node.span)
        self.fresh.update((id(tensor), tensor) for tensor in found)
        return found


class Operands:
    """The operands of a higher-order operator: the tensors from outside that the regions of a node read."""

    def __init__(self, program, regions):
        self.tensors, self._places, self._trees = [], {}, {}
        for value in free_values(regions):
            if value.type == STR and value in program.messages and value not in program.names:
                continue
            parts, structure = split(program.names[value])
            self._trees[value] = [self.place(part) for part in parts], structure

    def place(self, part):
        """Returns the position of a tensor among the operands. Adds the tensor if it is new."""
        if id(part) not in self._places:
            self._places[id(part)] = len(self.tensors)
            self.tensors.append(part)
        return self._places[id(part)]

    def keep_one(self):
        """Adds an operand if there is none: torch.export.save of torch 2.11 cannot write an empty tuple of operands."""
        if not self.tensors:
            self.place(torch.zeros(()))

    def names(self, tensors):
        """Returns the values that the regions read from outside, given the tensors that they get as operands."""
        return {value: join([tensors[place] for place in places], tree) for value, (places, tree) in self._trees.items()}


def appended_lists(body):
    """Returns the positions of the lists that an iteration extends by exactly one item, and does not use otherwise."""
    found = {}
    uses = {}
    count_uses(body, uses)
    for place, (param, result) in enumerate(zip(body.params[1:], body.results)):
        if not isinstance(param.type, List) or not isinstance(result, Value):
            continue
        node = next((node for node in body.nodes if result in node.outputs), None)
        is_append = node is not None and node.op == "list.append" and node.operands[0] is param
        if is_append and uses.get(param) == 1 and uses.get(result) == 1:
            found[place] = node
    return found


def count_uses(region, uses):
    operands = [operand for node in region.nodes for operand in node.operands] + region.results
    for operand in operands:
        for value in values(operand):
            uses[value] = uses.get(value, 0) + 1
    for node in region.nodes:
        for inner in node.regions:
            count_uses(inner, uses)


def always_raises(region):
    """Returns whether a region raises an exception on each path."""
    return any(node.op == "raise" or node.op == "if" and all(map(always_raises, node.regions)) for node in region.nodes)


def _exception(region):
    node = next(node for node in region.nodes if node.op == "raise" or node.op == "if" and all(map(always_raises, node.regions)))
    if node.op == "if":
        return _exception(node.regions[0])
    texts = [node.detail, " ".join(part for part in node.operands if isinstance(part, str))]
    return ": ".join(text for text in texts if text)


def _has_same_shape(before, after):
    if before.dim() != after.dim():
        return False
    shapes = importlib.import_module("torch.fx.experimental.symbolic_shapes")  # imports sympy, which takes long
    return all(shapes.statically_known_true(one == other) for one, other in zip(before.shape, after.shape))


def _with_capacity_of(before, after):
    """Returns the list `after` an iteration, with a size that torch knows to equal the size `before` it. The results of a
    `cond` have new symbolic sizes."""
    if not isinstance(before, (Bounded, Stacked)) or type(before) is not type(after) or isinstance(before.rows.size(0), int):
        return after
    if isinstance(before, Bounded):
        return Bounded(torch.index_select(after.rows, 0, torch.arange(before.rows.size(0))), after.length)
    torch._check(after.rows.size(0) == before.rows.size(0))
    return Stacked(torch.index_select(after.rows, 0, torch.arange(before.rows.size(0))))


def _values(operands):
    return [value for operand in operands for value in values(operand)]


def _contiguous(tensor):
    return tensor.clone(memory_format=torch.contiguous_format)


def _is_contiguous(tensor):
    return all(isinstance(size, int) for size in tensor.shape) and tensor.is_contiguous()


def _with_dummy(run, dummy):
    """Returns the function of a scan, with a dummy variable if it has no variables: `scan` needs at least one."""
    if not dummy:
        return run
    return lambda first, *rest: (first.clone(), *run(*rest))


def _reason(operator, error):
    if "same metadata" in str(error):
        return "a tensor of a loop changes its dtype, device or layout"
    return f"torch.export cannot trace `{operator}`: {first_line(error)}"


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
