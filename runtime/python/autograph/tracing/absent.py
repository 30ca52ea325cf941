"""Names that the code of a trace has looked up and not found: attributes that objects, classes and modules do not have, and
variables that are not defined. The trace is valid as long as they are absent.

If a dictionary still has all of its keys, and as many keys as before, it has no new key. So a check compares the
lengths, and looks up those keys that have no guard of their own. It compares the names only if a length differs or a
key is missing."""

from operator import contains

from .._runtime import AbsentGuards


class Absent:
    def __init__(self):
        self.scopes = {}  # id -> (dictionary, absent names, keys with a guard); None in place of a set stands for all names
        self.dictionaries, self.lengths = [], []
        self.held = [], []  # dictionaries, and a key of each
        self.guards = AbsentGuards([], [])

    def add(self, scope, names, guarded):
        """Expects that a dictionary gets none of these names as a key. If `names` is None, it must get no key at all."""
        if names is not None and not names:
            return
        if id(scope) in self.scopes:
            _, others, _ = self.scopes[id(scope)]
            names = None if names is None or others is None else names | others
        self.scopes[id(scope)] = scope, names, guarded

    def done(self):
        """Records the current lengths and keys. Called when all names have been added, and again when a dictionary has got a
        key that is not one of the names."""
        self.dictionaries = [scope for scope, _, _ in self.scopes.values()]
        self.lengths = list(map(len, self.dictionaries))
        held = [(s, key) for s, _, guarded in self.scopes.values() if guarded is not None for key in s.keys() - guarded]
        self.held = [s for s, _ in held], [key for _, key in held]
        self.guards = AbsentGuards(self.dictionaries, held)

    def appeared(self):
        """Returns whether one of the names exists now."""
        if list(map(len, self.dictionaries)) == self.lengths and all(map(contains, *self.held)):
            return False
        for (scope, names, _), length in zip(self.scopes.values(), self.lengths):
            if self._differs(scope, length) if names is None else not names.isdisjoint(scope):
                return True
        self.done()
        return False

    def _differs(self, scope, length):
        """Returns whether keys were added to a dictionary or removed from it."""
        return len(scope) != length or any(held is scope and key not in scope for held, key in zip(*self.held))
