"""`@ag.function`: a function that is traced once for each kind of arguments and then runs as a graph."""

import functools
import types
import warnings

import torch

from . import saved, signatures
from .arguments import flatten
from .eager import functions_run_eagerly
from .errors import Restart, StagingError, in_user_code
from .operators import calls
from .staging import current
from .trace import TRACING, Trace, name_of

#: So many traces of one function are suspicious.
WARN_AFTER = 5


class Function:
    """A staged function. Called while another is staged, it becomes part of that one."""

    def __init__(self, python_function, input_signature=None):
        functools.update_wrapper(self, python_function, updated=())
        self.__name__ = name_of(python_function)
        self.python_function = python_function
        self.input_signature = input_signature
        self._traces = {}
        self._families = {}
        self._changing = set()  # places of Python's state whose numbers change between calls

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return types.MethodType(self, instance)

    def __ag_inline__(self, args, kwargs):
        return calls.call(self.python_function, args, kwargs)

    def __call__(self, *args, **kwargs):
        if functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        if current() is not None:
            return self.__ag_inline__(args, kwargs)
        leaves, structure = flatten(args, kwargs)
        return self._traced(leaves, structure, args, kwargs).run(leaves)

    def graph(self, *args, **kwargs):
        """The text of the graph that a call with these arguments runs."""
        return self.trace(*args, **kwargs).graph.text()

    def save(self, folder, *args, **kwargs):
        """Writes the graph that a call with these arguments runs, for `load` and `ag-run`."""
        saved.save(self.trace(*args, **kwargs), folder)

    def trace(self, *args, **kwargs):
        """The trace that a call with these arguments runs."""
        return self._traced(*flatten(args, kwargs), args, kwargs)

    @property
    def traces(self):
        """The traces that there are, oldest first for each kind of arguments."""
        found = [trace for known in self._traces.values() for trace in known]
        return found + [trace for family in self._families.values() for *_, trace in family.traces]

    def _traced(self, leaves, structure, args, kwargs):
        try:
            with TRACING:
                return self._trace_for(leaves, structure, args, kwargs)
        except RecursionError:
            raise StagingError(
                f"`{self.__name__}` does not come to an end while it is staged: a function calls itself, and no condition "
                "ends that"
            ) from None
        except Exception as error:
            raise in_user_code(error) from error.__cause__

    def _trace_for(self, leaves, structure, args, kwargs):
        if self.input_signature is not None:
            sizes = signatures.checked(self.__name__, self.input_signature, leaves)
            kind = (torch.is_grad_enabled(), torch.get_default_dtype(), structure, *signatures.kinds(leaves))
            return self._found(("signature", kind), lambda: self._new_trace(args, kwargs, sizes))
        kind = (structure, torch.is_grad_enabled(), torch.get_default_dtype(), *signatures.kinds(leaves))
        shapes = signatures.shapes(leaves)
        known = self._live((kind, shapes))
        if known is not None:
            return known
        family = self._families.setdefault(kind, signatures.Family())
        trace = family.relaxed(shapes)
        if trace is not None and not trace.broken():
            return trace
        sizes = family.unknown(shapes)
        if sizes is not None:
            try:
                trace = self._new_trace(args, kwargs, sizes)
            except Exception:  # this code needs to know its shapes
                family.is_fixed = True
            else:
                family.add(sizes, trace)
                return trace
        family.seen.append(shapes)
        return self._found((kind, shapes), lambda: self._new_trace(args, kwargs))

    def _live(self, key):
        """A trace that was made for this and is still right."""
        for trace in self._traces.get(key, ()):
            broken = trace.broken()
            if not broken:
                return trace
            self._changing.update(broken)
        return None

    def _found(self, key, make):
        known = self._live(key)
        if known is None:
            self._warn(key)
            known = make()
            self._traces.setdefault(key, []).append(known)
        return known

    def _new_trace(self, args, kwargs, unknown=None):
        optimizers = []
        while True:
            try:
                return Trace(self.python_function, args, kwargs, self._changing, unknown, optimizers)
            except Restart as restart:
                optimizers.append(restart.optimizer)

    def _warn(self, key):
        """Repeated traces are slow: says what is new about the call."""
        count = sum(map(len, self._traces.values()))
        if not count or count % WARN_AFTER:
            return
        last = next(reversed(self._traces))
        named = [f"{old} became {new}" for old, new in zip(signatures.flat(last), signatures.flat(key)) if old != new]
        reason = "; ".join(named[:3]) or "state outside of it changed"
        warnings.warn(
            f"`{self.__name__}` is traced for the {count + 1}th time, which is slow: {reason}. "
            "Pass numbers that change as tensors.",
            stacklevel=5,
        )


def function(python_function=None, *, input_signature=None):
    """Makes a function run as a graph."""
    if python_function is None:
        return functools.partial(function, input_signature=input_signature)
    return Function(python_function, input_signature)


__all__ = ["Function", "function"]
