"""Python state, parameters and buffers: changed when a run is over, and only then."""

import pytest
import torch

import autograph as ag
from oracle import t


def test_attribute_of_self():
    class Model:
        def __init__(self):
            self.steps = 0
            self.memory = torch.zeros(2)
            self.history = []

        @ag.function
        def step(self, x):
            self.steps += 1
            self.memory = self.memory * 0.5 + x
            self.history.append(x.sum())
            if self.memory.sum() > 4:
                self.steps += 10
            return self.memory * self.steps

    class Eager(Model):
        step = Model.step.python_function

    staged, eager = Model(), Eager()
    for k in range(5):
        torch.testing.assert_close(staged.step(t(1, k)), eager.step(t(1, k)))
        assert staged.steps == eager.steps and type(staged.steps) is int
        torch.testing.assert_close(staged.memory, eager.memory)
        torch.testing.assert_close(staged.history, eager.history)
    assert sum(map(len, Model.step._traces.values())) <= 3


def test_global_and_nonlocal():
    count = 0

    @ag.function
    def f(x):
        nonlocal count
        count += 1
        return x + count

    for k in (1, 2, 3, 4):
        assert f(t(0)).item() == k and count == k


def test_argument_in_place():
    @ag.function
    def f(x, y):
        x += 1
        y[0] = x[0] * 2
        return x

    x, y = t(1, 2), t(0, 0)
    assert f(x, y) is x
    assert x.tolist() == [2, 3] and y.tolist() == [4, 0]


def test_buffers_of_a_module():
    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x):
            if x.sum() > 0:
                x = self.norm(x)
            return self.linear(x)

    torch.manual_seed(0)
    eager = Norm()
    torch.manual_seed(0)
    module = Norm()
    staged = ag.function(module)
    for x in (torch.randn(5, 3) + 3, torch.randn(5, 3) - 3, torch.randn(5, 3) + 1):
        torch.testing.assert_close(staged(x), eager(x))
        torch.testing.assert_close(dict(module.named_buffers()), dict(eager.named_buffers()))


def test_nothing_changes_when_a_run_fails():
    class Box:
        value = 0

    box, x = Box(), t(1, 2)
    box.value = 1

    @ag.function
    def f(x, bad):
        box.value += 1
        x += 1
        if bad.sum() > 0:
            raise ValueError("bad")
        return x

    with pytest.raises(ValueError, match="bad"):
        f(x, t(1))
    assert box.value == 1 and x.tolist() == [1, 2]
    f(x, t(-1))
    assert box.value == 2 and x.tolist() == [2, 3]


def test_nothing_changes_when_staging_fails():
    class Box:
        value = 0

    box = Box()
    box.value = 1

    @ag.function
    def f(x):
        box.value = x.sum()
        return x.numpy()

    with pytest.raises(ag.StagingError):
        f(t(1))
    assert box.value == 1


def test_inputs_that_share_memory():
    """A change of one would be seen in the other."""

    @ag.function
    def f(x, y):
        x += 1
        return x + y

    x = torch.zeros(4)
    with pytest.raises(ag.StagingError, match="`f` changes `x` in place, which shares memory with `y`"):
        f(x[:2], x[1:3])
    torch.testing.assert_close(f(x[:2], x[2:]), torch.ones(2))
    torch.testing.assert_close(x, t(1, 1, 0, 0))
