"""Backward hooks of modules: `register_full_backward_hook` and `register_full_backward_pre_hook`."""

import warnings

import pytest
import torch
from torch import nn

import autograph as ag
from oracle import assert_equal, refusal, t


class Pair(nn.Module):
    """Has two inputs and two outputs. The second output, an index, has no gradient."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x, index):
        y = self.layer(x)
        return y * index, y.argmax(-1)


def note(seen, name):
    def hook(module, inputs, outputs):
        seen.append((name, *[[None if g is None else g.clone() for g in part] for part in (inputs, outputs)]))

    return hook


def halve(module, inputs, outputs):
    return tuple(None if g is None else g / 2 for g in inputs)


def double(module, outputs):
    return tuple(None if g is None else g * 2 for g in outputs)


def notes(model, seen):
    for name, module in model.named_modules():
        module.register_full_backward_hook(note(seen, name))


def changes(model, seen):
    model[2].register_full_backward_hook(halve)
    model[2].register_full_backward_pre_hook(double)
    model[0].register_full_backward_hook(note(seen, "first"))
    model[2].register_full_backward_hook(note(seen, "third"))


def forward_too(model, seen):
    model[0].register_forward_hook(lambda module, args, result: result * 2)
    model[0].register_full_backward_hook(note(seen, "first"))


def steps(wrap, register, requires_grad):
    """Makes three calls, the last without hooks. Returns what the hooks have recorded, and the results and gradients."""
    torch.manual_seed(0)
    model, seen, found = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), [], []
    register(model, seen)

    @wrap
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach()

    for n in range(3):
        if n == 2:
            for module in model.modules():
                module._backward_hooks.clear()
        x = torch.randn(n + 2, 3, requires_grad=requires_grad)
        found.append((step(x), x.grad, [p.grad.clone() for p in model.parameters()]))
    return seen, found


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("register", [notes, changes, forward_too])
def test_hooks_of_a_model(register, requires_grad):
    expected = steps(lambda f: f, register, requires_grad)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        found = steps(ag.function, register, requires_grad)
    assert_equal(found, expected)
    assert found[0]


def test_inputs_and_outputs_without_gradient():
    results = []
    for wrap in (lambda f: f, ag.function):
        torch.manual_seed(0)
        module, seen = Pair(), []
        module.register_full_backward_hook(note(seen, "pair"))

        def f(x):
            y, index = module(x * 2, torch.tensor([1, 2]))
            (gradient,) = torch.autograd.grad(y.sum(), x)
            return gradient, index

        f = wrap(f)
        results.append(([f(t(1, 2, 3).requires_grad_()) for _ in range(2)], seen))
    assert_equal(*results)


def test_no_gradient():
    module, seen = nn.Linear(2, 2), []
    module.register_full_backward_hook(note(seen, "linear"))
    staged = ag.function(lambda x: module(x))
    with torch.no_grad():
        torch.testing.assert_close(staged(t(1, 2)), module(t(1, 2)))
    assert not seen


def test_old_hooks_are_refused():
    module = nn.Linear(2, 2)
    module.register_backward_hook(lambda *_: None)
    message = refusal(lambda x: module(x), t(1, 2))
    assert "register_backward_hook" in message and "use `register_full_backward_hook`" in message


def test_a_class_with_its_own_call():
    class Counted(nn.Linear):
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return 2 * super().__call__(x)

    def program(wrap):
        torch.manual_seed(0)
        inner, seen = Counted(2, 2), []
        outer = nn.Sequential(inner, nn.Tanh())
        inner.register_forward_hook(lambda *_: seen.append(1))
        found = [wrap(f)(t(1, 2)).detach() for f in (lambda x: inner(x), lambda x: outer(x)) for _ in range(2)]
        return found, inner.calls, seen

    assert_equal(program(ag.function), program(lambda f: f))


def registers(model, optimizer):
    model.register_forward_hook(lambda module, inputs, output: output * 2)


def registers_once(model, optimizer):
    if not model._forward_hooks:
        model.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
        model.register_forward_hook(lambda module, inputs, output: output * 2)


def removes(model, optimizer):
    if model._forward_hooks:
        model.outer_handle.remove()


def registers_on_the_optimizer(model, optimizer):
    optimizer.register_step_post_hook(lambda optimizer, args, kwargs: model.steps.append(len(model.steps)))


@pytest.mark.parametrize("change", [registers, registers_once, removes, registers_on_the_optimizer])
def test_hooks_that_the_function_registers_or_removes(change):
    def run(stage):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        model.steps = []
        model.outer_handle = model.register_forward_hook(lambda module, inputs, output: output - 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)

        @stage
        def step(x):
            loss = model(x).square().sum()
            loss.backward()
            change(model, optimizer)
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        losses = [step(torch.tensor([1.0, k])).item() for k in range(5)]
        return losses, model.steps, len(model._forward_hooks), len(optimizer._optimizer_step_post_hooks)

    found, expected = run(ag.function), run(lambda function: function)
    assert found[0] == pytest.approx(expected[0]) and found[1:] == expected[1:]


@pytest.mark.parametrize("has_reason", [False, True])
def test_hooks_during_a_call(has_reason):
    """The function registers hooks and removes them. If Python has to run the call, the trace leaves no hooks."""
    seen = []

    def run(stage):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2, dtype=torch.float64), torch.nn.ReLU())
        torch.nn.init.ones_(model[0].weight)

        @stage
        def f(x):
            found = {}
            handles = [
                part.register_forward_hook(lambda module, inputs, output, name=name: found.update({name: output.mean()}))
                for name, part in model.named_children()
            ]
            y = model(x)
            if has_reason:
                y.detach().numpy()
            for handle in handles:
                handle.remove()
            return y, found

        results = [f(torch.tensor([1.0, k], dtype=torch.float64)) for k in range(4)]
        seen.append([len(part._forward_hooks) for part in model])
        return results

    torch.manual_seed(0)
    found = run(ag.function)
    torch.manual_seed(0)
    torch.testing.assert_close(found, run(lambda function: function))
    assert seen == [[0, 0], [0, 0]]


@pytest.mark.parametrize("runs_in_python", [False, True])
def test_attributes_and_hooks_of_parts(runs_in_python):
    """The modules have no state before the call. If the trace is abandoned, it leaves none."""

    def run(stage):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        torch.nn.init.ones_(model[0].weight)
        torch.nn.init.ones_(model[0].bias)
        means = []

        def count(module, inputs, output):
            module.calls += 1
            means.append(round(output.mean().item(), 2))

        @stage
        def f(x):
            handles = []
            for part in model.modules():
                if part is not model:
                    part.calls = getattr(part, "calls", 0)
                    handles.append(part.register_forward_hook(count))
            y = model(x)
            if runs_in_python:
                y.detach().numpy()
            for handle in handles:
                handle.remove()
            return y.detach()

        results = [f(torch.tensor([1.0, k])) for k in range(4)]
        return results, means, [part.calls for part in model]

    torch.testing.assert_close(run(ag.function), run(lambda function: function))


def test_hooks_of_modules_that_the_function_creates():
    @ag.function
    def f(x):
        model = torch.nn.ReLU()
        handle = model.register_forward_hook(lambda module, inputs, output: output + 1)
        y = model(x)
        handle.remove()
        model.register_forward_hook(lambda module, inputs, output: output * 2)
        return y * model(x)

    x = torch.tensor([1.0, -2.0])
    for _ in range(3):
        torch.testing.assert_close(f(x), torch.tensor([4.0, 0.0]))
    assert not f.fallbacks
