"""The graph of objects that is reachable from a root by named edges."""

import collections

import torch
from torch.nn.parameter import UninitializedTensorMixin

from . import kinds
from .kinds import ARRAY, CONTAINERS, DEFINITION, DICT, GROUP, MODULE, OPTIMIZER, STATE, TENSOR


class Ref:
    """The value of an edge that leads to a node. The values of other edges are plain values, or OMITTED."""

    __slots__ = ("id",)

    def __init__(self, id):
        self.id = id


class Omitted:
    """A part of a container that is not saved, such as a function."""

    def __repr__(self):
        return "OMITTED"


OMITTED = Omitted()


class Node:
    """A node of the graph. `object` is the object of the program; for a saved tensor, its entry in the file.

    An optimizer has `slots`, pairs of the node of a parameter and the node of its state, and `parameters`, the nodes of the
    parameters in each of its groups. A module has `tensors`, the names of its parameters and buffers, and `modules`, the
    names of its submodules."""

    __slots__ = (
        "id", "kind", "path", "object", "class_name", "edges", "is_variable", "device", "slots", "parameters", "tensors",
        "modules",
    )  # fmt: skip

    def __init__(self, id, kind, path, object=None, class_name=""):
        self.id = id
        self.kind = kind
        self.path = path
        self.object = object
        self.class_name = class_name
        self.edges = {}
        self.is_variable = False
        self.slots = []
        self.parameters = []
        self.device = None
        self.tensors = []
        self.modules = []

    def refs(self):
        """Returns the nodes that this node refers to, except for the parameters of an optimizer."""
        return [edge.id for edge in self.edges.values() if isinstance(edge, Ref)]


class Graph:
    """A graph. The first node is the root. `unsaved` contains the path and the class name of each value that cannot be
    saved."""

    def __init__(self):
        self.nodes = []
        self.unsaved = []

    def finish(self):
        """Finds the nodes that are data and those that are plain. A container, tensor or array is data unless it
        contains a parameter or another object, directly or through other containers; a restore may create data. A
        container is plain if it contains only plain values and plain containers."""
        partial = {node.id for node in self.nodes if OMITTED in node.edges.values()}
        others = {node.id for node in self.nodes if node.kind not in CONTAINERS} | partial
        self._not_plain = self._reaching(others)
        data = {
            id for id in others - partial if self.nodes[id].kind in (TENSOR, ARRAY) and not self.nodes[id].is_variable
        }
        self._not_data = self._reaching(others - data)
        self._named = {0}
        stack = [0]
        while stack:
            for id in self.nodes[stack.pop()].refs():
                if id not in self._named:
                    self._named.add(id)
                    stack.append(id)
        return self

    def has_name(self, id):
        """Returns whether a node can be reached by named edges, and not only as a parameter of an optimizer."""
        return id in self._named

    def is_data(self, id):
        return id not in self._not_data

    def is_plain(self, id):
        return id not in self._not_plain

    def _reaching(self, found):
        """Returns these nodes, and all nodes from which a path leads to one of them."""
        users = collections.defaultdict(list)
        for node in self.nodes:
            for id in node.refs():
                users[id].append(node.id)
        found, queue = set(found), list(found)
        while queue:
            for user in users[queue.pop()]:
                if user not in found:
                    found.add(user)
                    queue.append(user)
        return found


class Collector:
    """Builds the graph of the objects of a program. If `reads_states`, it includes the states of random number generators,
    schedulers and similar objects."""

    def __init__(self, reads_states):
        self.graph = Graph()
        self.reads_states = reads_states
        self._ids = {}  # id of an object -> its node
        self._kept = []
        self._queue = collections.deque()
        self._optimizers = collections.deque()

    def collect(self, root):
        self.refer(root, "")
        while self._queue or self._optimizers:
            if self._queue:
                self._expand(self._queue.popleft())
            else:  # last, so that parameters get their names from the model
                self._expand_optimizer(self._optimizers.popleft())
        return self.graph.finish()

    def refer(self, value, path, kind=None):
        """Returns a tuple that contains the edge to a value; None if the value is not saved."""
        if kinds.is_plain(value):
            return (value,)
        node = self._ids.get(id(value))
        if node is None:
            kind = kind or kinds.kind_of(value)
            if kind is None:
                self.graph.unsaved.append((path, kinds.class_name(value)))
            if kind in (None, DEFINITION) or self.reads_states and isinstance(value, UninitializedTensorMixin):
                return None
            node = self._add(value, kind, path)
        return (Ref(node.id),)

    def _add(self, value, kind, path):
        node = Node(len(self.graph.nodes), kind, path, value, kinds.class_name(value))
        self.graph.nodes.append(node)
        self._ids[id(value)] = node
        self._queue.append(node)
        if kind == TENSOR:
            node.is_variable = kinds.is_variable(value)
            node.device = str(value.device)
        return node

    def _expand(self, node):
        """Adds the edges of a node."""
        if node.kind == STATE:
            if self.reads_states:
                self._connect(node, "state", self._state(node), f"{node.path}.state")
            return
        if node.kind == OPTIMIZER:
            for index, group in enumerate(node.object.param_groups):
                self.refer(group, f"{node.path}.param_groups[{index}]", GROUP)
            self._optimizers.append(node)
        if node.kind == MODULE and self.reads_states:
            node.tensors = [*node.object._parameters, *kinds.persistent_buffers(node.object)]
            node.modules = list(node.object._modules)
        for key, value in kinds.edges(node.kind, node.object):
            path = joined(node, key)
            if node.kind == DICT and not self._is_key(key, path):
                continue
            self._connect(node, key, value, path)

    def _is_key(self, key, path):
        if kinds.is_plain(key) or type(key) is tuple and all(self._is_key(part, None) for part in key):
            return True
        if path is not None:
            self.graph.unsaved.append((path, f"{kinds.class_name(key)} as a key"))
        return False

    def _connect(self, node, key, value, path):
        found = self.refer(value, path)
        if found is not None or node.kind in CONTAINERS:
            node.edges[key] = found[0] if found else OMITTED

    def _state(self, node):
        read, _ = kinds.accessors(node.object)
        state = read()
        self._kept.append(state)
        return state

    def _expand_optimizer(self, node):
        """Adds the parameters of an optimizer, and its state for each of them."""
        optimizer = node.object
        for index, group in enumerate(optimizer.param_groups):
            ids = []
            for position, parameter in enumerate(group["params"]):
                found = self.refer(parameter, f"{node.path}.param_groups[{index}].params[{position}]")
                ids.append(found[0].id if found else None)
            node.parameters.append(ids)
        for parameter, state in optimizer.state.items():
            if not isinstance(parameter, torch.Tensor) or not isinstance(state, dict):
                self.graph.unsaved.append((f"{node.path}.state", f"{kinds.class_name(parameter)} as a key"))
                continue
            found = self.refer(parameter, f"{node.path}.state")
            if found:
                path = f"{node.path}.state[{self.graph.nodes[found[0].id].path}]"
                node.slots.append((found[0].id, self.refer(state, path)[0].id))


def collect(root, reads_states=False):
    """Returns the graph of the objects that are reachable from a root."""
    return Collector(reads_states).collect(root)


def joined(node, key):
    """Returns the path of a part of a node."""
    if node.kind in CONTAINERS:
        return f"{node.path}[{key!r}]"
    return f"{node.path}.{key}" if node.path else str(key)
