"""Creates objects for saved data that the program does not have: containers, tensors and arrays."""

import torch

from .kinds import ARRAY, DICT, FROZENSET, GROUP, LIST, SET, TENSOR, TUPLE
from .objects import OMITTED, Ref


class Creator:
    """Creates the objects of saved nodes. An object that occurs twice is created once. Tensors that share memory in the
    checkpoint share memory again, with each other and with tensors of the program. `omitted` replaces parts that were not
    saved."""

    def __init__(self, saved, matches, omitted=OMITTED):
        self.omitted = omitted
        self.graph = saved.graph
        self.values = saved.values
        self.matches = matches
        self.devices = {}  # node -> the device for its tensor, if it is not the saved one
        self._immutable = {}
        self._unfilled = []
        self._memory = {}
        self._views = {}  # name of a stored tensor -> its nodes that are matched
        for id in matches.objects:
            node = self.graph.nodes[id]
            if node.kind == TENSOR and node.object.offset is not None:
                self._views.setdefault(node.object.name, []).append(id)

    def value(self, edge):
        """Returns the object or plain value for an edge."""
        result = self._value(edge)
        while self._unfilled:
            node, target = self._unfilled.pop()
            parts = {key: self._value(edge) for key, edge in node.edges.items()}
            if node.kind == LIST:
                target.extend(parts.values())
            else:
                target.update(parts.values() if node.kind == SET else parts)
        return result

    def _value(self, edge):
        """Returns the value for an edge. The parts of a new container are added later."""
        if not isinstance(edge, Ref):
            return self.omitted if edge is OMITTED else edge
        if edge.id in self.matches.objects:
            return self.matches.objects[edge.id]
        if edge.id in self._immutable:
            return self._immutable[edge.id]
        node = self.graph.nodes[edge.id]
        self.matches.finished.add(node.id)
        self.matches.consumed.update((node.id, key) for key in node.edges)
        if node.kind in (TUPLE, FROZENSET):
            # A part may refer to this tuple, as in `t = ([],); t[0].append(t)`. Then the tuple exists after this line.
            parts = [self._value(part) for part in node.edges.values()]
            return self._immutable.setdefault(node.id, (tuple if node.kind == TUPLE else frozenset)(parts))
        if node.kind == ARRAY:
            result = node.object.copy()
        elif node.kind == TENSOR:
            result = self._tensor(node)
        else:
            result = {LIST: list, DICT: dict, GROUP: dict, SET: set}[node.kind]()
            self._unfilled.append((node, result))
        self.matches.bind(node.id, result)
        return result

    def _tensor(self, node):
        entry, value = node.object, self.values[node.id]
        device = self.devices.get(node.id) or _usable(node.device)
        if entry.offset is None:
            return torch.empty_strided(entry.shape, entry.stride, dtype=value.dtype, device=device).copy_(value)
        shared = self._view_of_program(entry, value)
        if shared is not None:
            return shared
        memory = self._memory.get((entry.name, device))
        if memory is None:
            whole = torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage())
            memory = self._memory[entry.name, device] = whole.to(device, copy=True).untyped_storage()
        start = entry.offset // value.itemsize
        return torch.empty(0, dtype=value.dtype, device=device).set_(memory, start, entry.shape, entry.stride)

    def _view_of_program(self, entry, value):
        """If the checkpoint stores a tensor as a view of memory that a tensor of the program already has, returns this
        view of it; otherwise None."""
        for id in self._views.get(entry.name, ()):
            other, tensor = self.graph.nodes[id].object, self.matches.objects[id].detach()
            start, end = _range(entry, value.itemsize)
            low, high = _range(other, tensor.itemsize)
            same_layout = (
                other.dtype == entry.dtype and tuple(tensor.stride()) == other.stride and tensor.shape == other.shape
            )
            if same_layout and low <= start and end <= high:
                offset = tensor.storage_offset() + (entry.offset - other.offset) // value.itemsize
                return tensor.as_strided(entry.shape, entry.stride, offset)
        return None


def _range(entry, itemsize):
    last = sum((size - 1) * stride for size, stride in zip(entry.shape, entry.stride))
    return entry.offset, entry.offset + (last + 1) * itemsize


def _usable(device):
    """Returns the device of this name; the CPU if this machine does not have it."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        return torch.device("cpu")
    return torch.device(device)
