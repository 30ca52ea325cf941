"""Derivatives and hooks that users write. If one changes Python state or needs the data of a tensor, the graph calls it in
Python."""

import pytest
import torch
from oracle import refusal, t

import autograph as ag

NORMS = []


def _note(gradient):
    NORMS.append(gradient.norm())


class Noted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        _note(gradient)
        return gradient.reshape(ctx.shape) * 3


class Branching(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scaled = x * scale
        ctx.scale = scale
        return ctx.scaled.exp()

    @staticmethod
    def backward(ctx, gradient):
        if gradient.sum() > 2:
            gradient = gradient.clamp(max=1)
        return gradient * ctx.scaled.exp() * ctx.scale, None


def gradients(function, xs):
    """Returns the gradients of consecutive calls, and the norms that `_note` recorded."""
    NORMS.clear()
    found = []
    for x in xs:
        x = x.clone().requires_grad_()
        function(x).backward()
        found.append(x.grad)
    return found, list(NORMS)


def assert_same_gradients(function, *xs):
    """Asserts that gradients and recorded norms equal those of eager torch, whichever of the calls is traced."""
    for first in range(len(xs)):
        calls = [*xs[first:], *xs[:first]]
        torch.testing.assert_close(gradients(ag.function(function), calls), gradients(function, calls))


def test_a_backward_with_an_effect():
    assert_same_gradients(lambda x: (Noted.apply(x) * x).sum(), t(1, 2), t(3, 4), t(-1, 0))


def test_a_backward_with_an_effect_inside_of_the_function():
    def f(x):
        (gradient,) = torch.autograd.grad((Noted.apply(x) * x).sum(), x)
        return (gradient * x).sum()

    NORMS.clear()
    staged = ag.function(f)
    for _ in range(3):
        staged(t(1, 2).requires_grad_())
    assert len(NORMS) == 3 and all(type(norm) is torch.Tensor for norm in NORMS)


def test_a_backward_with_a_condition_and_tensors_in_the_context():
    assert_same_gradients(lambda x: (Branching.apply(x, 0.5) * x).sum(), t(1, 2), t(3, 4), t(-1, 0))


def test_hooks_of_computed_tensors():
    def clamped(x):
        y = x * 3
        y.register_hook(lambda gradient: gradient.clamp(-1, 1))
        return (y * y).sum() + y.exp().sum()

    def noted(x):
        y = x.exp()
        y.register_hook(_note)
        if x.sum() > 0:
            y = y * 2
        return (y * x).sum()

    for function in (clamped, noted):
        assert_same_gradients(function, t(0.1, -2), t(3, 4), t(-1, 0))


def test_hooks_that_are_refused():
    def late(x):
        y = x * 3
        z = y * 2
        y.register_hook(_note)
        return z

    assert "registered after its tensor was used" in refusal(late, t(1).requires_grad_())
    assert "outside of the function" in refusal(lambda x: x.register_hook(_note), t(1).requires_grad_())


def test_retained_gradients():
    def f(x):
        y = x.exp()
        y.retain_grad()
        z = y * x
        z.retain_grad()
        total = z * 2 if x.sum() > 0 else z
        (total.sum() + y.sum()).backward()
        return y.grad, z.grad, x.grad

    found, expected = ([stage(f)(x.requires_grad_()) for x in (t(1, 2), t(-1, 0))] for stage in (ag.function, lambda f: f))
    torch.testing.assert_close(found, expected)

    def chosen(x):
        z = x.exp()
        z.retain_grad()
        if x.sum() > 0:
            z = z * 2
        z.sum().backward()
        return z.grad

    assert "retains its gradient" in refusal(chosen, t(1).requires_grad_())

    def returned(x):
        y = x.exp()
        y.retain_grad()
        return y

    assert "`retain_grad`" in refusal(returned, t(1).requires_grad_())


class Selected(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(table, index):
        return table[index]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx, gradient):
        return torch.zeros(3).index_put((ctx.saved_tensors[0],), gradient), None


def test_a_function_of_integers_inside_vmap():
    def mask(index, weight):
        return torch.vmap(lambda i: Selected.apply(torch.tensor([True, False, True]), i))(index) * weight

    staged, weight = ag.function(mask), t(2).requires_grad_()
    result = staged(torch.tensor([2, 1]), weight)
    result.sum().backward()
    assert result.tolist() == [2, 0] and weight.grad.item() == 1


def test_a_function_with_a_derivative_inside_vmap_is_refused():
    def f(table, index):
        return torch.vmap(lambda i: Selected.apply(table, i))(index)

    message = refusal(f, t(1, 2, 3).requires_grad_(), torch.tensor([2, 1]))
    assert "`Selected` cannot be staged in a transform" in message and "help: use operations of torch" in message


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, options):
        ctx.factor = factor
        ctx.options = {"shift": options[0], "signs": (x.sign(), 2)}
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor + ctx.options["shift"] * ctx.options["signs"][0] * ctx.options["signs"][1], None, None


def test_numbers_of_the_graph_and_containers_in_a_context():
    def program(stage):
        weight = t(1, -2).requires_grad_()

        @stage
        def f(x, n):
            (Scaled.apply(weight * x, n.item() * 2, [int(n)]) * x).sum().backward()
            return n + 1

        found = []
        for n in (1.0, 2.0, 3.0):
            weight.grad = None
            found += [f(t(3, 4), torch.tensor(n)), weight.grad]
        return found

    torch.testing.assert_close(program(ag.function), program(lambda f: f))


def test_each_backward_of_a_call_reaches_leaves_of_its_own():
    def trained(stage):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        @stage
        def step(x, penalized):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            first = [p.grad for p in model.parameters()]
            if penalized:  # the gradient of the model does not depend on its last bias
                x = x.detach().requires_grad_()
                (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
                optimizer.zero_grad()
                gradient.square().sum().backward()
                optimizer.step()
            return first, [p.grad for p in model.parameters()]

        return [step(torch.randn(4, 2).double(), n != 1) for n in range(3)], list(model.parameters())

    (found, parameters), (expected, wanted) = trained(ag.function), trained(lambda f: f)
    torch.testing.assert_close(parameters, wanted)
    for gradients, others in zip(found, expected):
        for part, other in zip(gradients, others):
            assert [g is None for g in part] == [g is None for g in other]
            torch.testing.assert_close([g for g in part if g is not None], [g for g in other if g is not None])


class Hooked:
    """Parameters whose hooks append their names to `order`."""

    def __init__(self):
        torch.manual_seed(0)
        self.order, self.net = [], torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        for name, size in {"a": (3,), "b": (3,), "c": (3,), "w": (3, 3)}.items():
            setattr(self, name, torch.nn.Parameter(torch.randn(size)))
        named = [*self.net.named_parameters(), *((n, p) for n, p in vars(self).items() if isinstance(p, torch.nn.Parameter))]
        for name, parameter in named:
            parameter.register_hook(lambda gradient, name=name: self.order.append(name))


def products(h, x):
    (h.b * h.c * h.a).sum().backward()


def shared_weight(h, x):
    linear = torch.nn.functional.linear
    linear(linear(x, h.w, h.a), h.w, h.b).sum().backward()


def whole_network(h, x):
    (h.net(x) * h.a.sum() + (h.a * h.net[0].bias).sum()).sum().backward()


def two_passes(h, x):
    (h.a + h.b + h.c.exp()).sum().backward()
    (h.c * h.b).sum().backward()


def stacked(h, x):
    torch.stack([h.c, h.a, h.b]).sum().backward()


def recurrent(h, x):
    for _ in range(3):
        x = torch.tanh(x @ h.w + h.a) * h.b
    x.sum().backward()


def requested_in_another_order(h, x):
    torch.autograd.grad((h.a * h.b.exp() * h.c).sum(), [h.c, h.b, h.a])


@pytest.mark.parametrize(
    "function", [products, shared_weight, whole_network, two_passes, stacked, recurrent, requested_in_another_order]
)
def test_hooks_run_in_the_order_of_autograd(function):
    orders = []
    for stage in (lambda f: f, ag.function):
        hooked = Hooked()
        stage(function)(hooked, torch.ones(2, 3))
        orders.append(hooked.order)
    assert orders[0] == orders[1]
