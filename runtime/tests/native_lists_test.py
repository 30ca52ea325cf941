"""Loops whose number of iterations is not known run natively with the lists that they make, which leave the native program."""

import pytest
import torch

import autograph as ag
from native_test import native_listing
from oracle import assert_equal, assert_same, t


def stacked(x, limit):
    found = []
    while x.norm() < limit:
        x = torch.tanh(x) * 2 + 0.5 * x
        found.append(x)
    return torch.stack(found)


def two_lists(x, n):
    rows, numbers, i = [], [x[0] * 0], 0
    while i < n:
        rows.append(x[i] * i + 1)
        if x[i].sum() > 0:
            numbers.append(x[i] - 1)
        i += 1
    return torch.stack(rows), torch.cat(numbers), rows[0], len(numbers)


def nested(x, n):
    found, i = [], 0
    while i < n:
        inner, k = [], 0
        while k <= i:
            inner.append(x[k].sum() * 2 + i)
            k += 1
        found.append(torch.stack(inner).sum())
        i += 1
    return torch.stack(found)


def popped(x, n):
    found, i = [], 0
    while i < n:
        found.append(x[i] * 2 + 1)
        i += 1
    last = found.pop()
    found.append(last * 3)
    return torch.stack(found), found[0] + 1, torch.stack(found[1:])


MATRIX = torch.arange(12.0).reshape(4, 3) - 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_lists_of_all_dtypes(dtype):
    def program(x, n):
        found, i = [], 0
        while i < n:
            found.append((x[i] * 2 + i).to(dtype))
            i += 1
        return torch.stack(found)

    assert_same(program, (MATRIX, torch.tensor(3)), (MATRIX, torch.tensor(1)))


@pytest.mark.parametrize("program", [two_lists, nested, popped])
def test_lists_that_leave(program):
    assert_same(program, (MATRIX, torch.tensor(4)), (MATRIX, torch.tensor(2)))


def test_the_loop_is_native():
    staged, x, limit = ag.function(stacked), t(0.1, -0.2), torch.tensor(5.0)
    assert_equal(staged(x, limit), stacked(x, limit))
    assert " 0  native" in native_listing(staged, x, limit)


def test_a_list_whose_items_are_missing():
    def program(x, n, all_rows):
        found, i = [None] * 3, 0
        while i < n:
            found[i] = x[i] * 2 + 1
            i += 1
        return torch.stack(found) if all_rows else found[0] + 1

    assert_same(program, (MATRIX, torch.tensor(3), True), (MATRIX, torch.tensor(2), False))


def test_items_have_memory_of_their_own():
    staged = ag.function(lambda x, n: [*two_lists(x, n)])
    rows, *_, first, _ = staged(MATRIX, torch.tensor(3))
    before = rows.clone()
    first.add_(100)
    assert_equal(rows, before)


def test_gradients():
    def program(x, w, limit):
        found = []
        while x.norm() < limit:
            x = torch.tanh(x @ w) * 2 + 0.5 * x
            found.append(x)
        return torch.stack(found).pow(2).sum()

    found = []
    for function in (ag.function(program), program):
        x, w = t(0.3, -0.2).requires_grad_(), torch.eye(2).requires_grad_()
        found.append(torch.autograd.grad(function(x, w, torch.tensor(4.0)), (x, w)))
    torch.testing.assert_close(*found)
