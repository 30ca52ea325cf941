"""The transforms of `torch.func` in staged code."""

import warnings

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


def cubed(x):
    return (x**3).sum() * x[0]


def values(x):
    return torch.stack([x.prod(), x.sin().sum()])


def pulled(x):
    value, back = func.vjp(values, x)
    return back(torch.ones_like(value))[0]


def inner_batch(x):
    return func.grad(lambda w: func.vmap(lambda y: (y * w).sum() ** 2)(x * torch.ones(3, 1)).sum())(x)


IN_VMAP = {
    "grad": lambda x: func.vmap(func.grad(cubed))(x),
    "value and aux": lambda x: func.vmap(func.grad_and_value(lambda y: (cubed(y), y * 2), has_aux=True))(x),
    "weights of all elements": lambda x: func.vmap(func.grad(lambda w, y: (w * y).sum() ** 2), in_dims=(None, 0))(x[0], x),
    "two arguments": lambda x: func.vmap(func.grad(lambda w, y: (w * y).prod(), argnums=(0, 1)))(x, x + 1),
    "jacobian": lambda x: (func.vmap(func.jacrev(values))(x), func.vmap(func.jacfwd(values), in_dims=1, out_dims=1)(x)),
    "hessian": lambda x: func.vmap(func.hessian(cubed))(x),
    "vjp": lambda x: func.vmap(pulled)(x),
    "jvp": lambda x: func.vmap(lambda y: func.jvp(values, (y,), (y * 2,)))(x),
    "jvp at one point": lambda x: func.vmap(lambda y: func.jvp(values, (x[0],), (y,)))(x),
    "output without the argument": lambda x: func.vmap(lambda y: func.grad(lambda z: y.sum() + z.sum() * 0)(x[0]))(x),
    "two batches": lambda x: func.vmap(func.vmap(func.grad(lambda y: y.square() * y.sin())))(x),
    "two batches of two arguments": lambda x: func.vmap(
        func.vmap(func.grad(lambda a, b: (a * b).sum() ** 2, argnums=(0, 1)), in_dims=(None, 0)), in_dims=(0, None)
    )(x, x + 1),
    "a batch inside": lambda x: func.vmap(inner_batch)(x),
    "gradient of gradients": lambda x: func.grad(lambda w: func.vmap(func.grad(lambda y: (w * y).prod()))(x).sum())(x[0]),
}


@pytest.mark.parametrize("f", IN_VMAP.values(), ids=IN_VMAP)
def test_inside_vmap(f):
    """The second and third calls have other batch sizes."""
    calls = [(torch.randn(n, 3, generator=torch.Generator().manual_seed(n)),) for n in (4, 2, 5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(f, *calls)


def test_gradients_of_samples():
    """The gradients of a module's parameters for each sample, and `backward` through steps of gradient descent."""
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

    def loss(parameters, x, y):
        return (func.functional_call(network, parameters, (x,)) - y).square().mean()

    def samples(x):
        parameters = {name: p.detach() for name, p in network.named_parameters()}
        return func.vmap(func.grad(loss), in_dims=(None, 0, None))(parameters, x, 1.0)

    def adapted(x):
        def task(x):
            parameters = dict(network.named_parameters())
            gradients = func.grad(loss)(parameters, x, 1.0)
            return loss({name: p - 0.1 * gradients[name] for name, p in parameters.items()}, x, 0.0)

        network.zero_grad()
        total = func.vmap(task)(x[:, None]).sum()
        total.backward()
        return total.detach(), [p.grad.clone() for p in network.parameters()]

    calls = [(torch.randn(n, 3, generator=torch.Generator().manual_seed(n)),) for n in (4, 2)]
    assert_same(samples, *calls)
    assert_same(adapted, *calls)


def test_a_number_and_a_sum_inside_vmap():
    """Torch converts the number to the dtype of the sum."""

    def f(x):
        return func.vmap(lambda y: y.sum() * 2.5 + (y.sum() > 0) * 2 + y.sum().long() * 3)(x)

    assert_same(f, (torch.randn(4, 3),), (torch.randn(2, 3),))
