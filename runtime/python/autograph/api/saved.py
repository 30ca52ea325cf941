"""Saved functions: a folder with a graph and its tensors, which `load` and `ag-run` run without the Python code."""

import os

from .._runtime import Model
from ..errors import AutographError


def save(trace, folder):
    """Saves the graph of a trace."""
    reason = python_state(trace)
    if reason is not None:
        raise AutographError(f"`{trace.staging.name}` depends on Python and cannot be saved: {reason}")
    captures = [
        (number, capture.current_value().detach())
        for number, capture in enumerate(trace.captures)
        if capture.path is None
    ]
    trace.without_uses().save(os.fspath(folder), captures)


def python_state(trace):
    """Returns why a trace cannot run without Python: it reads numbers from Python state, changes Python state, calls
    Python, or writes to tensors in place. Returns None if the trace can run without Python."""
    state = [f"it reads the number {capture.place}" for capture in trace.captures if capture.is_number and capture.path is None]
    state += [f"it changes {change.place}" for change in trace.state]
    if state:
        return ", ".join(state)
    if trace.staging.callbacks:
        return "it calls Python"
    if trace.changed or trace.writes or trace.gradients:
        return "it changes its arguments or captures"
    return None


class Loaded:
    """A saved function. It returns one result, or a tuple of its results."""

    def __init__(self, folder):
        self._model = Model(os.fspath(folder))
        #: The names of the arguments, and their types in the syntax of graphs.
        self.arguments = self._model.arguments

    def __call__(self, *args, **kwargs):
        names = [name for name, _ in self.arguments]
        if len(args) > len(names):
            raise TypeError(f"expected {len(names)} arguments, got {len(args)}")
        by_name = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"unknown argument `{name}`; the arguments are: {', '.join(names)}")
            if name in by_name:
                raise TypeError(f"got several values for the argument `{name}`")
            by_name[name] = value
        missing = [name for name in names if name not in by_name]
        if missing:
            raise TypeError(f"missing arguments: {', '.join(missing)}")
        results = self._model.run([by_name[name] for name in names])
        return results[0] if len(results) == 1 else results


def load(folder):
    """Loads a function that `Function.save` wrote. The files are validated, and contain no code that is executed."""
    return Loaded(folder)
