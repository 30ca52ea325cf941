"""Writes the matched values to the objects of a program: all or none. Most errors are detected before the first write; after
any other error, the writes are undone."""

import copy

import torch
from torch.nn.parameter import UninitializedTensorMixin

from ..capture.places import MISSING, Attribute, Items, SlotAttribute, items_of
from ..errors import CheckpointError
from . import kinds
from .creation import Creator
from .kinds import ARRAY, CONTAINERS, LIST, MODULE, OPTIMIZER, SET, STATE, TENSOR
from .matching import KEEP, REMOVE, UNMATCHED, Make, Put, Rebuild
from .objects import OMITTED, Ref

#: An error lists at most this many tensors.
_MAX_SHOWN = 10


def check(matching, saved):
    """Raises an error if a tensor cannot be written."""
    problems, targets = [], {}
    for theirs, ours in matching.new:
        if theirs.kind != TENSOR:
            continue
        problem = _problem(saved.values[theirs.id], ours.object)
        if problem:
            problems.append(f"`{ours.path}` {problem}")
        elif not isinstance(ours.object, UninitializedTensorMixin) and ours.object.numel():
            memory = ours.object.untyped_storage().data_ptr(), ours.object.device
            targets.setdefault(memory, []).append((theirs, ours))
    for group in targets.values():
        if len(group) > 1 and not _is_consistent(saved, group):
            names = ", ".join(f"`{ours.path}`" for _, ours in group[:_MAX_SHOWN])
            problems.append(f"{names} share memory in the program, and have different values in the checkpoint")
    if problems:
        rest = f"\nand {len(problems) - _MAX_SHOWN} more" if len(problems) > _MAX_SHOWN else ""
        text = "\n".join(problems[:_MAX_SHOWN])
        help = "help: make the program's tensors like those of the checkpoint; nothing was restored"
        raise CheckpointError(f"the checkpoint does not fit the program:\n{text}{rest}\n{help}")


def _problem(value, tensor):
    if isinstance(tensor, UninitializedTensorMixin):
        return None
    if tuple(value.shape) != tuple(tensor.shape):
        return f"has the shape {list(tensor.shape)} in the program and {list(value.shape)} in the checkpoint"
    if value.dtype is not tensor.dtype:
        return f"has the dtype {tensor.dtype} in the program and {value.dtype} in the checkpoint"
    if tensor.is_meta or tensor.layout is not torch.strided:
        return "has no memory that can be written" if tensor.is_meta else f"has the layout {tensor.layout}"
    if torch._debug_has_internal_overlap(tensor) == 1:
        return "is an expanded tensor, which cannot be written in place"
    return None


def _is_consistent(saved, group):
    """Returns whether the saved values of tensors that share memory agree where the tensors overlap."""
    with torch.no_grad():
        tensor = group[0][1].object
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.detach().untyped_storage()).clone()
        views = []
        for theirs, ours in group:
            layout = ours.object.storage_offset(), ours.object.shape, ours.object.stride()
            view = torch.empty(0, dtype=ours.object.dtype, device=tensor.device).set_(whole.untyped_storage(), *layout)
            view.copy_(saved.values[theirs.id])
            views.append((view, saved.values[theirs.id]))
        return all(_same_bits(view.cpu(), value) for view, value in views)


def _same_bits(a, b):
    a, b = (torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in (a, b))
    return torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


class _Entry:
    """An entry of a dictionary: a registered parameter or buffer, or the state of an optimizer for a parameter."""

    def __init__(self, dictionary, key):
        self.dictionary = dictionary
        self.key = key

    def state(self):
        return self.dictionary.get(self.key, MISSING)

    def restore(self, state):
        if state is MISSING:
            self.dictionary.pop(self.key, None)
        else:
            self.dictionary[self.key] = state


class _Set:
    def __init__(self, value):
        self.value = value

    def state(self):
        return set(set.__iter__(self.value))

    def restore(self, state):
        set.clear(self.value)
        set.update(self.value, state)


class _State:
    """The state of a random number generator, a scheduler or a similar object."""

    def __init__(self, value):
        self.read, self.write = kinds.accessors(value)

    def state(self):
        return copy.deepcopy(self.read())

    def restore(self, state):
        self.write(state)


class Writer:
    """Writes the outcomes of a matching."""

    def __init__(self, matching, saved, matches):
        self.matching = matching
        self.saved = saved
        self.creator = Creator(saved, matches)
        self._undo = []

    def write(self):
        """Writes the matched values to the program. If an assignment fails, those before it are undone. Tensors and
        arrays are written last."""
        changes = [change for pair in list(self.matching.pairs.values()) for change in self._changes(pair)]
        states = []
        for theirs, ours in self.matching.new:
            if theirs.kind == STATE:
                place = _State(ours.object)
                states.append((place, _like(self.creator.value(theirs.edges["state"]), place.read()), ours.path))
        try:
            for place, value in changes:
                self._set(place, value)
            for place, value, path in states:
                try:
                    self._set(place, value)
                except Exception as error:
                    message = f"the saved state does not fit `{path}`: {error}\nhelp: nothing was restored"
                    raise CheckpointError(message) from error
        except BaseException:
            for place, value in reversed(self._undo):
                place.restore(value)
            raise
        for theirs, ours in self.matching.new:
            if theirs.kind == TENSOR:
                _copy(ours.object, self.saved.values[theirs.id])
            elif theirs.kind == ARRAY:
                ours.object[...] = theirs.object

    def _set(self, place, value):
        self._undo.append((place, place.state()))
        place.restore(value)

    def _changes(self, pair):
        """Yields each place that changes, with its new value."""
        ours, kind = pair.current.object, pair.current.kind
        results = {key: self._result(outcome) for key, outcome in pair.outcomes.items()}
        results = {key: result[0] for key, result in results.items() if result}
        if kind == SET:
            parts = {results[key] for key in pair.saved.edges if key in results}
            if pair.outcomes and parts != set(set.__iter__(ours)) or pair.exact and not pair.saved.edges and len(ours):
                yield _Set(ours), parts
        elif kind in CONTAINERS or kind == kinds.GROUP:
            items = items_of(ours)
            new = _with(items, results, pair)
            if len(new) != len(items) or results or kind != LIST and list(new) != list(items):
                yield Items(ours), new
        else:
            for key, value in results.items():
                yield _place(kind, ours, key), value
        if kind == OPTIMIZER:
            yield from self._slots(pair)

    def _slots(self, pair):
        for parameter, state, outcome in pair.slots:
            place = _Entry(pair.current.object.state, parameter)
            if outcome is REMOVE:
                yield place, MISSING
            elif isinstance(outcome, Make):
                self._choose_devices(state, parameter)
                yield place, self.creator.value(Ref(state))

    def _choose_devices(self, state, parameter):
        """Chooses devices for the tensors of an optimizer's state: those that were saved on the device of their
        parameter are created on the parameter's current device."""
        graph, saved = self.saved.graph, self.matching.matches.nodes[id(parameter)]
        seen, stack = set(), [state]
        while stack:
            node = graph.nodes[stack.pop()]
            if node.id not in seen:
                seen.add(node.id)
                stack.extend(node.refs())
                if node.device is not None and node.device == graph.nodes[saved].device:
                    self.creator.devices[node.id] = parameter.device

    def _result(self, outcome):
        """Returns the new value for an outcome, in a tuple; an empty tuple if the value does not change."""
        if outcome is KEEP or outcome is UNMATCHED:
            return ()
        if isinstance(outcome, Put):
            return (outcome.value,)
        if isinstance(outcome, Make):
            return (self.creator.value(Ref(outcome.id)),)
        return (self._rebuilt(outcome),)

    def _rebuilt(self, outcome: Rebuild):
        old = tuple(tuple.__iter__(outcome.object))
        parts = [(self._result(part) or (before,))[0] for part, before in zip(outcome.parts, old)]
        return _tuple_like(outcome.object, parts)


def _tuple_like(template, parts):
    make = getattr(type(template), "_make", None)
    if make is not None:
        return make(parts)
    return tuple(parts) if type(template) is tuple else type(template)(parts)


def _with(items, results, pair):
    """Returns the items of a container after the restore."""
    if isinstance(items, dict):
        items.update(results)
        return {key: items[key] for key in pair.saved.edges if key in items} if pair.exact else items
    for key in sorted(results):
        if key < len(items):
            items[key] = results[key]
        else:
            items.append(results[key])
    return items[: len(pair.saved.edges)] if pair.exact else items


def _place(kind, owner, key):
    if kind == MODULE:
        for registered in (owner._parameters, owner._buffers, owner._modules):
            if key in registered:
                return _Entry(registered, key)
    slot = kinds.slot_of(owner, key)
    return Attribute(owner, key) if slot is None else SlotAttribute(owner, key, slot)


def _like(value, template):
    """Adapts a saved state to the current state. Containers get the classes of the current containers. Functions are not
    saved; they are taken from the current state."""
    if value is OMITTED:
        return template
    if isinstance(value, dict) and isinstance(template, dict):
        result = copy.copy(template)
        result.clear()
        dict.update(result, {key: _like(part, template.get(key)) for key, part in value.items()})
        return result
    if isinstance(value, (list, tuple)) and isinstance(template, type(value)) and len(value) == len(template):
        parts = [_like(part, other) for part, other in zip(value, template)]
        return parts if isinstance(value, list) else _tuple_like(template, parts)
    return value


def _copy(tensor, value):
    """Writes a value to the memory of a tensor."""
    if isinstance(tensor, UninitializedTensorMixin):
        tensor.materialize(value.shape, dtype=value.dtype)
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        tensor.copy_(value)
