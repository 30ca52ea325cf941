"""Names that are bound only by some evaluations of an expression, or unbound by an exception handler."""

from environment import *


def bound_behind_and(flag):
    for c in range(2):
        x = flag and (n := 1)
        if c >= 0:
            note(1, n)
    return x


def parameter_is_a_handlers_name(p0):
    for c in range(3):
        if not p0:
            try:
                return 1 if Truth(3, None) else 1
            except Oops as p0:
                pass


def bound_in_a_chain(flag, n):
    while n < 3:
        x = 0 < n < (m := n + 1)
        y = m if x else (k := 2)
        n += 1
    if flag:
        return k, m
    return x


def annotated_after_it_is_read(n):
    while n:
        total, n = a
        a: int
    return total


def default_of_a_lambda(n):
    while n:
        lambda v=total: v
    total = 1


CALLS = ["annotated_after_it_is_read(1)", "default_of_a_lambda(1)", "bound_behind_and(0)", "bound_behind_and(1)", "parameter_is_a_handlers_name(0)", "bound_in_a_chain(1, 1)", "bound_in_a_chain(0, 1)", "bound_in_a_chain(1, 5)", "bound_in_a_chain(1, -1)"]
