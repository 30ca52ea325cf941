"""Variables that a nested function reads or changes, and that the branches of a staged `if` or the iterations of a staged
loop assign. The trace may reach the nested function only after it has traced an assignment."""

import functools

import pytest
import torch

from oracle import assert_same


def read_in_the_other_branch(x, n):
    k = int(n)

    def read():
        return k + 0

    if x.sum() > 0:
        k = k + 3
    else:
        read()
    return k


def changed_in_the_other_branch(x, n):
    k, total = int(n), 0

    def add():
        nonlocal total
        total += k

    if x.sum() > 0:
        k = k + 3
    else:
        add()
    return k, total


def two_levels(x, n):
    k, total = int(n), 0

    def outer():
        def inner():
            nonlocal total
            total += k

        inner()

    if x.sum() > 0:
        k = k + 3
    else:
        outer()
    return k, total


def raises_in_the_other_branch(x, n):
    k = int(n)

    def read():
        total += k  # noqa: F821, F841

    if x.sum() > 0:
        k = k + 3
    else:
        read()
    return k


def defined_in_branches(x, n):
    k, s = int(n), x.sum()
    if s > 0:
        k = k + 1

        def read():
            return k

        s = s + read()
    elif s > -5:
        k = k + 10
    else:
        k = k + 20

        def read():
            return k * 2

        s = s + read()
    return k, s


def defined_in_a_loop(x, n):
    k, s = int(n), x.sum()
    while s < 10:
        k = k + 2

        def read():
            return k + 1

        s = s + read()
        k = k + 1
    return k, s


def changed_in_a_branch_in_a_loop(x, n):
    k, s = int(n), x.sum()

    def increment():
        nonlocal k
        k += 1

    for value in x:
        if value > 0:
            k = k * 2
        else:
            increment()
        s = s + k
    return k, s


def in_a_dictionary(x, n):
    k, s = n * 1, x.sum()
    functions = {"read": lambda: k}
    if s > 0:
        k = k + 1
    else:
        s = s + functions["read"]()
    return k, s, functions["read"]()


def in_a_partial(x, n):
    k, s = int(n), x.sum()

    def shifted(by):
        return k + by

    three_more = functools.partial(shifted, 3)
    if s > 0:
        k = k + 1
    else:
        s = s + three_more()
    return k, s, three_more()


def in_a_method(x, n):
    k, s = int(n), x.sum()

    class Reader:
        def read(self):
            return k

    reader = Reader()
    if s > 0:
        k = k + 1
    else:
        s = s + reader.read()
    return k, s, reader.read()


PROGRAMS = [
    read_in_the_other_branch, changed_in_the_other_branch, two_levels, raises_in_the_other_branch, defined_in_branches,
    defined_in_a_loop, changed_in_a_branch_in_a_loop, in_a_dictionary, in_a_partial, in_a_method,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_as_eager(program):
    calls = [(torch.full((3,), value), torch.tensor(n)) for value in (1.0, -1.0, -3.0) for n in (3, 4)]
    assert_same(program, *calls)
