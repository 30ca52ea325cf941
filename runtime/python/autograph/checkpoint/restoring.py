"""One restore. It continues when the program creates further objects. Parameters, buffers and submodules of a module are
restored when they are registered; all others by the next method call on the status."""

import weakref

from torch.nn.modules import module as hooks

from ..capture.staging import current
from . import files, status, writing
from .matching import Matches, Matching
from .objects import Ref, collect

#: The restores with saved values for which the program has no objects yet.
_ACTIVE = weakref.WeakSet()


class Restoring:
    def __init__(self, root, path):
        self.path = str(path)
        self.root = root
        self.saved = files.read(path)
        self.matches = Matches()
        self._restore(collect(root), [(0, 0)])
        if self.unused():
            _ACTIVE.add(self)

    def update(self):
        """Restores objects that the program has created since the last update."""
        if self in _ACTIVE:
            self._restore(collect(self.root), [(0, 0)])
            if not self.unused():
                _ACTIVE.discard(self)
        return self

    def stop(self):
        """Stops restoring new objects. Called when another restore replaces this one."""
        _ACTIVE.discard(self)

    def registered(self, module, name, value):
        """Called when a parameter, buffer or module is registered in a module."""
        id_of_saved = self.matches.nodes.get(id(module))
        if id_of_saved is None or (id_of_saved, name) in self.matches.consumed:
            return
        edge = self.saved.graph.nodes[id_of_saved].edges.get(name)
        program = collect(value) if value is not None and isinstance(edge, Ref) else None
        if program is None or not program.nodes:
            return
        for node in program.nodes:
            node.path = f"{self.saved.graph.nodes[edge.id].path}{node.path and '.'}{node.path}"
        self._restore(program, [(edge.id, 0)])
        if self.matches.objects.get(edge.id) is value:
            self.matches.consumed.add((id_of_saved, name))

    def _restore(self, program, starts):
        matches = self.matches.copy()
        matching = Matching(self.saved.graph, program, matches).run(starts)
        writing.check(matching, self.saved)
        writing.Writer(matching, self.saved, matches).write()
        self.matches = matches

    def unused(self):
        return status.unused(self.saved.graph, self.matches)

    def unmatched(self):
        return status.unmatched(collect(self.root), self.saved.graph, self.matches)


def _registered(module, name, value):
    if _ACTIVE and current() is None:
        for restoring in list(_ACTIVE):
            restoring.registered(module, name, value)


# These hooks are registered once and never removed. Staged code that creates a module reads torch's list of hooks, so a
# change of the list would cause another trace.
hooks.register_module_parameter_registration_hook(_registered)
hooks.register_module_buffer_registration_hook(_registered)
hooks.register_module_module_registration_hook(_registered)
