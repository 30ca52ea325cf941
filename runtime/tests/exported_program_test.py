"""Functions exported as programs of torch.export have the same outcomes in a process with torch alone as in eager
Python.

The number of random programs is the environment variable `PROGRAMS` divided by 500, but at least 2: torch.export takes
seconds for a program with many branches. `FIRST` is the first seed.
"""

import copy
import os

import pytest
import torch

import autograph as ag
import exported
from oracle import assert_equal, t

COUNT, FIRST = max(2, int(os.environ.get("PROGRAMS", "0")) // 500), int(os.environ.get("FIRST", "0"))


@pytest.mark.parametrize("suite", ["random", "gradients", "state"])
def test_random_programs(suite, tmp_path):
    table = getattr(exported, suite)(tmp_path, range(FIRST, FIRST + COUNT), "exported_program")
    assert not table.differences, "\n\n".join(table.differences[:3])


def test_benchmark_programs(tmp_path):
    table = exported.workloads(tmp_path, "exported_program", ["w1_rnn"])
    assert not table.differences and not table.refusals, table


def exported_function(function, *args):
    """Exports a function. Returns its module."""
    return ag.export.exported_program(function, *args).module()


def compare(function, *calls):
    """Compares calls of the exported function, which was exported for the first call, with eager calls."""
    program = exported_function(function, *calls[0])
    for args in calls:
        assert_equal(exported.numbers_like(program(*args), function(*args)), function(*args))


def operators(program):
    """Returns the operators of a program, including those in its loops and branches."""
    modules = [module for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return {str(node.target) for module in modules for node in module.graph.nodes if node.op == "call_function"}


# Control flow.


def test_a_condition():
    def program(x):
        if x.sum() > 0:
            y, k = x * 2, 1
        else:
            y, k = x, 2
        return y, k, x

    assert "cond" in operators(ag.export.exported_program(program, t(1.0)))
    compare(program, (t(1.0),), (t(-1.0),))


def test_a_loop():
    def program(x, n):
        k = 0
        while n > 0:
            if n % 2 == 0:
                x = x * 2
            n, k = n - 1, k + 1
        return x, k

    assert "while_loop" in operators(ag.export.exported_program(program, t(1.0), torch.tensor(3)))
    compare(program, *((t(1.0), torch.tensor(n)) for n in (3, 0)))


def test_a_loop_that_appends_to_a_list_is_a_scan():
    def program(x, w):
        found = []
        for row in x:
            w = torch.tanh(w * row)
            found.append(w)
        return torch.stack(found), w, len(found)

    x = torch.ones(20, 3)
    assert "scan" in operators(ag.export.exported_program(program, x, t(1.0, 2.0, 3.0)))
    compare(program, (x, t(1.0, 2.0, 3.0)))


COUNTS = (3, 1, 6, 0)


def changes_in_a_while_loop(x, n):
    found = [x]
    while n > 0:
        found.append(x * n)
        if n % 2 == 0:
            found.insert(0, x + n)
            if n > 3:
                x = found.pop()
        n = n - 1
    found.insert(-1, x)
    return torch.stack(found).sum(0), len(found), x


def appends_until_a_sum_is_reached(x, n):
    found = []
    while x.sum() < n:
        x = x + 1
        if x[0] > 0:
            found = found + [x, x * 2]
    found.insert(7, x)
    return torch.stack(found), len(found[:])


def appends_in_each_iteration(x, n):
    found = []
    for i in range(n):
        found.append(x * i)
    return torch.cat([torch.cat(found), x]).sum(), len(found)


def appends_until_a_break(x, n):
    found = []
    for _ in range(20):
        if x.sum() > n:
            break
        x = x + 1
        found.append(x)
        found.append(found[0] + len(found))
        found[-1] = found[len(found) - 2] * 2
    return x, len(found)


def appends_numbers_in_nested_loops(x, n):
    found = [0.0]
    for i in range(n):
        for j in range(3):
            if x.sum() * j > i:
                found.append(found[-1] + j)
    return x * found[len(found) - 1], len(found)


@pytest.mark.parametrize(
    "program",
    [
        exported.appends_below_a_condition, appends_until_a_break, appends_numbers_in_nested_loops, changes_in_a_while_loop,
        appends_until_a_sum_is_reached,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_lists_that_grow_in_loops_whose_iterations_depend_on_data(program):
    compare(program, *((x, torch.tensor(n)) for n in COUNTS for x in (t(1.0, -0.5), t(-1.0, 0.5))))


def test_a_list_that_is_empty_after_no_iterations():
    program = exported_function(appends_in_each_iteration, t(1.0, 2.0), torch.tensor(3))
    for n in (3, 1, 6):
        arguments = t(1.0, 2.0), torch.tensor(n)
        assert_equal(exported.numbers_like(program(*arguments), found := appends_in_each_iteration(*arguments)), found)
    with pytest.raises(RuntimeError, match="list of tensors is empty"):
        program(t(1.0, 2.0), torch.tensor(0))


def test_an_index_beyond_a_list_that_grows():
    def program(x, n):
        found, last = [x], x
        for i in range(n):
            if i != 4:
                found.append(x * i)
            last = found[i]
        return last

    compare(program, *((t(1.0), torch.tensor(n)) for n in (3, 0, 5)))
    with pytest.raises(RuntimeError, match="out of range"):
        exported_function(_beyond, t(1.0), torch.tensor(2))(t(1.0), torch.tensor(5))


def _beyond(x, n):
    found, last = [x], x
    for i in range(n):
        if i < 2:
            found.append(x)
        last = found[i]
    return last


def test_a_list_whose_length_depends_on_a_condition():
    def program(x):
        found = [x, x * 2]
        if x.sum() > 0:
            found.append(x * 3)
        return torch.stack(found).sum(), len(found)

    compare(program, (t(1.0),), (t(-1.0),))


def test_an_item_at_an_index_that_is_a_tensor():
    def program(x, n):
        items = [x, x * 2, x * 3]
        k = int(n)
        items[k] = items[k] + 1
        return torch.stack(items), items[-k], x[k - 1]

    compare(program, *((t(1.0, 2.0), torch.tensor(n)) for n in (1, 0, 2)))


def test_unknown_sizes():
    function = ag.function(lambda x: x * len(x) if x.sum() > 0 else x)
    for size in (3, 4):
        function(torch.ones(size))
    program = exported_function(function, torch.ones(5))
    assert_equal(program(torch.ones(7)), torch.full((7,), 7.0))


# Numbers and exceptions.


def test_numbers_have_the_results_of_python():
    def program(n, x):
        k, f = int(n), float(x)
        integers = k // 3, k % 3, k / 2, -k, abs(k), k**2, max(k, 2), k and 3, k or 7, 5 // (k + 9)
        return integers, (f // 0.3, f % 0.3, min(f, 0.5), round(f), int(f * 10))

    compare(program, *((torch.tensor(k), torch.tensor(x, dtype=torch.float64)) for k, x in [(-7, 2.5), (8, -1.25), (0, 3.5)]))


def test_division_by_zero_is_an_exception():
    program = exported_function(lambda n: 1 // int(n), torch.tensor(2))
    with pytest.raises(RuntimeError, match="division"):
        program(torch.tensor(0))


def test_raise_in_a_branch_and_in_a_loop():
    def program(x, n):
        while n > 0:
            if x.sum() < 0:
                raise ValueError("negative")
            x, n = x - 1, n - 1
        return x

    program = exported_function(program, t(5.0), torch.tensor(2))
    assert_equal(program(t(5.0), torch.tensor(3)), t(2.0))
    with pytest.raises(RuntimeError, match="ValueError: negative"):
        program(t(1.0), torch.tensor(3))


def test_a_loop_whose_body_always_raises():
    def program(x, n):
        while n > 0:
            raise ValueError("positive")
        if len(x) == 1 and n < -1:
            raise ValueError("negative")
        return x * 2

    program = exported_function(program, t(5.0), torch.tensor(0))
    assert_equal(program(t(5.0), torch.tensor(0)), t(10.0))
    for n, message in ((1, "positive"), (-2, "negative")):
        with pytest.raises(RuntimeError, match=message):
            program(t(1.0), torch.tensor(n))


def test_an_assertion_in_a_branch_without_results():
    def program(x):
        if x.sum() > 0:
            assert x[0] > 1, "small"
        return x * 2

    program = exported_function(program, t(2.0))
    assert_equal(program(t(-2.0)), t(-4.0))
    with pytest.raises(RuntimeError, match="small"):
        program(t(0.5))


def test_random_numbers_that_nothing_uses_are_drawn():
    def program(x, n):
        while n > 0:
            if torch.rand(()) > 2:
                unused = x * 2  # noqa: F841
            x, n = x + torch.rand(2), n - 1
        return x

    results = []
    for function in (exported_function(program, t(1.0, 2.0), torch.tensor(3)), program):
        torch.manual_seed(0)
        results.append(function(t(1.0, 2.0), torch.tensor(3)))
    assert_equal(*results)


# State.


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


def test_tensors_of_a_module(tmp_path):
    torch.manual_seed(0)
    model, x = Model(), torch.ones(3)
    program = ag.export.exported_program(model.forward, x)
    assert {"layer_weight", "layer_bias", "scale"} <= set(program.state_dict)
    torch.export.save(program, tmp_path / "model.pt2")
    program = torch.export.load(tmp_path / "model.pt2").module()
    for _ in range(3):
        assert_equal(program(x).detach(), model(x).detach())
    assert_equal(program.scale, model.scale)


def test_a_training_step():
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)]
    models[1].load_state_dict(models[0].state_dict())
    steps = [step_of(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)) for model in models]
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    staged = ag.function(steps[0])
    for _ in range(2):
        assert_equal(staged(x, y), steps[1](x, y))
    program = exported_function(staged, x, y)
    for _ in range(3):
        assert_equal(program(x, y), steps[1](x, y))


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


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
    program = exported_function(function, t(0.0, 0.0))
    for k in range(3):
        x = t(3.0, 1.0) * k
        assert_equal(program(x), eager.add(x))
    assert program.count == 6


def test_batch_normalization_in_a_branch():
    def program(x, n):
        if n > 0:
            norm(x)
        return norm(x)

    torch.manual_seed(0)
    norm, x = torch.nn.BatchNorm1d(3), torch.randn(4, 3)
    run = ag.export.exported_program(program, x, torch.tensor(1))
    expected, found = copy.deepcopy(norm), run.module()
    for n in (1, 0):
        assert_equal(found(x, torch.tensor(n)), [expected(x) for _ in range(n + 1)][-1])
    assert_equal(found.running_mean, expected.running_mean)


# Returned values.


def test_structure_of_results():
    def program(x):
        if x.sum() > 0:
            return {"a": x * 1, "b": x * 2}, [x * 3, x + 1], (1, 2.5, None)
        return {"a": -x, "b": x - 1}, [x * 2, x - 2], (1, 2.5, None)

    compare(program, (t(1.0),), (t(-1.0),))


# Refusals.


def refusal(function, *args):
    return exported.refusal(ag.export.exported_program, function, *args)


def test_a_list_whose_length_decides_the_number_of_iterations_is_refused_at_its_line():
    def program(x, n):
        found = [x]
        while len(found) < n:
            found.append(x * n)
        return torch.stack(found)

    message = refusal(program, t(1.0), torch.tensor(3))
    assert "the number of iterations depends on the list" in message and "while len(found) < n:" in message


def test_a_list_whose_length_depends_on_random_numbers_is_refused_at_its_line():
    def program(x):
        found = [x]
        while x < 3:
            x = x + torch.rand(())
            found.append(x)
        return torch.stack(found)

    message = refusal(program, torch.tensor(1.0))
    assert "or on random numbers" in message and "while x < 3:" in message


def test_a_list_of_tuples_that_grows_is_refused_at_its_line():
    def program(x, n):
        found = [(x, x)]
        while n > 0:
            found.append((x * n, found[-1][0]))
            n = n - 1
        return found[-1][1]

    message = refusal(program, t(1.0, 2.0, 3.0), torch.tensor(2))
    assert "changes its size in a loop" in message and "while n > 0:" in message


def test_a_tensor_that_grows_in_a_loop_is_refused_at_its_line():
    def program(x, n):
        while n > 0:
            x, n = torch.cat([x, x[:1]]), n - 1
        return x

    message = refusal(program, t(1.0), torch.tensor(3))
    assert "changes its size in a loop" in message and "while n > 0:" in message


def test_output_is_refused_at_its_line():
    def program(x):
        print(x.sum())
        return x

    assert "print(x.sum())" in refusal(program, t(1.0))


def test_none_on_one_path_is_an_exception_of_the_program():
    def program(x):
        if x.sum() > 0:
            return x, 1
        return None

    found = exported_function(program, t(1.0))
    assert_equal(exported.numbers_like(found(t(2.0)), program(t(2.0))), program(t(2.0)))
    with pytest.raises(RuntimeError, match="the function returns None"):
        found(t(-1.0))


def test_results_whose_sizes_differ_between_paths():
    def program(x, n):
        found = [x]
        for _ in range(n):
            found.append(x * 2)
        if x.sum() > 0:
            return torch.stack(found), len(found)
        found.insert(1, x * 3)
        return torch.stack(found), 0

    compare(program, *((x, torch.tensor(n)) for n in (2, 0) for x in (t(1.0), t(-1.0))))


def test_strings_are_refused():
    assert "returns a string" in refusal(lambda x: (x, "text"), t(1.0))
