"""Functions exported as TorchScript have the same outcomes in a process with torch alone as in eager Python.

The number of random programs is the environment variable `PROGRAMS` divided by 100, but at least 6: torch.jit keeps all
programs that it has compiled in memory. `FIRST` is the first seed.
"""

import os
import subprocess
import sys

import pytest
import torch

import autograph as ag
import exported
from oracle import assert_equal, t
from random_programs_test import load

COUNT, FIRST = max(6, int(os.environ.get("PROGRAMS", "0")) // 100), int(os.environ.get("FIRST", "0"))


@pytest.mark.parametrize("suite", ["random", "gradients", "state"])
def test_random_programs(suite, tmp_path):
    table = getattr(exported, suite)(tmp_path, range(FIRST, FIRST + COUNT), "torchscript")
    assert not table.differences, "\n\n".join(table.differences[:3])
    assert table.same >= (COUNT // 3 if suite != "state" else 0), table.refusals


def test_benchmark_programs(tmp_path):
    table = exported.workloads(tmp_path, "torchscript", ["w1_rnn", "w5_beam", "w6_lbfgs"])
    assert not table.differences and not table.refusals, table


def test_examples(tmp_path):
    table = exported.examples(tmp_path, "torchscript", ["cart_pole", "maml"])
    assert not table.differences, table.differences
    assert (table.same, dict(table.refusals)) == (3, {})


# The source.


def loop(x, n):
    found = []
    while n > 0:
        found.append(x * n)
        n = n - 1
    return torch.stack(found).sum(0), len(found)


def test_source_is_a_file_that_needs_torch_only(tmp_path):
    ag.export.torchscript(loop, t(1.0, 2.0), torch.tensor(3)).save_source(tmp_path / "loop.py")
    program = "import loop, torch; print(loop.load('loop.pt')(torch.tensor([1.0, 2.0]), torch.tensor(4)))"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "(tensor([10., 20.]), 4)\n", done.stderr


def test_source_has_the_users_lines():
    source = ag.export.torchscript(loop, t(1.0, 2.0), torch.tensor(3)).source
    assert "# torchscript_test.py:" in source and "found.append(x * n)" in source


def test_names_of_files_and_functions_are_not_code(tmp_path):
    text = "def double(x, n):\n    while n > 0:\n        x, n = x * 2, n - 1\n    return x\n"
    function = load(tmp_path / "a\nraise SystemExit\n.py", text).double
    function.__name__ = '"""\nraise SystemExit\n"""'
    exported_function = ag.export.torchscript(function, t(1.0), torch.tensor(2))
    assert "\nraise" not in exported_function.source
    assert_equal(exported_function.module()(t(1.0), torch.tensor(3)), t(8.0))


def test_archive_is_loaded_by_torch(tmp_path):
    ag.export.torchscript(loop, t(1.0, 2.0), torch.tensor(3)).save(tmp_path / "loop.pt")
    assert_equal(torch.jit.load(tmp_path / "loop.pt")(t(1.0, 2.0), torch.tensor(4)), loop(t(1.0, 2.0), torch.tensor(4)))


def test_a_list_is_appended_in_place():
    source = ag.export.torchscript(loop, t(1.0, 2.0), torch.tensor(3)).source
    assert ".append(" in source and ".copy()" not in source


def test_a_list_that_is_read_again_is_copied():
    def program(x, n):
        first = [x]
        while n > 0:
            second = first + []
            second.append(x * n)
            first, kept = second, first
            kept = kept + [x]
            n = n - 1
        return torch.stack(first), len(kept)

    compare(program, (t(1.0), torch.tensor(3)))


def compare(function, *calls):
    """Compares calls of the exported function, which was exported for the first call, with eager calls."""
    module = ag.export.torchscript(function, *calls[0]).module()
    for args in calls:
        assert_equal(module(*args), function(*args))
    return module


def test_random_numbers_that_nothing_uses_are_drawn():
    def program(x, n):
        while n > 0:
            if torch.rand(()) > 2:
                unused = x * 2  # noqa: F841
            x, n = x + torch.rand(2), n - 1
        return x

    module = ag.export.torchscript(program, t(1.0, 2.0), torch.tensor(3)).module()
    for _ in range(3):  # torch.jit compiles the module again after calls
        results = []
        for function in (module, program):
            torch.manual_seed(0)
            results.append(function(t(1.0, 2.0), torch.tensor(3)))
        assert_equal(*results)


# Modules.


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.register_buffer("scale", torch.ones(2))
        self.calls = torch.zeros((), dtype=torch.int64)

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0:
            self.scale.mul_(0.5)
        return self.layer(x) * self.scale


def test_tensors_have_the_names_of_the_module():
    torch.manual_seed(0)
    model = Model()
    module = ag.export.torchscript(model.forward, torch.ones(3)).module()
    assert {name for name, _ in module.named_parameters()} == {"layer_weight", "layer_bias"}
    assert "scale" in dict(module.named_buffers())


def test_writes_to_tensors_of_a_module(tmp_path):
    torch.manual_seed(0)
    model, x = Model(), torch.ones(3)
    ag.export.torchscript(model.forward, x).save(tmp_path / "model.pt")
    module = torch.jit.load(tmp_path / "model.pt")
    for _ in range(3):
        assert_equal(module(x).detach(), model(x).detach())
    assert_equal(module.scale, model.scale)


class Averages:
    def __init__(self):
        self.count, self.mean = 0, torch.zeros(2)

    def add(self, x):
        self.count += 1
        self.mean = self.mean + (x - self.mean) / self.count
        return self.mean * self.count


def test_attributes_that_change():
    staged, eager = Averages(), Averages()
    function = ag.function(staged.add)
    for k in range(3):  # a number is an input of the graph from its second change on
        x = t(1.0, 2.0) * k
        function(x), eager.add(x)
    module = ag.export.torchscript(function, t(0.0, 0.0)).module()
    for k in range(3):
        x = t(3.0, 1.0) * k
        assert_equal(module(x), eager.add(x))
    assert module.count == 6


def test_training_step():
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)]
    models[1].load_state_dict(models[0].state_dict())
    steps = [step_of(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)) for model in models]
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    staged = ag.function(steps[0])
    for _ in range(2):
        assert_equal(staged(x, y), steps[1](x, y))
    module = ag.export.torchscript(staged, x, y).module()
    for _ in range(3):
        assert_equal(module(x, y), steps[1](x, y))


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


# Numbers.


def test_numbers_have_the_results_of_python():
    def program(n, x):
        k, f = int(n), float(x)
        integers = k // 3, k % 3, k / 2, -k, abs(k), k**2, max(k, 2), k and 3, k or 7
        return integers, (f // 0.3, f % 0.3, min(f, 0.5), round(f), int(f * 10))

    compare(program, *((torch.tensor(k), torch.tensor(x, dtype=torch.float64)) for k, x in [(-7, 2.5), (8, -1.25), (0, 3.5)]))


def test_division_by_zero_is_an_exception():
    module = ag.export.torchscript(lambda n: 1 // int(n), torch.tensor(2)).module()
    with pytest.raises(torch.jit.Error, match="division"):
        module(torch.tensor(0))


def test_raise_has_its_class_and_message():
    def program(x):
        if x.sum() < 0:
            raise ValueError(f"negative: {x.sum()}")
        return x

    module = ag.export.torchscript(program, t(1.0)).module()
    with pytest.raises(torch.jit.Error, match="ValueError"):
        module(t(-1.0))


# Returned values.


def test_structure_of_results():
    def program(x):
        if x.sum() > 0:
            return {"a": x * 1, "b": x * 2}, [x * 3, x + 1], (1, 2.5, None, "text")
        return {"a": -x, "b": x - 1}, [x * 2, x - 2], (1, 2.5, None, "text")

    compare(program, (t(1.0),), (t(-1.0),))


def test_none_on_one_path():
    def program(x):
        if x.sum() > 0:
            return x, 1
        return None

    compare(program, (t(1.0),), (t(-1.0),))


# Errors.


def refusal(function, *args):
    return exported.refusal(ag.export.torchscript, function, *args)


def test_state_that_is_not_an_attribute_of_a_module_is_refused():
    log = []

    def program(x):
        log.append(x)
        return x

    assert "it changes" in refusal(program, t(1.0))


def test_objects_of_the_users_classes_are_refused():
    def program(x):
        result = Averages()
        result.mean = x * 2
        return result

    assert "it returns" in refusal(program, t(1.0))


def test_other_shapes_and_dtypes_are_errors():
    module = ag.export.torchscript(lambda x: x * 2, torch.ones(3)).module()
    for x in (torch.ones(4), torch.ones(3, dtype=torch.float64), torch.ones(1, 3)):
        with pytest.raises(torch.jit.Error, match="`x` has a different dtype or shape"):
            module(x)


def test_unknown_sizes():
    function = ag.function(lambda x: x * len(x) if x.sum() > 0 else x)
    for size in (3, 4):
        function(torch.ones(size))
    module = ag.export.torchscript(function, torch.ones(5)).module()
    assert_equal(module(torch.ones(7)), torch.full((7,), 7.0))
