"""Symbolic sizes: torch's `ShapeEnv` and expressions of sympy.

The import of sympy takes half a second, so a trace imports this module only when a size is unknown."""

import inspect
import sys
import weakref
from contextlib import contextmanager
from types import ModuleType

import sympy
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv, _constrain_range_for_size

from ..record import ops
from .permanent import OF_TORCH

COMPARISONS = {
    ops.EQ: sympy.Eq, ops.NE: sympy.Ne, ops.LT: sympy.Lt, ops.LE: sympy.Le, ops.GT: sympy.Gt, ops.GE: sympy.Ge,
}  # fmt: skip

#: The assumed size of a dimension about which nothing is known: neither 0 (empty) nor 1 (broadcast).
USUAL = 13


class Shapes(ShapeEnv):
    """Torch's `ShapeEnv`. If it cannot decide a condition on sizes, the usual answer is assumed, and the graph checks it.

    Torch's caches keep each `ShapeEnv` alive, so this one must not keep the trace alive."""

    def __init__(self, sizes):
        with _without_validator():
            super().__init__()
        self.sizes = weakref.proxy(sizes)

    def new(self):
        """Returns a new size, as a SymInt."""
        number = self.create_unbacked_symint()
        _constrain_range_for_size(number)
        return number

    def _get_user_frame(self):
        """Returns the frame that torch's messages name. Torch's own method skips the files of `torch._dynamo` too, and
        imports that module to find them."""
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename.startswith(OF_TORCH):
            frame = frame.f_back
        return frame

    def _log_create_unbacked_symbol(self, *args, **kwargs):
        """Omits an entry in torch's log, for which torch imports `torch._inductor`."""

    def _log_guard(self, *args, **kwargs):
        """Omits another such entry."""

    def evaluate_expr(self, orig_expr, *args, **kwargs):
        try:
            return super().evaluate_expr(orig_expr, *args, **kwargs)
        except GuardOnDataDependentSymNode:
            answer = self.sizes.assume(orig_expr)
            if answer is None:
                raise
            return sympy.true if answer else sympy.false

    def guard_or_defer_runtime_assert(self, orig_expr, msg, fx_node=None):
        known = self._maybe_evaluate_static(orig_expr)
        if known is not None:
            return bool(known)
        if self.sizes.check(orig_expr):
            return True
        return super().guard_or_defer_runtime_assert(orig_expr, msg, fx_node)


@contextmanager
def _without_validator():
    """In this block, `ShapeEnv` does not import torch's validator of guards, which imports `torch._dynamo` in 0.9 s. By
    default it is switched off, and then `ShapeEnv` only asks whether it is switched on."""
    name = "torch.fx.experimental.validator"
    if name in sys.modules or _config.translation_validation:
        yield
        return
    sys.modules[name] = ModuleType(name)
    sys.modules[name].translation_validation_enabled = lambda: False
    try:
        yield
    finally:
        del sys.modules[name]


def compared(op, left, right):
    """Returns a comparison of two sizes, each a Python integer or a SymInt."""
    return COMPARISONS[op](*(sympy.Integer(n) if type(n) is int else n.node.expr for n in (left, right)))


def negated(condition):
    return sympy.Not(condition)


def is_symbol(expression):
    return isinstance(expression, sympy.Symbol)


def truth(condition):
    """Returns whether a condition holds for all sizes; None if it depends on the sizes."""
    return bool(condition) if condition in (sympy.true, sympy.false) else None


def example(expression, examples):
    """Returns the value of an expression of sizes, evaluated with the examples of its symbols."""
    if not isinstance(expression, sympy.Basic):
        return expression
    return expression.xreplace({s: sympy.Integer(examples.get(s, USUAL)) for s in expression.free_symbols})


def usually(condition, examples):
    """Returns whether a condition on sizes usually holds; None if that is not known."""
    sides = condition.args
    is_equation = isinstance(condition, (sympy.Eq, sympy.Ne)) and all(side.free_symbols for side in sides)
    if is_equation and not condition.free_symbols <= examples.keys():
        return isinstance(condition, sympy.Eq)
    return truth(example(condition, examples))
