"""The transforms of `torch.func` in staged code."""

import pytest
import torch
from torch import func

from oracle import assert_same, t


def powers(x, n):
    """Has a staged loop and a staged branch."""
    for _ in range(n):
        x = x * x.cos()
    return x if x.sum() > 0 else x**2


POINTS = [(t(1.0, 2.0), torch.tensor(3)), (t(-1.0, 0.5), torch.tensor(2))]


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd])
def test_jacobian(transform):
    assert_same(lambda x, n: transform(lambda y: powers(y, n))(x), *POINTS)
    assert_same(lambda x: transform(lambda a, b: (a * b, b.sum()), argnums=(0, 1))(x, x + 1), (t(1, 2),))
    assert_same(lambda x: transform(lambda p: {"out": p["a"] * p["b"]})({"a": x, "b": x + 1}), (t(1, 2),))
    assert_same(lambda x: transform(lambda y: (y**2, y.sum()), has_aux=True)(x), (t(1, 2),))


def test_hessian():
    assert_same(lambda x, n: func.hessian(lambda y: powers(y, n).sum())(x), *POINTS)


def test_vjp():
    def f(x, n):
        value, back = func.vjp(lambda a, b: (powers(a, n), a * b), x, x + 1)
        return value, back((x, x + 2))

    assert_same(f, *POINTS)


def test_jvp():
    assert_same(lambda x, n: func.jvp(lambda a, b: (powers(a, n), a * b), (x, x + 1), (x, x + 2)), *POINTS)


def test_gradient():
    assert_same(lambda x, n: func.grad(lambda a, y: powers(y, n).sum(), argnums=-1)(1, x), *POINTS)
    assert_same(lambda x, n: func.grad_and_value(lambda y: (powers(y, n).sum(), y), has_aux=True)(x), *POINTS)
    assert_same(lambda x: func.grad(lambda y: func.grad(lambda z: (z**3).sum())(y).sum())(x), (t(1, 2),))
