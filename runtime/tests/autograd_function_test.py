"""Functions with a derivative that the user has written: `torch.autograd.Function` and `ag.py_function`."""

import functools
import warnings

import pytest
import torch
import torch.utils.checkpoint

import autograph as ag
from oracle import assert_equal, assert_same, refusal, t


class Clipped(torch.autograd.Function):
    """Doubles its first argument. Its declared gradient differs from its derivative."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient.clamp(-1, 1) * x * ctx.k, None


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.round(), x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient


def test_autograd_function():
    """The gradient is computed outside of the graph, in the graph, and in a loop of the graph."""

    def f(x, n):
        for i in range(n):
            x = Clipped.apply(x, 3.0) + Straight.apply(x)[0]
        return x

    def inside(x):
        return torch.autograd.grad(Clipped.apply(x, 2.0).sum(), x)[0]

    gradients = []
    for run in (f, ag.function(f)):
        x = torch.tensor([0.3, -1.7], requires_grad=True)
        run(x, 2 if run is f else torch.tensor(2)).sum().backward()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[1], gradients[0])
    x = torch.tensor([0.3, -1.7], requires_grad=True)
    torch.testing.assert_close(ag.function(inside)(x).detach(), inside(x))


class Parts(torch.autograd.Function):
    """Has two results of different shapes, so that mixed-up gradients have the wrong shapes."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x.sum()

    @staticmethod
    def backward(ctx, gradient, of_sum):
        return gradient * 2 + of_sum.sum()


def parts_of_a_function(x):
    return Parts.apply(x)


def parts_in_python(x):
    return ag.py_function(lambda x: (x * 2, x.sum(), (x * x)[None]), [x], ["f32[3]", "f32[]", "f32[1,3]"])


@pytest.mark.parametrize("parts", [parts_of_a_function, parts_in_python])
@pytest.mark.parametrize("used", [[0], [1], [0, 1]])
def test_results_of_different_shapes(parts, used):
    def f(x):
        results = parts(x)
        return torch.autograd.grad(sum((results[i] * results[i]).sum() for i in used), x)

    assert_same(f, (torch.randn(3, requires_grad=True),))


@pytest.mark.parametrize("verify", [False, True])
def test_functions_bound_before_the_trace_keep_their_derivative(verify):
    bound = Clipped.apply

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.function = Clipped.apply

        def forward(self, x):
            return bound(x, 2) + self.function(x, 3) * sum(map(bound, [x], [5])) + functools.partial(bound, x)(7)

    layer, found = Layer(), []
    for run in (layer, ag.function(layer.forward, verify=verify)):
        x = t([1.5, -2.25]).requires_grad_()
        run(x).sum().backward()
        found.append(x.grad)
    assert_equal(*found)


def test_a_bound_function_called_by_code_that_is_not_converted_is_refused():
    bound = Clipped.apply

    def f(x):
        return torch.utils.checkpoint.checkpoint(bound, x, 2, use_reentrant=False)

    assert "was read before the trace" in refusal(f, t([1.5]))


class Halved(torch.autograd.Function):
    """Halves its argument until it is small: the number of iterations depends on the data."""

    @staticmethod
    def forward(ctx, x, limit):
        n = 0
        while x.abs().max() > limit:
            x = x / 2
            n += 1
        ctx.n = n
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (ctx.n + 1), None


def test_forward_with_conditions_on_data():
    """`forward` is converted like the functions that call it, so its loop is part of the graph."""

    def f(x):
        x = x.detach().requires_grad_()
        y = Halved.apply(x, 1.0)
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        staged = assert_same(f, (t(3, 1, 2),), (t(9, 1, 2),), (t(0, 1, 0),))
    assert sum(map(len, staged._traces.values())) == 1


def test_decision_after_a_gradient_of_a_custom_function():
    """`int(...)` needs a number while tracing. The graph that computes the number contains the derivative of the
    user."""

    def f(x):
        x = x.clone().requires_grad_()
        gradient = torch.autograd.grad(Clipped.apply(x, 3.0).sum(), x)[0]
        return f"{int(gradient.sum())}".zfill(3)

    staged = ag.function(f)
    assert staged(t(1, 2)) == f(t(1, 2)) == "009"


def test_a_dirty_argument_is_the_result():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 20

    def double(x):
        y = x * 1
        z = Double.apply(y)
        return y, z, y is z

    for function in (double, ag.function(double)):
        for _ in range(3):
            x = torch.ones(2, requires_grad=True)
            y, z, same = function(x)
            assert same and y is z
            y.sum().backward()
            torch.testing.assert_close((y.detach(), x.grad), (torch.full((2,), 2.0), torch.full((2,), 20.0)))


def test_results_that_are_not_tensors():
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return "name", x * 2, None, x * 3

        @staticmethod
        def backward(ctx, name, one, nothing, two):
            assert name is None and nothing is None
            return 2 * one + 3 * two

    split = ag.function(lambda x: Split.apply(x))
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        name, one, nothing, two = split(x)
        assert name == "name" and nothing is None
        (one + 10 * two).sum().backward()
        torch.testing.assert_close(x.grad, torch.full((2,), 32.0))


def test_backward_returns_too_few_gradients():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    product = ag.function(lambda x: Product.apply(x, 2.0))
    for _ in range(3):
        result = product(torch.ones(2, requires_grad=True))
        with pytest.raises(RuntimeError, match="incorrect number of gradients .expected 2, got 1."):
            result.sum().backward()


FACTOR = torch.full((2,), 2.0, requires_grad=True)


class ReadsTheFactor(torch.autograd.Function):
    """Its `backward` reads a tensor from outside: the graph calls it in Python."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.x = x
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.x.detach().requires_grad_()
            return torch.autograd.grad(x * FACTOR, [x, FACTOR], gradient)


def test_a_backward_that_reads_a_tensor_from_outside():
    def f(x):
        return torch.autograd.grad(ReadsTheFactor.apply(x, FACTOR).pow(2).sum(), [x, FACTOR])

    def trained(x):
        factor, losses = FACTOR, []
        for _ in range(2):
            loss = ReadsTheFactor.apply(x, factor).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                factor.sub_(0.1 * factor.grad)
            factor.grad = None
            losses.append(loss.detach())
        return losses, factor.detach().clone()

    inputs = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([-3.0, 0.5], requires_grad=True)]
    staged = ag.function(f)
    for x in inputs:
        torch.testing.assert_close(staged(x), f(x))
    assert staged.traces and not staged.fallbacks
    results = []
    for function in (trained, ag.function(trained)):
        with torch.no_grad():
            FACTOR.fill_(2.0)
        results.append([function(x.detach()) for x in inputs + inputs])
    torch.testing.assert_close(*results)
