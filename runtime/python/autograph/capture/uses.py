"""Records which leaves from outside a run uses. As in eager torch, a leaf has no gradient if it is used only on paths that
the run does not take.

The use of a leaf is a change of state, which branches and loops merge like the assignment of a variable."""


class Use:
    """A cell for one leaf, which a region may change. Its state is whether the leaf has been used."""

    __slots__ = ("uses", "base")

    def __init__(self, uses, base):
        self.uses = uses
        self.base = base

    def state(self):
        return self.uses.of(self.base)

    def restore(self, state):
        self.uses.values[self.base] = state

    def __str__(self):
        return "the use of a tensor"


class Uses:
    """`values` maps the leaves that were used on some path to True, False or a staged boolean."""

    def __init__(self):
        self.values = {}
        self.cells = {}  # base -> Use

    def of(self, base):
        return self.values.get(base, False)

    def note(self, base):
        """Records that a leaf is used here."""
        self.values[base] = True

    # Regions.

    def snapshot(self):
        return dict(self.values)

    def changed(self, before):
        """Returns the leaves whose state a region changes, with their previous states."""
        return {
            self.cells.setdefault(base, Use(self, base)): before.get(base, False)
            for base, value in self.values.items()
            if before.get(base, False) is not value
        }
