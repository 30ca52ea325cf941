"""Traces a block of converted code into a region, and undoes its changes of Python state."""

import functools
import inspect
import traceback
import types
from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from ..capture import scalars, texts
from ..capture.aliases import Base, cell_state, set_cell_state
from ..capture.rows import Row, StandIn, refuse, stand_ins_in
from ..capture.places import MISSING, Attribute, Contents, Items
from ..capture.staging import current, is_staged, is_staged_tensor
from ..capture.unbound import Undefined
from ..conversion import spans
from ..errors import AutographError, Caught, Decide, NeedsPython, RunInPython, StagingError, Unreachable
from ..record.ops import IF, TO_BOOL, Raise
from ..record.types import BOOL
from . import attributes, specs
from .changes import line_of_change
from .values import List, build, lower, spec_of
from .variables import delete_missing


class Block:
    """A traced block: its region, the values of the variables at its end, the cells that it changed with their states at
    its end, and the tensors that lists hold at its end. A dead block raises on every path."""

    def __init__(self, region):
        self.region = region
        self.values = None
        self.changed = {}
        self.held = ()
        self.is_dead = False


def trace(staging, body, get_state, set_state, values, install=None, is_selection=False):
    """Traces `body` into a new region. `values` are the values of the variables before it; `install(region, values)`
    replaces them by parameters of the region. The changes are recorded in the block and then undone. `is_selection`: the body
    only selects a value, so it cannot change Python objects."""
    block = _traced(staging, body, get_state, set_state, values, install, is_selection)
    found = [cell for cell in block.changed if isinstance(cell, Contents)]
    if found:
        span = line_of_change(found, lambda: _traced(staging, body, get_state, set_state, values, install))
        is_drawn = any(id(place.object) in staging.drawn for place in found)
        error = Mixed if is_drawn else NeedsPython
        raise error(f"this changes {found[0]} below a staged condition or in a loop of the graph{REMEDY}", span)
    return block


class Mixed(StagingError):
    """Code in a region draws an object, such as `random.choice(names)`, from a generator from which the graph draws numbers."""


REMEDY = ", which a graph cannot do; change it outside, or use a tensor, a number, a list or a dictionary"


def _traced(staging, body, get_state, set_state, values, install, is_selection=False):
    """Traces `body` in a new region. If the body raises an exception, the graph raises it in the region, and the block
    is dead."""
    if not is_selection:
        staging.objects.block(body)
    with staging.record.new_region() as region:
        block = Block(region)
        journal = staging.aliases.open_journal(region.depth, is_selection)
        try:
            if install is not None:
                values = install(region, values)
            set_state(values)
            del values  # a list in them that the body replaces does not exist any more (`sharing.py`)
            try:
                body()
                block.values = get_state()
            except Unreachable:
                block.is_dead = True
            except AutographError:
                raise
            except Exception as error:
                record_raise(staging, error)
                block.is_dead = True
        finally:
            block.changed = staging.aliases.close_journal(journal)
            block.held = journal.held
    return block


@contextmanager
def at_end(staging, block):
    """In this context, nodes are appended to the region of a traced block, and cells have the states at its end."""
    before = {cell: cell_state(cell) for cell in block.changed}
    with staging.record.reopened(block.region):
        for cell, state in block.changed.items():
            set_cell_state(cell, state)
        try:
            yield
        finally:
            for cell, state in before.items():
                set_cell_state(cell, state)


_PLAIN_SETTERS = types.MemberDescriptorType, attributes.Conditional


def _has_setter(get_state, name):
    """Returns whether assigning an attribute, such as `a.b`, calls code of the user."""
    root, _, path = name.partition(".")
    if not path or "[" in name or "(" in name:
        return False
    cells = closure_of(get_state)
    try:
        owner = cells[root].cell_contents if root in cells else get_state.__globals__[root]
        *path, attribute = path.split(".")
        for step in path:
            owner = inspect.getattr_static(owner, step)
    except (AttributeError, KeyError, ValueError):
        return False
    kind = type(owner)
    descriptor = inspect.getattr_static(kind, attribute, None)
    if hasattr(type(descriptor), "__set__") and not isinstance(descriptor, _PLAIN_SETTERS):
        return True
    return kind.__setattr__ not in (object.__setattr__, torch.nn.Module.__setattr__, type.__setattr__)


def _check_setters(names, get_state, set_state, state):
    """Raises an error if a setter changes other state. Tracing a statement assigns its variables more often than Python
    does, so such a setter would run too often."""
    staging = current()
    staging.objects.block(get_state)
    before = staging.objects.snapshot()
    set_state(state)
    changed = staging.objects.changed(before)
    if changed:
        for place, old in changed.items():
            staging.objects.restore(place, old)
        assigned = ", ".join(f"`{name}`" for name in names if "." in name)
        message = f"assigning {assigned} runs code that changes {next(iter(changed))}"
        raise StagingError(
            f"{message}, which a staged condition or loop cannot do; call a method instead", spans.current()
        )


class _Keep:
    """A value whose assignment to an element of a tensor has no effect."""


KEEP = _Keep()


def variables(names, get_state, set_state):
    """Returns the names and accessors of the state, without elements of tensors (`x[i]` for a tensor `x`). Writes to these are
    in-place writes to the tensor, which `Aliases` tracks."""
    first, second = get_state(), get_state()
    if any(name.endswith("]") or "." in name for name in names):
        assign = set_state

        def set_state(values):
            assign(values)
            delete_missing(assign, names, values)

    if any(map(functools.partial(_has_setter, get_state), names)):
        _check_setters(names, get_state, set_state, first)
    elements = {
        index
        for index, name in enumerate(names)
        if name.endswith("]") and is_staged_tensor(first[index]) and first[index] is not second[index]
    }
    if not elements:
        return names, get_state, set_state
    kept = [index for index in range(len(names)) if index not in elements]

    def get_kept():
        state = get_state()
        return tuple(state[index] for index in kept)

    def set_kept(values):
        state = [KEEP] * len(names)
        for index, value in zip(kept, values):
            state[index] = value
        set_state(tuple(state))

    return tuple(names[index] for index in kept), get_kept, set_kept


def closure_of(function):
    """Returns the closure cells of a function of converted code by the names of the variables."""
    if not isinstance(function, types.FunctionType):
        return {}
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))


def same_object(a, b):
    """Returns whether two values are the same object, or equal views of one tensor."""
    if a is b:
        return True
    if is_staged_tensor(a) and is_staged_tensor(b):
        return a.__dict__["_ag_view"].is_same_view(b.__dict__["_ag_view"])
    if isinstance(a, Row) and isinstance(b, Row):
        rows = (a._ag_row.node, b._ag_row.node)
        return a._ag_kind is b._ag_kind and a._ag_present == b._ag_present and rows[0].value is rows[1].value
    return False


def record_raise(staging, error, span=None):
    """Records that the user's code raises here, or at a span. The graph raises the exception when it runs."""
    if span is None:
        span, innermost = spans.of_traceback(error.__traceback__)
        if not innermost and not _raised_by_operator(error) and not spans.inside_try():
            raise error
    check_not_caught(staging)
    for held in stand_ins_in(error.args):
        refuse(held._ag_kinds(), "this raises an exception that holds a node", span)
    if staging.trees is not None and isinstance(error, (AttributeError, TypeError)):
        message = f"this raises a `{type(error).__name__}`, perhaps because the stand-in of a node lacks an operation"
        refuse(staging.trees.columns, message, span)
    kind, parts = type(error), error.args
    if not all(isinstance(part, (str, int, float, bool, torch.Tensor)) or is_staged(part) for part in parts):
        kind = WithParts(error)
        parts = kind.parts
    elif _has_own_init(kind):
        kind = WithAttributes(error, len(parts))
        parts = [*parts, *kind.staged_attributes.values()]
    parts = [texts.assembled(staging, part) if isinstance(part, str) else staging.operand(part) for part in parts]
    staging.emit(Raise(kind), parts, [], span=span)


def _raised_by_operator(error):
    """Returns whether an operator of converted code raises a key or index error in place of the user's code: `d["missing"]`."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return isinstance(error, LookupError) and frames[-1].f_globals.get("__name__", "").startswith(f"{__package__}.")


def _has_own_init(kind):
    return any("__init__" in base.__dict__ or "__new__" in base.__dict__ for base in kind.__mro__ if _is_own(base))


def _is_own(kind):
    return kind.__module__ != "builtins"


class WithParts:
    """Creates exceptions with arguments that a graph cannot hold: `KeyError(("a", x))`, `ValueError(None, x)`. The graph
    passes the parts that it can hold."""

    def __init__(self, error):
        self.__name__ = type(error).__name__
        self.kind = type(error)
        self.leaves, self.structure = pytree.tree_flatten(with_plain_lists(error.args))
        in_graph = [isinstance(leaf, (str, torch.Tensor)) or is_staged(leaf) for leaf in self.leaves]
        self.places = [place for place, found in enumerate(in_graph) if found]
        self.parts = [self.leaves[place] for place in self.places]

    def __call__(self, *parts):
        leaves = list(self.leaves)
        for place, part in zip(self.places, parts):
            leaves[place] = part
        error = BaseException.__new__(self.kind)
        error.args = tuple(pytree.tree_unflatten(leaves, self.structure))
        return error


def with_plain_lists(value):
    """Returns the value with a `list` in place of each `List`."""
    if isinstance(value, List) and value.value is None:
        return [with_plain_lists(item) for item in value]
    return tuple(map(with_plain_lists, value)) if type(value) is tuple else value


class WithAttributes:
    """Creates exceptions of a class with its own `__init__`. They get the attributes that the exception had while tracing;
    `__init__` is not called again."""

    def __init__(self, error, count):
        self.__name__ = type(error).__name__
        self.kind = type(error)
        self.count = count
        state = error.__dict__
        self.staged_attributes = {name: value for name, value in state.items() if is_staged(value)}
        self.attributes = {name: value for name, value in state.items() if name not in self.staged_attributes}

    def __call__(self, *parts):
        error = BaseException.__new__(self.kind, *parts[: self.count])
        error.__dict__.update(self.attributes, **dict(zip(self.staged_attributes, parts[self.count :])))
        return error


def raise_unless(staging, flag, parts, kind):
    """Raises an exception of the graph where the flag is false."""
    with staging.record.new_region() as holds:
        pass
    with staging.record.new_region() as fails:
        staging.emit(Raise(kind), parts, [])
    staging.emit(IF, [flag], [], regions=[holds, fails])


@contextmanager
def decided_on_error(staging):
    """If the condition or loop in this block cannot be staged, or if code that is not converted raises an exception in it,
    restarts the trace, with the condition decided for the arguments of the call. If that is impossible, raises the error.
    Outside of staged conditions and loops of the graph, Python instead runs a call that draws both numbers and objects
    from one generator."""
    try:
        yield
    except StagingError as error:
        restart_decided(staging)
        if isinstance(error, Mixed) and not staging.depth:
            raise RunInPython(error, lasts=True) from None
        raise
    except AutographError:
        raise
    except Exception as error:
        restart_decided(staging)
        staging.conditional = error
        raise


def restart_decided(staging, growing=None):
    """If possible, restarts the trace with this condition or loop decided for the arguments of the call. If the reason is that
    a list from outside grows in a branch, `growing` is this list."""
    if may_restart_decided(staging):
        raise Decide(spans.current(), growing) from None


def may_restart_decided(staging):
    """Returns whether the trace can be restarted with the current condition or loop decided."""
    return not staging.depth and spans.current() not in staging.decisions and staging.may_decide()


def check_not_caught(staging):
    """Called before an exception of the graph is recorded. A `try` of the user cannot catch such an exception: a run
    that raises it ends, and Python repeats the call. So if the current statement is inside a `try`, this function
    raises an error while `staging.caught` is None, which lets the trace decide conditions instead. Later, it adds the
    error to `staging.caught`."""
    if not spans.inside_try():
        return
    error = Caught("whether this raises is only known when the graph runs, so the `try` around it cannot catch it", spans.current())
    if staging.caught is None:
        raise error
    staging.caught.append(error)


def condition(staging, value, what):
    """Returns the operand for a staged condition: `bool(value)`."""
    if isinstance(value, StandIn):
        value = value._ag_truth()
    if isinstance(value, List):
        value = value.length() > 0
    if isinstance(value, torch.Tensor):
        type = staging.value_of(value).type
        if any(n not in (1, None) for n in type.dims):
            raise StagingError(
                f"the condition of {what} is a tensor of shape {specs.shape(type)}: it is neither true nor false",
                spans.current(),
            )
        value = staging.item(value)
    if scalars.kind_of(value) != BOOL:
        value = scalars.apply(staging, TO_BOOL, value)
    return scalars.lower(staging, value)


def cell_value(cell, state):
    """Returns the state of a cell as a value that has a spec. A cell is a base, list or place that a region changes."""
    if isinstance(cell, List):
        contents = List()
        contents.restore(state)
        return contents
    if state is MISSING and isinstance(cell, Attribute):
        state = cell.inherited()
        if not isinstance(state, _IMMUTABLE):
            state = MISSING
    return Undefined(str(cell)) if state is MISSING else state


#: Classes of values that an attribute of an object can take over from its class: `self.n += 1` reads the class attribute first.
_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None))


def cell_spec(staging, cell, state, kept=frozenset()):
    """Returns the spec of a state. The items of a container with the keys or indexes in `kept` are constants."""
    if isinstance(cell, Base):
        return specs.Tensor(state.type)
    spec = spec_of(staging, cell_value(cell, state))
    if not kept or not isinstance(spec, specs.Tree):
        return spec
    items = items_in(cell, state)
    keys = spec.keys if isinstance(items, dict) else range(len(items))
    children = [specs.Constant(items[key]) if key in kept else child for key, child in zip(keys, spec.children)]
    return specs.Tree(spec.kind, spec.keys, tuple(children))


def kept_items(cell, before, states):
    """Returns the keys or indexes of the items of a container that a region does not replace. If it executes
    `group["lr"] = rate`, these are all keys except `"lr"`. The items remain the same objects, so the program does not get
    copies of lists and tensors among them."""
    items = items_in(cell, before)
    found = [items_in(cell, state) for state in states]
    if items is None or any(other is None or len(other) != len(items) for other in found):
        return frozenset()
    if not isinstance(items, dict):
        return frozenset(i for i, item in enumerate(items) if all(other[i] is item for other in found))
    if any(list(other) != list(items) for other in found):
        return frozenset()
    return frozenset(key for key, item in items.items() if all(other[key] is item for other in found))


def items_in(cell, state):
    """Returns the items in the state of a container; None for other cells, and for a list of the graph."""
    if isinstance(cell, List):
        value, _, items = state
        return items if value is None else None
    if isinstance(cell, Items) and not (isinstance(state, List) and state.value is not None):
        return state
    return None


def lower_cell(staging, cell, state, spec):
    return [state] if isinstance(cell, Base) else lower(staging, cell_value(cell, state), spec)


def store_cell(staging, cell, spec, values):
    """Stores the value that the graph returns for a cell."""
    if isinstance(cell, Base):
        staging.aliases.set_base(cell, next(values))
        return
    value = build(staging, spec, values)
    if isinstance(cell, List):
        if value.value is not None and any(cell is items for items in staging.iterated):
            message = "this adds or removes items of a list on some paths only, in a loop over this list"
            raise StagingError(f"{message}\nhelp: loop over a copy, `list(items)`", spans.current())
        cell._changing()
        cell.restore(value.state())
    else:
        if isinstance(cell, Items) and isinstance(value, List) and value.value is not None:
            message = f"the number of items of {cell} is only known when the graph runs"
            raise StagingError(
                f"{message}; collect them in a list that is made by `[]` in the function", spans.current()
            )
        cell.restore(MISSING if isinstance(value, Undefined) else value)
        attributes.watch(staging, cell, value)


def same_state(a, b):
    """Returns whether two states of a cell are the same objects."""
    if type(a) in (list, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same_state, a, b))
    if type(a) is type(b) is dict:
        return list(a) == list(b) and all(map(same_state, a.values(), b.values()))
    return a is b


def description(cell):
    """Returns a description of a cell for messages."""
    return "a tensor" if isinstance(cell, Base) else "a list" if isinstance(cell, List) else f"`{cell}`"
