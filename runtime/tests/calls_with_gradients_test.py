"""Calls whose gradient is wanted are nodes of torch's autograd. Each test runs the same use of autograd with an eager and a
staged function, first with new and then with cached calls, and compares the outcomes: the tensors, or the exception."""

import gc
import resource
import threading
import weakref

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

import autograph as ag
from oracle import assert_equal


def product(x, y):
    """The backward graph reads both inputs."""
    return torch.tanh(x) * y


def total(x, y):
    """The backward graph reads nothing."""
    return x - y


def several(x, y):
    """Two outputs with gradients, one without a gradient, and an integer."""
    return x * y, torch.sin(y), x.detach() + 1, (x > 0).sum()


def identity(x, y):
    """The outputs are a view of an input, and values that an operator may return unchanged."""
    return x.view(2, 2), x.to(torch.float32), (y * 1).contiguous()


FUNCTIONS = [product, total, several, identity]


def leaves():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(4, generator=generator).requires_grad_() for _ in range(2)]


def outcome(use, function):
    """Returns what `use` returns for a function, or the class of the exception that it raises."""
    try:
        return use(function, *leaves())
    except RuntimeError as error:
        return RuntimeError, "modified" in str(error) or "changed in place" in str(error), "second time" in str(error)


def agree(use, function):
    """Asserts that the eager and the staged function have the same outcome. Returns that of the eager function."""
    staged, expected = ag.function(function), outcome(use, function)
    for _ in range(4):
        assert_equal(outcome(use, staged), expected)
    return expected


def outputs(function, *inputs):
    found = function(*inputs)
    return found if isinstance(found, tuple) else (found,)


def with_history(found):
    return [output for output in found if output.requires_grad]


def summed(found):
    return sum((output * output).sum() for output in with_history(found))


def backward(function, x, y):
    found = outputs(function, x, y)
    summed(found).backward()
    return [(output, output.requires_grad, output.is_leaf) for output in found], x.grad, y.grad


def with_one_gradient(function, x, y):
    found = outputs(function, x.detach(), y)
    return [(output, output.requires_grad) for output in found], torch.autograd.grad(summed(found), y)


def of_one_output(function, x, y):
    """The other outputs have undefined gradients. Returns None for an input on which the output does not depend."""
    found = with_history(outputs(function, x, y))
    return [torch.autograd.grad(output.sum(), (x, y), retain_graph=True, allow_unused=True) for output in found]


def second_derivative(function, x, y):
    first = torch.autograd.grad(summed(outputs(function, x, y)), (x, y), create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), (x, y))
    return [g.detach() for g in first], second


def second_derivative_of_one_output(function, x, y):
    first = with_history(outputs(function, x, y))[0]
    (gradient,) = torch.autograd.grad((first * first).sum(), x, create_graph=True)
    return torch.autograd.grad((gradient * gradient).sum(), (x, y), allow_unused=True)


def twice_with_retained_buffers(function, x, y):
    loss = summed(outputs(function, x, y))
    loss.backward(retain_graph=True)
    loss.backward()
    return x.grad, y.grad


def after_released_buffers(function, x, y):
    found = with_history(outputs(function, x, y))
    for _ in range(2):
        sum(output.sum() for output in found).backward()
    return x.grad, y.grad


def after_a_changed_input(function, x, y):
    a, b = x * 1, y * 1
    loss = summed(outputs(function, a, b))
    a.data.add_(1)  # is not counted
    b.add_(1)
    loss.backward()
    return x.grad, y.grad


def after_a_changed_output(function, x, y):
    found = with_history(outputs(function, x, y))
    changed = [output.mul_(2) if output._base is None else output for output in found]
    sum(output.sum() for output in changed).backward()
    return x.grad, y.grad


def with_hooks(function, x, y):
    seen = []
    output = with_history(outputs(function, x, y))[0]
    x.register_hook(lambda g: seen.append(g.clone()))
    output.register_hook(lambda g: g * 2)
    output.grad_fn.register_prehook(lambda gradients: (gradients[0] + 1, *gradients[1:]))
    output.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(outputs)))
    output.retain_grad()
    output.sum().backward()
    return output.grad, x.grad, y.grad, len(seen)


def with_anomaly_mode(function, x, y):
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        return backward(function, x, y)


def without_gradients(function, x, y):
    with torch.no_grad():
        return outputs(function, x, y)


def between_modes(function, x, y):
    without_gradients(function, x, y)
    return backward(function, x, y)


def of_computed_inputs(function, x, y):
    return torch.autograd.grad(summed(outputs(function, torch.exp(x), x * y)), (x, y))


def of_its_own_output(function, x, y):
    for _ in range(3):
        x = with_history(outputs(function, x, y))[0].reshape(4)
    return torch.autograd.grad(x.sum(), y, allow_unused=True)


def in_another_thread(function, x, y):
    loss = summed(outputs(function, x, y))
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    return x.grad, y.grad


def with_packed_tensors(function, x, y):
    """Torch also saves tensors for its own nodes, so the numbers of packed tensors differ."""
    with saved_tensors_hooks(lambda tensor: tensor.numpy(force=True).copy(), torch.from_numpy):
        loss = summed(outputs(function, x, y))
    loss.backward()
    return x.grad, y.grad


def an_input_twice(function, x, y):
    return torch.autograd.grad(summed(outputs(function, x, x)), x)


USES = [
    backward, with_one_gradient, of_one_output, second_derivative, second_derivative_of_one_output,
    twice_with_retained_buffers, after_a_changed_output, with_hooks, with_anomaly_mode, without_gradients, between_modes,
    of_computed_inputs, of_its_own_output, in_another_thread, with_packed_tensors, an_input_twice,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_autograd(use, function):
    agree(use, function)


def test_calls_are_cached():
    """Otherwise, the tests of this file would not run the node without Python."""
    for function in FUNCTIONS:
        staged = ag.function(function)
        for _ in range(3):
            found = outputs(staged, *leaves())
        nodes = [type(output.grad_fn).__name__ for output in found]
        assert staged.cached_call is not None and "StagedCallBackward" in nodes


@pytest.mark.parametrize("function", [product, total], ids=lambda function: function.__name__)
@pytest.mark.parametrize("use", [after_released_buffers, after_a_changed_input], ids=lambda use: use.__name__)
def test_saved_values(use, function):
    expected = agree(use, function)
    assert (expected[0] is RuntimeError) == (function is product)


def test_an_input_changed_in_place_has_no_derivative_of_second_order():
    staged = ag.function(product)
    for _ in range(3):
        x, y = leaves()
        z = x * 1
        loss = staged(z, y).sum()
        z.add_(1)
        with pytest.raises(RuntimeError, match="changed in place|modified"):
            torch.autograd.grad(loss, y, create_graph=True)


def test_an_exception_of_a_hook_reaches_the_caller():
    staged = ag.function(product)
    for _ in range(3):
        output = staged(*leaves())
        output.grad_fn.register_hook(lambda inputs, outputs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            output.sum().backward()


def test_an_exception_of_a_hook_for_saved_tensors_reaches_the_caller():
    class Refused(Exception):
        pass

    def pack(tensor):
        packed.append(tensor)
        raise Refused

    staged = ag.function(product)
    for _ in range(4):
        packed = []
        with saved_tensors_hooks(pack, lambda tensor: tensor), pytest.raises(Refused):
            staged(*leaves())
        assert len(packed) == 1
        staged(*leaves())


def test_checkpoints_of_torch():
    """The second run of a checkpoint ends with an exception of a hook, when all saved tensors have been computed."""

    def checkpointed(function, x, y):
        loss = checkpoint(lambda x, y: torch.exp(function(function(x, y), y)), x, y, use_reentrant=False).sum()
        return torch.autograd.grad(loss, (x, y))

    agree(checkpointed, product)


def test_requires_grad_of_a_parameter_changes():
    model = torch.nn.Linear(4, 4)
    staged, (x, _) = ag.function(lambda x: model(x).square()), leaves()
    for flag in (True, True, True, False, False, False, True):
        model.weight.requires_grad_(flag)
        for function in (lambda x: model(x).square(), staged):
            model.zero_grad()
            x.grad = None
            function(x).sum().backward()
            found = model.weight.grad, model.bias.grad, x.grad
            assert (found[0] is not None) == flag
            if function is not staged:
                expected = found
        assert_equal(found, expected)


def test_a_replaced_parameter():
    model = torch.nn.Linear(4, 4)
    staged, (x, _) = ag.function(model.forward), leaves()
    for _ in range(6):
        model.weight = torch.nn.Parameter(torch.randn(4, 4))
        staged(x).sum().backward()
        expected = torch.autograd.grad(model(x).sum(), model.weight)
        assert_equal((model.weight.grad,), expected)


def test_an_error_of_the_forward_graph_leaves_no_node():
    @ag.function
    def pick(x, index):
        return x[index] * 2

    x, _ = leaves()
    for index in (0, 1, 2, 9, 3):
        position = torch.tensor(index)
        if index < 4:
            (gradient,) = torch.autograd.grad(pick(x, position), x)
            assert gradient[index] == 2 and gradient.sum() == 2
        else:
            with pytest.raises(IndexError):
                pick(x, position)


def test_nothing_outlives_its_references():
    """The function, its node and the inputs refer to each other."""
    model = torch.nn.Linear(4, 4)
    staged, alive = ag.function(model.forward), []
    for _ in range(4):
        x, _ = leaves()
        output = staged(x)
        alive += [weakref.ref(x), weakref.ref(output)]
        output.sum().backward()
    model.kept = output
    alive += [weakref.ref(model), weakref.ref(staged)]
    del model, staged, output, x
    gc.collect()
    assert [reference() for reference in alive] == [None] * len(alive)


def test_the_saved_values_of_a_call_live_as_long_as_its_outputs():
    staged = ag.function(lambda x, y: torch.exp(torch.sin(x) * y).sum())
    x, y = torch.randn(2, 1_000_000).requires_grad_().unbind()
    for _ in range(3):
        staged(x, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for index in range(60):
        output = staged(x, y)
        if index % 2:
            torch.autograd.grad(output, x)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 60 * x.nbytes, f"{grown / x.nbytes:.0f} tensors"


def test_views_without_gradient_require_gradients_as_their_base_does():
    def views(x):
        y = x * 2
        with torch.no_grad():
            return x[0], x.t(), x.view(-1), y[0], y, x.detach()[0], x[0].detach(), y[0] + 1, x * 2

    def rows(x):
        return x[0], x[0] * 1

    def flags(results):
        return [(result.requires_grad, result.is_leaf) for result in results]

    x = torch.ones(2, 2, requires_grad=True)
    for function in (views, rows):
        with torch.set_grad_enabled(function is views):
            assert flags(ag.function(function)(x)) == flags(function(x))
    view, other = ag.function(views)(x)[0], x.detach().clone().requires_grad_()
    (view * 3 + other).sum().backward()  # autograd drops the gradient of such a view
    assert view.grad is None and x.grad is None and other.grad is not None
