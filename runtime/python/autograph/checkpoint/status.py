"""The result of a restore: which values were not matched."""

import sys
import warnings

from ..capture.staging import current
from .kinds import ARRAY, IMMUTABLE, MODULE, OPTIMIZER, STATE, TENSOR
from .objects import OMITTED, Omitted, Ref, joined

_VALUES = (TENSOR, ARRAY, STATE)

#: A message lists at most this many places.
_MAX_SHOWN = 10


def unused(saved, matches):
    """Returns the paths of saved values that the program does not have."""
    walk = _Unused(saved, matches)
    walk.run()
    return walk.paths


class _Unused:
    def __init__(self, saved, matches):
        self.graph = saved
        self.matches = matches
        self.paths = []
        self.seen = set()

    def run(self):
        stack = [self.graph.nodes[0]]
        self.seen.add(0)
        while stack:
            node = stack.pop()
            if node.kind in _VALUES:
                owner = self.matches.objects.get(node.id)
                if owner is not None and self.matches.nodes[id(owner)] != node.id:
                    self.paths.append(node.path)  # the object has the value of another node
                continue
            parts = [
                (joined(node, key), edge, (node.id, key) in self.matches.consumed) for key, edge in node.edges.items()
            ]
            for parameter, state in node.slots:
                name = f"{node.path}.state[{self.graph.nodes[parameter].path}]"
                parts.append((name, Ref(state), state in self.matches.objects))
            if node.kind == OPTIMIZER:
                ids = [id for group in node.parameters for id in group if id is not None]
                parts += [(self.graph.nodes[id].path, Ref(id), id in self.matches.objects) for id in ids]
            later = []
            for path, edge, is_consumed in parts:
                if (
                    edge is not OMITTED
                    and not is_consumed
                    and not (isinstance(edge, Ref) and edge.id in self.matches.objects)
                ):
                    later.append((path, edge))
                elif isinstance(edge, Ref) and edge.id not in self.seen:
                    self.seen.add(edge.id)
                    stack.append(self.graph.nodes[edge.id])
            self.paths += [path for path, edge in later if not isinstance(edge, Ref) or self._has_value(edge.id)]

    def _has_value(self, id):
        """Returns whether a node, or a node below it, has a value that was not restored. Each node counts once."""
        found, stack = False, [id]
        while stack:
            node = self.graph.nodes[stack.pop()]
            if node.id in self.seen or node.id in self.matches.objects:
                continue
            self.seen.add(node.id)
            found = found or _is_value(node)
            stack += node.refs()
        return found


def unmatched(program, saved, matches):
    """Returns the paths of values of the program that the checkpoint does not have."""
    paths, seen, stack = [], {(0, 0)}, [(program.nodes[0], saved.nodes[0])]
    listed = set()
    while stack:
        node, theirs = stack.pop()
        if node.kind in _VALUES:
            continue
        for key, edge in node.edges.items():
            is_consumed = theirs is not None and (theirs.id, key) in matches.consumed
            if not isinstance(edge, Ref):
                if not is_consumed and edge is not OMITTED:
                    paths.append(joined(node, key))
                continue
            child = program.nodes[edge.id]
            partner = matches.nodes.get(id(child.object))
            if child.kind in IMMUTABLE and is_consumed:
                saved_edge = theirs.edges[key]
                partner = saved_edge.id if isinstance(saved_edge, Ref) else None
            if partner is None:
                if _has_unmatched(program, edge.id, matches, listed):
                    paths.append(joined(node, key))
            elif (edge.id, partner) not in seen:
                seen.add((edge.id, partner))
                stack.append((child, saved.nodes[partner]))
        ids = [number for group in node.parameters for number in group if number is not None]
        for number in dict.fromkeys([*ids, *(state for _, state in node.slots)]):
            child = program.nodes[number]
            if id(child.object) not in matches.nodes and _has_unmatched(program, number, matches, listed):
                paths.append(child.path)
    return paths


def _is_value(node):
    """Returns whether a node has a value itself. The options of a module, which are plain values, do not count."""
    return (
        node.kind in _VALUES
        or node.kind != MODULE
        and any(not isinstance(edge, (Ref, Omitted)) for edge in node.edges.values())
    )


def _has_unmatched(program, id, matches, listed):
    found, stack = False, [id]
    while stack:
        node = program.nodes[stack.pop()]
        if node.id in listed or _identity(node.object) in matches.nodes:
            continue
        listed.add(node.id)
        found = found or _is_value(node)
        stack += node.refs()
    return found


_identity = id


class RestoreStatus:
    """The result of a restore. Its methods first restore the objects that the program has created since.

    `unused` contains the paths of saved values that have no object in the program, and `unmatched` the paths of objects and
    values of the program that have no saved value. `conflicts` contains pairs of a path in the program and a path in the
    checkpoint: at these paths, one side has one object, and the other side has two."""

    def __init__(self, restoring):
        self._restoring = restoring
        self._is_reported = False

    @property
    def unused(self):
        return self._restoring.update().unused()

    @property
    def unmatched(self):
        return self._restoring.update().unmatched()

    @property
    def conflicts(self):
        return list(self._restoring.update().matches.conflicts)

    def update(self):
        """Restores the objects that the program has created since the restore."""
        self._restoring.update()
        return self

    def assert_consumed(self):
        """Raises an `AssertionError` if a saved value was not restored, or a value of the program is not in the
        checkpoint."""
        self._is_reported = True
        text = _report(self._restoring.update())
        if text:
            raise AssertionError(f"the checkpoint `{self._restoring.path}` and the program differ{text}")
        return self

    def assert_existing_objects_matched(self):
        """Raises an `AssertionError` if a value of the program is not in the checkpoint."""
        self._is_reported = True
        restoring = self._restoring.update()
        text = _listed("not in the checkpoint", restoring.unmatched())
        if text:
            raise AssertionError(f"the checkpoint `{restoring.path}` lacks values of the program{text}")
        return self

    def expect_partial(self):
        """Disables the warning about values that were not restored."""
        self._is_reported = True
        return self

    def __str__(self):
        return f"restored from `{self._restoring.path}`{_report(self._restoring.update()) or ': everything'}"

    def __del__(self):
        if self._is_reported or sys.is_finalizing() or current() is not None:
            return
        text = _report(self._restoring)
        if text:
            help = "help: call `assert_consumed()` or `expect_partial()` of the result of `restore`"
            warnings.warn(f"the checkpoint `{self._restoring.path}` was partially restored{text}\n{help}", stacklevel=2)


def _report(restoring):
    conflicts = [f"{ours} (in the checkpoint: {theirs})" for ours, theirs in restoring.matches.conflicts]
    return "".join((
        _listed("not in the program", restoring.unused()), _listed("not in the checkpoint", restoring.unmatched()),
        _listed("one object on one side, two on the other", conflicts),
    ))  # fmt: skip


def _listed(title, paths):
    if not paths:
        return ""
    rest = f", and {len(paths) - _MAX_SHOWN} more" if len(paths) > _MAX_SHOWN else ""
    return f"\n  {title}: {', '.join(paths[:_MAX_SHOWN])}{rest}"
