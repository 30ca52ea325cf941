"""Running a block of converted code into a region, and undoing in Python what it did."""

import torch

from ..capture import spans
from ..capture.aliases import Base
from ..errors import AutographError, Dead, StagingError
from ..staging import is_staged_tensor
from . import specs
from .lists import List


class Block:
    """A block that was traced: its region, the state at its end, the tensors and lists it changed."""

    def __init__(self, region):
        self.region = region
        self.values = None
        self.changed = {}
        self.dead = False


def trace(staging, body, get_state, set_state, values, install=None):
    """Runs `body` from this state. What it changed in place is undone, and told."""
    with staging.record.new_region() as region:
        block = Block(region)
        journal = staging.aliases.open_journal(region.depth)
        gradients = dict(staging.gradients)
        try:
            if install is not None:
                values = install(region, values)
            set_state(values)
            try:
                body()
                block.values = get_state()
            except Dead:
                block.dead = True
            except AutographError:
                raise
            except Exception as error:
                raised(staging, error)
                block.dead = True
        finally:
            block.changed = staging.aliases.close_journal(journal)
            _restore_gradients(staging, gradients)
    return block


def same_object(a, b):
    """Whether two values are one object, or two views of the same place of one tensor."""
    if a is b:
        return True
    if is_staged_tensor(a) and is_staged_tensor(b):
        return a.__dict__["_ag_view"].same_place(b.__dict__["_ag_view"])
    return False


def _restore_gradients(staging, gradients):
    staging.gradients.clear()
    staging.gradients.update(gradients)


def raised(staging, error):
    """The user's code raised on the path of this region: the graph does, when it comes here."""
    span, innermost = spans.of_traceback(error.__traceback__)
    if not innermost:
        raise error
    staging.emit("raise", [str(error)], [], extra=error)


def condition(staging, value, what):
    """The operand of a staged condition: `bool(value)`."""
    from ..capture import scalars

    if isinstance(value, torch.Tensor):
        type = staging.value_of(value).type
        if any(n not in (1, None) for n in type.dims):
            raise StagingError(
                f"the condition of {what} is a tensor of shape {specs.shape(type)}: it is neither true nor false",
                spans.current(),
            )
        value = staging.item(value)
    if scalars.kind_of(value) != "bool":
        value = scalars.apply(staging, "bool", value)
    return scalars.lower(staging, value)


def cell_value(cell, state):
    """The contents of a tensor or list that a region changed, as a value that has a spec."""
    if isinstance(cell, Base):
        return state
    made = List()
    made.restore(state)
    return made


def cell_spec(staging, cell, state):
    if isinstance(cell, Base):
        return specs.Tensor(state.type)
    return specs.spec_of(staging, cell_value(cell, state))


def lower_cell(staging, cell, state, spec):
    return [state] if isinstance(cell, Base) else specs.lower(staging, cell_value(cell, state), spec)


def store_cell(staging, cell, spec, values):
    """The cell has from now on what the graph returns for it."""
    if isinstance(cell, Base):
        staging.aliases.set_base(cell, next(values))
        return
    made = specs.build(staging, spec, values)
    cell._changing()
    cell.restore(made.state())
