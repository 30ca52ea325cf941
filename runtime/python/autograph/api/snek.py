"""Snek's decorators (Snek, sections 3.5, 5.5 and 5.6): `@lms`, `@stage`, `@rep_fun`.

    @lms
    def aggregate(x):           @stage
        total = 0               def staged_aggregate(x):
        while x > 0:                return aggregate(x)
            total = total + x
            x = x - 1           staged_aggregate(10)    # 55, computed by a graph
        return total
"""

import functools
import types

import torch

from .._runtime import Callable
from ..capture.staging import current
from ..operators import calls, recursion
from .conversion import convert
from .eager import functions_run_eagerly
from .function import Function


def lms(function):
    """Virtualizes a function: replaces its control flow by calls of operators. A condition or loop runs in Python unless it
    depends on a staged value."""
    return convert(function)


def rep_fun(function):
    """Makes a recursive function a function of the graph: staged code does not inline it. Numbers that differ between its
    calls are staged."""
    recursion.mark(function)
    return convert(function)


def stage(function):
    """Makes a function run as a graph whose inputs are all its arguments, including Python numbers.

    With `ag.function`, the values of Python numbers would be constants of the graph. There is a graph for each kind of
    arguments; it is created by the first call, because the types of the arguments are not known before."""
    return Staged(function)


class Staged(Callable):
    """A function whose arguments are all staged (`Rep` in Snek)."""

    def __init__(self, python_function):
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self._functions = {}  # which arguments are numbers -> the function that takes tensors for them

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def _call(self, *args, **kwargs):
        if functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        if current() is not None:
            return self.__ag_inline__(args, kwargs)
        function, args, kwargs = self._lifted(args, kwargs)
        return function(*args, **kwargs)

    def __ag_inline__(self, args, kwargs):
        return calls.call(self.python_function, args, kwargs)

    def graph(self, *args, **kwargs):
        """Returns the text of the graph that a call with these arguments runs."""
        function, args, kwargs = self._lifted(args, kwargs)
        return function.graph(*args, **kwargs)

    def _lifted(self, args, kwargs):
        """Returns the staged function for arguments of this kind, and the arguments with tensors in place of numbers."""
        numbers = frozenset(key for key, value in (*enumerate(args), *kwargs.items()) if _is_number(value))
        if numbers not in self._functions:
            self._functions[numbers] = Function(_from_tensors(self.python_function, numbers))
        return self._functions[numbers], *_mapped(_tensor, numbers, args, kwargs)


def _is_number(value):
    return type(value) in (bool, float) or type(value) is int and -(2**63) <= value < 2**63


def _tensor(number):
    return torch.tensor(number, dtype=torch.float64 if type(number) is float else None)


def _from_tensors(function, numbers):
    """Returns a function that takes tensors in place of these numbers."""

    @functools.wraps(function)
    def of_tensors(*args, **kwargs):
        args, kwargs = _mapped(torch.Tensor.item, numbers, args, kwargs)
        return calls.call(function, args, kwargs)

    return of_tensors


def _mapped(change, numbers, args, kwargs):
    args = tuple(change(value) if index in numbers else value for index, value in enumerate(args))
    return args, {name: change(value) if name in numbers else value for name, value in kwargs.items()}
