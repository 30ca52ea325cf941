"""Builds the return value of a staged function, and the values that it assigns outside, from the results of its graph.

All objects that leave the trace are traversed. Each run creates new objects of the same classes, with results of the graph
in place of the stand-ins. An object that cannot be created again is an error.
"""

import collections
import enum
import functools
import types
import weakref
from contextlib import nullcontext

import torch

from ..capture import contents, gradients, scalars, texts, views
from ..capture.places import MAPPINGS, SEQUENCES, Snapshot, items_of
from ..capture.rows import Row, StandIn, refuse
from ..capture.unbound import Maybe, UndefinedReturnValue
from ..errors import StagingError
from ..operators import specs
from ..operators.ranges import Iterable
from ..operators.standins import holds_stand_ins
from ..operators.values import List, unpacked
from ..record.nodes import Value
from ..record.queries import depend_on
from .builders import Constant, Container, Input, Instance, Named, Slot, Tuple, built, form_of, slots_of

_DETACH = torch.ops.aten.detach.default
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_LIBRARIES = ("builtins", "torch", "numpy", "autograph")


class Result:
    """The operands that the graph returns, and a function that builds a value from them. Arguments and other objects from
    outside are returned unchanged. An object that occurs twice is built once.

    A *builder* is a function `build(values, outside)`. `values` contains the results of the graph. `outside` maps the ids
    of captures and arguments to the objects of this run, and contains the objects that this run has built."""

    def __init__(self, staging, value, containers, outer_lists, span):
        self.operands = []
        self.leaves = []  # values of leaves that the function creates
        self._gradients = []  # operands that are their gradients
        self.outer_containers = []  # containers from outside that the value refers to
        self._outer_lists = outer_lists
        self._staging = staging
        self._span = span  # where the function is defined
        self._arguments = {id(container.copy): id(container) for container in containers}
        self._builders = {}  # id of an object -> its builder
        self._kept = []
        self._build = self._of(value)
        self._staging = self._builders = self._kept = self._outer_lists = None

    def value(self, values, outside):
        return self._build(values, outside)

    def forms(self, inputs):
        """Returns the forms of the items of `value`. `inputs` maps the ids of captures to the indexes of inputs. A form is
        the index of an operand, a `Form`, or a tuple, list or dictionary of forms. None for any other value."""
        containers = []
        return [form_of(builder, containers, inputs) for builder in self._build.builders]

    def _slot(self, operand):
        self.operands.append(operand)
        return Slot(len(self.operands) - 1)

    def _of(self, value):
        staging = self._staging
        argument = self._arguments.get(id(value))
        if argument is not None:
            return lambda values, outside: outside[argument]
        if isinstance(value, torch.Tensor):
            found = self._builders.get(id(value))
            if found is None:
                self._kept.append(value)
                found = self._builders[id(value)] = self._tensor(value)
            return found
        if scalars.is_staged(value) or isinstance(value, _SYMBOLS):
            return self._slot(scalars.lower(staging, value))
        if isinstance(value, str):
            text = texts.assembled(staging, value)
            return Constant(value) if text is value else self._slot(text)
        if isinstance(value, Maybe):
            flag = self._slot(scalars.lower(staging, value.flag))
            inner = self._of(value.value)
            nothing = None if isinstance(value.absent, UndefinedReturnValue) else value.absent
            return lambda values, outside: inner(values, outside) if flag(values, outside) else nothing
        if isinstance(value, Row):
            return self._row(value)
        if isinstance(value, StandIn):
            refuse(value._ag_kinds(), "the function returns or stores a list or value of a node", self._span)
        if isinstance(value, Iterable):
            raise StagingError("the function returns or stores a range or iterable of the graph; return a list of it", self._span)
        if isinstance(value, tuple):
            return self._tuple(value)
        found = self._builders.get(id(value))
        if found is None:
            self._kept.append(value)
            found = self._object(value)
        return found

    def _tensor(self, value):
        view = self._staging.view_of(value)
        if not view.chain and view.base.source is not None:
            return Input(id(view.base.source))
        if view.base in self._staging.retained:
            message = "a tensor leaves the function after `retain_grad`; call it on the result instead"
            raise StagingError(message, self._span)
        kinds = (torch.nn.Parameter, torch.nn.Buffer)
        if not isinstance(value, kinds) and not view.chain and view.base in self._staging.leaves:
            return self._leaf(value, view.base)
        slot = self._slot(self._staging.value_of(value))
        if not isinstance(value, kinds) and _is_view_of_outside(self._staging, view):
            return self._view(view, slot)
        for kind in kinds:
            if isinstance(value, kind):
                requires_grad = value.requires_grad
                return lambda values, outside: _as_kind(kind, slot(values, outside), requires_grad)
        if _is_unrecorded_view(view) and gradients.requires_grad(self._staging, view.base.fake):
            return lambda values, outside: _unrecorded_view(slot(values, outside))
        return slot

    def _view(self, view, slot):
        """Returns a builder that makes a view of a tensor from outside again, because the result of the graph has other memory
        or another history: the graph writes to the tensor after the run, or autograd knows its views. In an exported program,
        which has no such tensors, it is the result of the graph."""
        source, key = id(view.base.source), ("view", id(view))
        self._kept.append(view)
        steps = [(views.repeating(step.op), self._operands(step.rest), step.is_recorded) for step in view.chain]

        def build(values, outside):
            made = outside.get(key, outside[source])
            if not isinstance(made, torch.Tensor):
                return slot(values, outside)
            if key not in outside:
                grad = torch.is_grad_enabled()
                for repeat, rest, is_recorded in steps:
                    with nullcontext() if grad == is_recorded else torch.set_grad_enabled(is_recorded):
                        made = repeat(made, rest(values, outside))
                outside[key] = made
            return made

        return build

    def _operands(self, rest):
        """Returns a builder for the arguments of an operation, which may contain values of the graph."""
        if isinstance(rest, (list, tuple)):
            return self._sequence([self._operands(item) for item in rest])
        return self._slot(rest) if isinstance(rest, Value) else Constant(rest)

    def _row(self, value):
        """Returns a builder for a node of a tree among the arguments. It returns the object in the node's row."""
        row, key = self._slot(scalars.lower(self._staging, value._ag_row)), ("rows", value._ag_kind)

        def build(values, outside):
            index = row(values, outside)
            return None if index < 0 else outside[key][index]

        return build

    def _tuple(self, value):
        builders = [self._of(item) for item in value]
        kind = type(value)
        if not builders:
            return Constant(value)
        if kind is tuple:
            return Tuple(builders)
        if kind is torch.Size or kind.__module__ == "torch.return_types":
            return lambda values, outside: kind([build(values, outside) for build in builders])
        if hasattr(value, "_fields"):
            return Named(kind, builders)
        return lambda values, outside: tuple.__new__(kind, [build(values, outside) for build in builders])

    def _object(self, value):
        kind = type(value)
        if isinstance(value, List):
            original = self._outer_lists.originals.get(id(value))
            if original is not None:
                self.outer_containers.append(original)
                return lambda values, outside: original
            if value.value is not None:
                if specs.holds_rows(value.spec):
                    refuse(self._staging.trees.columns, "the function returns or stores a list of nodes", self._span)
                slot, spec = self._slot(value.value), value.spec
                return self._created(value, lambda *run: unpacked(spec, list(slot(*run))))
            return self._items(value, list)
        if id(value) in self._staging.outside:
            if isinstance(value, (*SEQUENCES, *MAPPINGS)):
                self.outer_containers.append(value)
            return lambda values, outside: value
        if isinstance(value, (*SEQUENCES, *MAPPINGS)):
            return self._items(value, kind)
        if isinstance(value, (set, frozenset)) and self._is_new(value):
            elements = [self._of(element) for element in value]
            return self._created(value, lambda *run: kind([build(*run) for build in elements]))
        if isinstance(value, Snapshot):
            return self._snapshot(value)
        if isinstance(value, types.MethodType) and self._is_new(value):
            owner, function = self._of(value.__self__), self._of(value.__func__)
            return lambda *run: types.MethodType(function(*run), owner(*run))
        if isinstance(value, functools.partial) and self._is_new(value):
            parts = [self._of(part) for part in (value.func, list(value.args), dict(value.keywords))]
            return lambda *run: _partial(kind, *(part(*run) for part in parts))
        if isinstance(value, BaseException) and self._is_new(value):
            return self._exception(value)
        if isinstance(value, weakref.ref) and value() is not None and self._is_new(value()):
            referent = self._of(value())
            return lambda *run: weakref.ref(referent(*run))
        if isinstance(value, slice) and self._is_new(value):
            bounds = [self._of(bound) for bound in (value.start, value.stop, value.step)]
            return lambda *run: slice(*(bound(*run) for bound in bounds))
        if isinstance(value, types.FunctionType):
            return self._function(value) if value.__closure__ and self._is_new(value) else lambda *run: value
        if not isinstance(value, (type, types.ModuleType)) and self._is_new(value):
            if contents.kind_of(kind) is None and _is_plain_class(kind):
                return self._instance(value)
            name = getattr(value, "__qualname__", None) or getattr(kind, "__qualname__", str(kind))
            what = "the generator" if isinstance(value, types.GeneratorType) else "an object of the class"
            message = f"{what} `{name}` leaves the function and holds values of the graph, so runs cannot recreate it"
            raise StagingError(f"{message}; return the tensors themselves, or a list", self._span)
        return Constant(value)

    def _is_new(self, value):
        """Returns whether each run must create a new object: the object holds values of the graph, or it is an object of a user's
        class that the function has created."""
        is_users = str(type(value).__module__).partition(".")[0] not in _LIBRARIES and hasattr(value, "__dict__")
        is_users = is_users and not isinstance(value, (types.FunctionType, enum.Enum))
        is_users = is_users and id(value) not in self._staging.objects.existing
        return is_users or _is_drawn(value) or holds_stand_ins(value, self._staging.outside)

    def _leaf(self, value, base):
        """Returns a builder for a tensor that the function has created with `requires_grad=True`."""
        staging = self._staging
        self.leaves.append(staging.value_of(value))
        tensor, gradient = self._slot(staging.value_of(value)), staging.gradients.values.get(base)
        if gradient is None:
            return lambda values, outside: tensor(values, outside).requires_grad_()
        first = len(self.operands)
        gradient = self._of(gradient)
        self._gradients += self.operands[first:]

        def build(values, outside):
            leaf = tensor(values, outside).requires_grad_()
            leaf.grad = gradient(values, outside)
            return leaf

        return build

    def check_leaves(self, staging):
        """Raises an error if a leaf is returned together with values that are computed from it: torch could not propagate
        a gradient from one result to another."""
        for leaf in self.leaves:
            known = {leaf, *self._gradients}
            others = [operand for operand in self.operands if isinstance(operand, Value) and operand not in known]
            if any(depend_on(staging.record, [leaf], others)):
                message = "a tensor that requires a gradient is created here, and returned beside values computed from it"
                help = "create it outside of the staged function"
                place = next((node.span for node in leaf.region.nodes if leaf in node.outputs), None)
                raise StagingError(f"{message}\nhelp: {help}", place)

    def _created(self, value, make, fill=None):
        """Returns a builder that creates an object once in each run, by `make`. Then `fill` adds its contents, in which the
        object itself may occur."""
        key = "made", id(value)

        def build(values, outside):
            if key not in outside:
                outside[key] = made = make(values, outside)
                if fill is not None:
                    fill(made, values, outside)
            return outside[key]

        self._builders[id(value)] = build
        return build

    def _items(self, value, kind):
        """Returns a builder for a list, deque or dictionary, with the attributes that an object of a subclass has."""
        if kind in (list, dict):
            return self._plain(value, kind)
        parts = []
        is_mapping = isinstance(value, dict)

        def make(*run):
            made = kind.__new__(kind)
            if isinstance(value, collections.defaultdict):
                made.default_factory = value.default_factory
            elif isinstance(value, collections.deque):
                collections.deque.__init__(made, (), value.maxlen)
            return made

        def fill(made, *run):
            items, attributes = (part(*run) for part in parts)
            if is_mapping:
                base = collections.OrderedDict if isinstance(made, collections.OrderedDict) else dict
                for key, item in items:
                    base.__setitem__(made, key, item)
            else:
                (list if isinstance(made, list) else collections.deque).extend(made, items)
            if attributes:
                made.__dict__.update(attributes)

        build = self._created(value, make, fill)
        items = items_of(value)
        parts.append(self._sequence([self._of(item) for item in (items.items() if is_mapping else items)]))
        parts.append(self._named(getattr(value, "__dict__", {}) if kind is not list else {}))
        return build

    def _plain(self, value, kind):
        build = self._builders[id(value)] = Container(kind, ("made", id(value)))
        if kind is list:
            build.items += [self._of(item) for item in items_of(value)]
        else:
            if not all(map(self._is_plain_key, value)):
                return self._keyed(value)
            build.items += [(name, self._of(item)) for name, item in value.items()]
        return build

    def _is_plain_key(self, name):
        if type(name) is str:
            return texts.assembled(self._staging, name) is name
        return type(name) in (int, float, bool, type(None))

    def _keyed(self, value):
        """Returns a builder for a dictionary whose keys may be values of the graph, or contain values of the graph."""
        pairs = []

        def fill(made, *run):
            made.update([(name(*run), item(*run)) for name, item in pairs])

        build = self._created(value, lambda *run: {}, fill)
        pairs += [(self._of(name), self._of(item)) for name, item in value.items()]
        return build

    def _instance(self, value):
        """Returns a builder for an object of a class that is written in Python. The state of such an object is in its
        attributes."""
        kind = type(value)
        build = self._builders[id(value)] = Instance(kind, ("made", id(value)))
        build.attributes = {name: self._of(item) for name, item in getattr(value, "__dict__", {}).items()}
        build.slots = {name: self._of(getattr(value, name)) for name in slots_of(kind) if hasattr(value, name)}
        return build

    def _exception(self, value):
        kind, arguments, attributes = type(value), self._of(value.args), self._named(value.__dict__)

        def make(*run):
            made = kind.__new__(kind, *arguments(*run))
            made.args = arguments(*run)
            made.__dict__.update(attributes(*run))
            return made

        return self._created(value, make)

    def _function(self, function):
        """Returns a builder for a function that uses variables of an enclosing function. If two functions share such a
        variable, the new functions share it too."""
        cells = [self._cell(cell) for cell in function.__closure__]
        defaults = self._of(function.__defaults__)
        keywords = self._of(function.__kwdefaults__)

        def make(*run):
            closure = tuple(cell(*run) for cell in cells)
            made = types.FunctionType(
                function.__code__, function.__globals__, function.__name__, defaults(*run), closure
            )
            made.__kwdefaults__ = keywords(*run)
            made.__qualname__, made.__module__, made.__doc__ = (
                function.__qualname__, function.__module__, function.__doc__,
            )  # fmt: skip
            made.__dict__.update(function.__dict__)
            return made

        return self._created(function, make)

    def _cell(self, cell):
        if id(cell) in self._builders:
            return self._builders[id(cell)]
        try:
            value = cell.cell_contents
        except ValueError:
            return lambda *run: cell
        if id(value) in self._staging.outside or not holds_stand_ins(cell, self._staging.outside):
            return lambda *run: cell
        self._kept.append(cell)
        parts = []

        def fill(made, *run):
            made.cell_contents = parts[0](*run)

        build = self._created(cell, lambda *run: types.CellType(), fill)
        parts.append(self._of(value))
        return build

    def _snapshot(self, value):
        """Returns a builder for the contents of an object from outside. Only the contents of a set may have values of the
        graph."""
        if not isinstance(value.data, set):
            return lambda values, outside: value
        elements = [self._of(element) for element in value.data]
        return lambda *run: Snapshot(value.kind, {build(*run) for build in elements})

    def _sequence(self, builders):
        return lambda *run: [build(*run) for build in builders]

    def _named(self, state):
        builders = {name: self._of(item) for name, item in state.items()}
        return lambda *run: built(builders, *run)


def _is_view_of_outside(staging, view):
    """Returns whether each run makes this view again (`Result._view`). A leaf has a gradient of its own, and a tensor whose
    `.data` was assigned gets its memory after the run."""
    base = view.base
    if not view.chain or base.source is None or base in staging.aliases.shared or view in staging.leaf_views:
        return False
    if any(step.own_history is not None for step in view.chain):
        return False
    return staging.is_written(base) or base.source.tensor.requires_grad


def _is_unrecorded_view(view):
    """Returns whether autograd has not recorded a view, as in `with torch.no_grad(): row = x[0]`. Such a view requires a
    gradient if its base does."""
    return any(not step.is_recorded for step in view.chain) and all(step.op is not _DETACH for step in view.chain)


def _unrecorded_view(tensor):
    """Returns a view with the memory of a tensor. As in eager torch, it requires a gradient, but gets none."""
    with torch.no_grad():
        return tensor.requires_grad_().view_as(tensor)


def _as_kind(kind, tensor, requires_grad):
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(tensor.detach(), requires_grad)
    return torch.nn.Buffer(tensor)


def _partial(kind, function, args, keywords):
    return kind(function, *args, **keywords)


def _is_plain_class(kind):
    """Returns whether `object.__new__` creates the objects of a class, so that all their state is in attributes."""
    return kind.__new__ is object.__new__ or kind.__basicsize__ == _Example.__basicsize__


class _Example:
    pass


def _is_drawn(value):
    """Returns whether a value is an iterator or a generator, which can be consumed only once."""
    return contents.kind_of(type(value)) in (contents.ITERATORS, contents.GENERATORS)
