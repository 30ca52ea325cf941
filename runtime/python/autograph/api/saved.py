"""Functions without their Python: a graph and its tensors in a folder, which `load` and `ag-run` run."""

import os

from .._runtime import Model
from ..errors import AutographError


def save(trace, folder):
    """Writes the graph of a trace. What is not in the graph cannot be saved: state of Python that it reads or
    changes, and results that are no tensors, numbers, lists or tuples of these."""
    state = [str(capture.place) for capture in trace.captures if capture.is_number]
    state += [str(change.place) for change in trace.state]
    if state or trace.changed or trace.writes or trace.gradients or trace.staging.callbacks:
        what = ", ".join(state) or ("Python is called" if trace.staging.callbacks else "what is outside is changed")
        raise AutographError(f"`{trace.staging.name}` is more than its graph, and cannot be saved: {what}")
    captures = [
        (number, capture.present().detach())
        for number, capture in enumerate(trace.captures)
        if capture.path is None
    ]
    trace.graph.save(os.fspath(folder), captures)


class Loaded:
    """A saved function. It returns one result, or a tuple of its results."""

    def __init__(self, folder):
        self._model = Model(os.fspath(folder))
        #: The names of the arguments, and their types as the text of a graph has them.
        self.arguments = self._model.arguments

    def __call__(self, *args, **kwargs):
        names = [name for name, _ in self.arguments]
        if len(args) > len(names):
            raise TypeError(f"{len(names)} arguments are wanted and {len(args)} given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"there is no argument `{name}`: {', '.join(names)}")
            if name in given:
                raise TypeError(f"the argument `{name}` is given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"missing arguments: {', '.join(missing)}")
        results = self._model.run([given[name] for name in names])
        return results[0] if len(results) == 1 else results


def load(folder):
    """The function that `Function.save` has written there. Its files are checked, and nothing in them is executed."""
    return Loaded(folder)
