"""Matches saved values with objects of the program, as TensorFlow does, by a greedy breadth-first search from the roots
along edges with equal names.

The program creates the objects that are not data (modules, parameters, objects with attributes). Each of them is matched
with one saved object. Data (plain values, containers, tensors that are not parameters) is replaced by the saved data; objects
that shared data when they were saved share it again.
"""

import collections
import math

from .kinds import (
    ARRAY,
    CONTAINERS,
    DICT,
    FROZENSET,
    GROUP,
    IMMUTABLE,
    LIST,
    MODULE,
    OBJECT,
    OPTIMIZER,
    SET,
    STATE,
    TENSOR,
    TUPLE,
)
from .objects import OMITTED, Ref

#: Outcomes for an edge of the program: it keeps its object, the checkpoint has no value for it, or it is removed.
KEEP, UNMATCHED, REMOVE = object(), object(), object()


class Put:
    """The edge gets a plain value."""

    def __init__(self, value):
        self.value = value


class Make:
    """The edge gets the object of a saved node, which is created if no object is matched with it."""

    def __init__(self, id):
        self.id = id


class Rebuild:
    """The edge gets a copy of this tuple in which parts are replaced."""

    def __init__(self, id, object, parts):
        self.id = id
        self.object = object
        self.parts = parts


class Pair:
    """A saved node and the node of the program that is matched with it. `outcomes` maps the key of each part to its
    outcome. If the pair is `exact`, other parts are removed. `slots` contains (parameter, saved node, outcome) for each
    state of an optimizer."""

    def __init__(self, saved, current, exact):
        self.saved = saved
        self.current = current
        self.exact = exact
        self.outcomes = {}
        self.slots = []


class Matches:
    """The matches of one checkpoint. They are kept after a restore, for parts that the program creates later."""

    def __init__(self):
        self.objects = {}  # saved node -> the object of the program
        self.nodes = {}  # id of an object -> the saved node whose value it gets
        self.consumed = set()  # pairs of a saved node and the key of one of its parts
        self.finished = set()  # containers and optimizers that were restored
        self.conflicts = []  # pairs of paths: in the program, and in the checkpoint

    def copy(self):
        other = Matches()
        other.objects, other.nodes = dict(self.objects), dict(self.nodes)
        other.consumed, other.finished, other.conflicts = set(self.consumed), set(self.finished), list(self.conflicts)
        return other

    def bind(self, id, value):
        self.objects[id] = value
        self.nodes.setdefault(identity(value), id)


identity = id


class Matching:
    """One walk over the graphs of a checkpoint and of a program."""

    def __init__(self, saved, program, matches):
        self.saved = saved
        self.program = program
        self.matches = matches
        self.pairs = {}  # saved node and node of the program -> Pair
        self.new = []  # new matches: pairs of nodes
        self._queue = collections.deque()

    def run(self, starts):
        """Matches these pairs of nodes and everything below them."""
        for saved, current in starts:
            self._visit(Ref(saved), Ref(current))
        optimizers = []
        while self._queue:
            while self._queue:
                pair = self._queue.popleft()
                self._expand(pair)
                if pair.saved.kind == OPTIMIZER:
                    optimizers.append(pair)
            for pair in optimizers:
                self._match_parameters(pair)
        for pair in optimizers:
            self._match_slots(pair)
        while self._queue:
            self._expand(self._queue.popleft())
        for pair in self.pairs.values():
            self._finish(pair)
        return self

    def _visit(self, saved, current):
        """Returns the outcome for an edge of the program, with the saved edge of the same name."""
        if saved is OMITTED or current is OMITTED:
            return KEEP if saved is OMITTED else UNMATCHED
        if not isinstance(saved, Ref):
            if isinstance(current, Ref):
                return Put(saved) if self.program.is_plain(current.id) else UNMATCHED
            return KEEP if _same(saved, current) else Put(saved)
        theirs = self.saved.nodes[saved.id]
        if not isinstance(current, Ref):
            return Make(saved.id)
        ours = self.program.nodes[current.id]
        both_data = self.saved.is_data(theirs.id) and self.program.is_data(ours.id)
        if not _compatible(theirs, ours):
            return Make(theirs.id) if both_data else UNMATCHED
        if theirs.kind == ARRAY and not _same_layout(theirs.object, ours.object):
            return Make(theirs.id)
        if theirs.kind in IMMUTABLE:
            return self._visit_immutable(theirs, ours, both_data)
        bound = self.matches.objects.get(theirs.id)
        if bound is ours.object:
            self._enqueue(theirs, ours)
            return KEEP
        if bound is not None:
            return Make(theirs.id) if both_data else self._conflict(theirs, ours)
        if id(ours.object) in self.matches.nodes:
            if both_data:
                return Make(theirs.id)
            self.matches.bind(theirs.id, ours.object)
            self._enqueue(theirs, ours)
            return self._conflict(theirs, ours)
        self.matches.bind(theirs.id, ours.object)
        self.new.append((theirs, ours))
        self._enqueue(theirs, ours)
        return KEEP

    def _conflict(self, theirs, ours):
        """Records that the checkpoint has one object where the program has two, or two where the program has one."""
        if (ours.path, theirs.path) not in self.matches.conflicts:
            self.matches.conflicts.append((ours.path, theirs.path))
        return UNMATCHED

    def _visit_immutable(self, theirs, ours, both_data):
        if len(theirs.edges) != len(ours.edges) or theirs.kind == FROZENSET:
            return Make(theirs.id) if both_data else UNMATCHED
        return Rebuild(
            theirs.id, ours.object, [self._visit(saved, ours.edges[key]) for key, saved in theirs.edges.items()]
        )

    def _enqueue(self, theirs, ours):
        key = theirs.id, ours.id
        if key not in self.pairs:
            is_exact = theirs.kind in CONTAINERS and self.saved.is_data(theirs.id) and self.program.is_plain(ours.id)
            self.pairs[key] = pair = Pair(theirs, ours, is_exact and theirs.id not in self.matches.finished)
            self._queue.append(pair)

    def _expand(self, pair):
        """Determines the outcomes for the edges of a matched pair."""
        theirs, ours = pair.saved, pair.current
        if theirs.kind in (TENSOR, ARRAY, STATE):
            return
        may_grow = theirs.id not in self.matches.finished and theirs.kind in (LIST, DICT, SET, GROUP)
        has_names = theirs.kind != SET
        if not has_names and not (self.saved.is_data(theirs.id) and self.program.is_data(ours.id)):
            return
        for key, saved in theirs.edges.items():
            if (theirs.id, key) in self.matches.consumed:
                if key in ours.edges:
                    self._follow(saved, ours.edges[key])
            elif has_names and key in ours.edges:
                pair.outcomes[key] = self._visit(saved, ours.edges[key])
            elif may_grow and saved is not OMITTED:
                pair.outcomes[key] = Make(saved.id) if isinstance(saved, Ref) else Put(saved)

    def _follow(self, saved, current):
        """Continues below an edge that an earlier walk has restored, unless the program has replaced the object since."""
        if not isinstance(saved, Ref) or not isinstance(current, Ref):
            return
        theirs, ours = self.saved.nodes[saved.id], self.program.nodes[current.id]
        if theirs.kind == ours.kind == TUPLE:
            for key in theirs.edges.keys() & ours.edges.keys():
                self._follow(theirs.edges[key], ours.edges[key])
        elif self.matches.objects.get(saved.id) is ours.object:
            self._enqueue(theirs, ours)

    def _match_parameters(self, pair):
        """Matches parameters that are reachable only from the optimizer, by their positions in its groups."""
        for theirs, ours in zip(pair.saved.parameters, pair.current.parameters):
            for saved, current in zip(theirs, ours):
                if saved is None or current is None or self.saved.has_name(saved) or self.program.has_name(current):
                    continue
                self._visit(Ref(saved), Ref(current))

    def _match_slots(self, pair):
        """Matches the states of an optimizer by their parameters, independently of the positions in its groups."""
        is_first = pair.saved.id not in self.matches.finished
        nodes = self.program.nodes
        found = [nodes[number].object for ids in pair.current.parameters for number in ids if number is not None]
        members = {id(parameter): parameter for parameter in found}
        current = {id(nodes[parameter].object): state for parameter, state in pair.current.slots}
        for parameter, state in pair.saved.slots:
            owner = self.matches.objects.get(parameter)
            if id(owner) not in members or self.matches.nodes[id(owner)] != parameter:
                continue
            ours = current.pop(id(owner), None)
            if ours is not None:
                pair.slots.append((owner, state, self._visit(Ref(state), Ref(ours))))
            elif state not in self.matches.objects:
                pair.slots.append((owner, state, Make(state)))
        for key in members.keys() & current.keys() & self.matches.nodes.keys() if is_first else ():
            pair.slots.append((members[key], None, REMOVE))  # in the checkpoint, the optimizer has no state for it

    def _finish(self, pair):
        """Ends the matching of a pair. If an outcome needs an object that cannot be created, it becomes `UNMATCHED`."""
        count = len(pair.current.edges)
        for key, outcome in list(pair.outcomes.items()):
            grows = pair.saved.kind == LIST and key not in pair.current.edges
            if isinstance(outcome, (Make, Rebuild)):
                outcome = self._creatable(outcome)
            if grows and key != count:  # an element before it cannot be created
                outcome = UNMATCHED
            count += grows and outcome is not UNMATCHED
            pair.outcomes[key] = outcome
            if outcome is not UNMATCHED:
                self.matches.consumed.add((pair.saved.id, key))
        pair.slots = [(owner, state, self._creatable(outcome)) for owner, state, outcome in pair.slots]
        self.matches.finished.add(pair.saved.id)

    def _creatable(self, outcome):
        """Returns the outcome, or `UNMATCHED` if it would create an object that only the program can create."""
        if isinstance(outcome, Rebuild):
            outcome.parts = [self._creatable(part) for part in outcome.parts]
            self.matches.consumed.update(
                (outcome.id, key) for key, part in enumerate(outcome.parts) if part is not UNMATCHED
            )
            return KEEP if all(part in (KEEP, UNMATCHED) for part in outcome.parts) else outcome
        if not isinstance(outcome, Make):
            return outcome
        seen, stack = set(), [outcome.id]
        while stack:
            id = stack.pop()
            if id in seen or id in self.matches.objects or self.saved.is_data(id):
                continue
            node = self.saved.nodes[id]
            if node.kind not in CONTAINERS:
                return UNMATCHED
            seen.add(id)
            stack.extend(node.refs())
        return outcome


def _compatible(theirs, ours):
    """Returns whether a saved node can be matched with a node of the program."""
    if theirs.kind in (OBJECT, MODULE) and ours.kind in (OBJECT, MODULE):
        return True
    if theirs.kind in (OPTIMIZER, STATE):
        return theirs.kind == ours.kind and theirs.class_name == ours.class_name
    return theirs.kind == ours.kind


def _same_layout(theirs, ours):
    """Returns whether an array of NumPy can be written in place."""
    return (
        hasattr(ours, "setflags") and type(theirs) is type(ours) and ours.flags.writeable and ours.dtype == theirs.dtype
        and ours.shape == theirs.shape
    )  # fmt: skip


def _same(a, b):
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return a == b and math.copysign(1, a) == math.copysign(1, b) or math.isnan(a) and math.isnan(b)
    return type(a) is not complex and a == b or a is b
