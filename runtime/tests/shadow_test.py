"""Shadow mode: eager Python runs beside the graph, and differences are errors."""

import collections
import os
import random
import subprocess
import sys
import threading
import warnings

import autograph as ag
import numpy
import pytest
import torch
from autograph.capture.staging import current
from oracle import t

counter = 0
tensor = torch.ones(2)


def line_of(error):
    """Returns the text of the line that an error names."""
    return str(error).splitlines()[2].strip()


def assert_reported(message, line, function, *args):
    """Asserts that a call raises an error with this message at this line."""
    with pytest.raises(ag.VerificationError, match=message) as caught:
        function(*args)
    assert line_of(caught.value) == line


class Defect:
    """Simulates a defect of the runtime: it behaves differently while a function is traced."""

    def __init__(self, eager, traced):
        self.values = eager, traced

    def __call__(self, *args):
        return self.values[current() is not None](*args)


def defect(eager, traced):
    return ag.do_not_convert(Defect(eager, traced))


def test_the_state_is_changed_once():
    class Model(torch.nn.Module):
        calls = 0

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.norm = torch.nn.BatchNorm1d(2)
            self.history = []

        def forward(self, x, seen):
            global counter
            counter += 1
            Model.calls += 1
            self.history.append(counter)
            seen["x"] = x
            if x.sum() > 0:
                x = self.layer(x)
            return self.norm(x)

    model, seen, before = Model(), {}, counter
    before_of_weight = model.layer.weight.detach().clone()
    call = ag.function(model, verify=True)
    with torch.no_grad():
        for number in (1, 2):
            x = torch.randn(3, 2)
            call(x, seen)
            assert seen["x"] is x and int(model.norm.num_batches_tracked) == number
    assert counter == before + 2 and Model.calls == 2 and model.history == [before + 1, before + 2]
    assert torch.equal(model.layer.weight, before_of_weight)


def test_closures_iterators_and_aliases_are_copied():
    shared = [t(1.0)]
    state = {"a": shared, "b": shared}
    queue = collections.deque([1, 2, 3])
    numbers = iter([1, 2, 3])

    @ag.function(verify=True)
    def f(x):
        state["a"].append(x)
        return x * len(state["b"]) + queue.popleft() + next(numbers)

    assert f(t(1.0)).item() == 4
    assert state["a"] is state["b"] is shared and len(shared) == 2
    assert list(queue) == [2, 3] and next(numbers) == 2


def test_tensors_that_share_memory():
    rows = torch.zeros(3, 2)
    first = rows[0]

    def f(x):
        first.add_(x)
        return rows.sum()

    # Staging rejects this code, although eager Python can run it. No state has changed.
    with pytest.raises(ag.StagingError, match="shares memory"):
        ag.function(f, verify=True)(t(1, 1))
    assert rows.sum() == 0


def test_random_numbers_and_output_are_those_of_one_run(capsys):
    @ag.function(verify=True)
    def f(x):
        print("sum", x.sum())
        return torch.nn.functional.dropout(x) + torch.randn(2)

    torch.manual_seed(0)
    found = f(t(1, 2)), torch.rand(2), random.random()
    assert capsys.readouterr().out == "sum tensor(3.)\n"
    torch.manual_seed(0)
    torch.testing.assert_close(found[0], f.python_function(t(1, 2)))
    assert torch.equal(found[1], torch.rand(2))


def test_values():
    double = defect(lambda x: x * 2, lambda x: x * 3)

    @ag.function(verify=True)
    def f(x):
        y = double(x)
        return {"y": [x, y]}

    assert_reported(r"result\['y'\]\[1\]: \[3.0, 6.0\] instead of \[2.0, 4.0\]", 'return {"y": [x, y]}', f, t(1, 2))
    kind = defect(lambda x: x.double(), lambda x: x + 0)
    with pytest.raises(ag.VerificationError, match="dtype torch.float32 instead of torch.float64"):
        ag.function(lambda x: kind(x), verify=True)(t(1.0))


def test_gradients():
    square = defect(lambda x: x * x, lambda x: x.detach() * x)

    @ag.function(verify=True)
    def f(x):
        return square(x)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert_reported("the gradient of the result", "return square(x)", f, x)
    assert x.grad is None


def test_gradients_by_tensors_that_are_computed_from_each_other():
    @ag.function(verify=True)
    def f(a, b, c):
        b *= a
        return (a * b * c).sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f(x, x * 3, (x * 3).sin()).backward()
    expected = torch.autograd.functional.jacobian(lambda x: (x * x * 3 * x * (x * 3).sin()).sum(), x)
    torch.testing.assert_close(x.grad, expected)


def test_attributes():
    step = defect(lambda: 1, lambda: 2)

    class Box:
        count = 0

    box = Box()

    @ag.function(verify=True)
    def f(x):
        y = x + 1
        box.count += step()
        return y

    assert_reported("`box`.count: 2 instead of 1", "box.count += step()", f, t(1.0))


def test_parameters_and_buffers():
    rate = defect(lambda: 0.5, lambda: 0.25)
    layer = torch.nn.Linear(2, 1)

    @ag.function(verify=True)
    def f(x):
        with torch.no_grad():
            layer.weight.mul_(rate())
        return x

    assert_reported(r"`layer`._parameters\['weight'\]", "layer.weight.mul_(rate())", f, t(1, 2))


def test_printed_output(capsys):
    name = defect(lambda: "a", lambda: "b")

    @ag.function(verify=True)
    def f(x):
        print("first", x.sum())
        print(name())
        return x

    assert_reported("the printed output", "print(name())", f, t(1.0))


def test_random_state():
    draw = defect(lambda: random.random(), lambda: 0.5)

    @ag.function(verify=True)
    def f(x):
        draw()
        return x

    assert_reported("`random` drew other numbers", "return x", f, t(1.0))


def test_exceptions():
    check = defect(lambda: int("x"), lambda: 0)

    @ag.function(verify=True)
    def f(x):
        check()
        return x

    with pytest.raises(ag.VerificationError, match="eager Python raised ValueError"):
        f(t(1.0))

    @ag.function(verify=True)
    def g(x):
        if x.sum() > 0:
            raise ValueError("positive")
        return x

    with pytest.raises(ValueError, match="positive"):
        g(t(1.0))


def test_which_object_is_returned():
    same = defect(lambda x: x.clone(), lambda x: x)
    with pytest.raises(ag.VerificationError, match="one object in two places"):
        ag.function(lambda x: same(x), verify=True)(t(1.0))


def test_objects_that_cannot_be_copied_cause_one_warning():
    lock = threading.Lock()
    numbers = (n for n in (1, 2, 3))

    @ag.function(verify=True)
    def locked(x):
        with lock:
            return x + 1

    @ag.function(verify=True)
    def holding(x, numbers):
        return x + 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        locked(t(1.0)), locked(t(2.0))
        assert holding(t(1.0), numbers).item() == 2
    messages = [str(warning.message) for warning in caught]
    assert sum("`locked` is verified, but a `_thread.lock` cannot be copied" in m for m in messages) == 1
    assert sum("calls of `holding` are not verified: a `generator`" in m for m in messages) == 1


def test_hooks_run_once():
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(seen.append)
    ag.function(lambda x: (x * x).sum(), verify=True)(x).backward()
    assert len(seen) == 1


def test_arrays_and_generators():
    array, generator = numpy.zeros(2), torch.Generator().manual_seed(0)
    state = generator.get_state()

    @ag.function(verify=True)
    def f(x):
        return x + float(array.sum())

    f(t(1.0))
    assert torch.equal(generator.get_state(), state)


def test_the_environment_switches_it_on():
    code = "import autograph as ag; print(*(type(ag.function(abs, verify=v)).__name__ for v in (None, False)))"
    for value, expected in (("1", "VerifiedFunction Function"), ("0", "Function Function")):
        environment = {**os.environ, "AUTOGRAPH_VERIFY": value}
        found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert found.stdout.strip() == expected, found.stderr


def test_methods_of_containers_as_values():
    seen = []
    observers = [seen.append]

    @ag.function(verify=True)
    def f(x):
        for observer in observers:
            observer(x.sum())
        return x + len(seen)

    assert [f(t(1.0)).item() for _ in range(3)] == [2, 3, 4]


def test_objects_of_a_class_with_its_own_new():
    class Meter:
        registry = {}

        def __new__(cls, name):
            if name not in cls.registry:
                cls.registry[name] = super().__new__(cls)
                cls.registry[name].values = []
            return cls.registry[name]

    @ag.function(verify=True)
    def f(x):
        meter = Meter("loss")
        meter.values = [*meter.values, x.sum().item()]
        return len(meter.values)

    assert [f(t(k, 1)) for k in range(3)] == [1, 2, 3]
