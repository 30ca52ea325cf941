"""Loops with independent iterations: all iterations are computed at once, with the results of eager torch."""

import autograph as ag
import pytest
import torch
from torch.nn import functional as F


def is_batched(program, *args):
    trace = ag.function(program).trace(*args)
    loops, all_loops = (graph.text().count(" = for(") for graph in (trace.compiled_graph, trace.graph))
    return trace.graph.has_independent_loops and loops < all_loops


def compare(program, *args):
    """Compares results and gradients with eager torch."""

    def run(function):
        inputs = [a.clone().requires_grad_(a.is_floating_point()) if isinstance(a, torch.Tensor) else a for a in args]
        results = function(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        flat = [item for result in results for item in (result if isinstance(result, list) else [result])]
        total = sum(result.square().sum() for result in flat if result.requires_grad)
        leaves = [a for a in inputs if isinstance(a, torch.Tensor) and a.requires_grad]
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
        return [*flat, *gradients]

    for found, expected in zip(run(ag.function(program)), run(program), strict=True):
        assert (found is None) == (expected is None)
        if expected is not None:
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def episodes(starts, weight, noise):
    """The shape of policy gradients: an episode for each start, and lists that all episodes extend."""
    logs, rewards = [], []
    for play in range(20):
        s = starts[play]
        for t in range(5):
            z = torch.tanh(s @ weight)
            with torch.no_grad():
                g = (noise[play, t] < torch.sigmoid(z[0, 0])).float()
                rewards.append((s[0, 1].abs() < 0.5).float())
            s = torch.tanh(z * (1 + g))
            logs.append(-F.softplus(-z[:, 2]))
    return torch.cat(logs).view(20, 5), torch.stack(rewards)


def total(xs, weight):
    loss = torch.zeros(())
    for i in range(20):
        h = torch.relu(xs[i] @ weight)
        loss = loss + F.mse_loss(h, xs[19] @ weight) + h.sum()
    return loss


def every_second(xs, weight):
    rows = []
    for i in range(17):
        rows.append((xs[2 * i + 1] * weight).softmax(-1))
    return rows


def last(xs, weight):
    y = xs[0]
    for i in range(1, 20):
        y = (xs[i] * weight).sum(0)
    return y


def own_weights(xs, weights):
    """Products whose factors both differ between iterations."""
    ys = []
    for i in range(20):
        w = weights[i]
        h = xs[i] @ w
        ys.append((h @ w.t()).mean(1) + h.sum(1))
    return torch.stack(ys)


def column(xs, bias):
    ys = []
    for i in range(20):
        v = xs[:, i]
        ys.append(torch.dot(v, v) + v[0] + torch.addmm(bias, v.view(1, -1), xs).mean() + (xs @ v).sum())
    return torch.stack(ys)


def branch(xs, flag):
    ys = []
    for i in range(20):
        x = xs[i]
        if flag:
            x = x * 2
        else:
            x = x + 1
        total = torch.zeros(3)
        for _ in range(2):
            total = total + x
        ys.append(total)
    return torch.cat(ys)


def number_as_bias(xs, weights):
    ys = []
    for i in range(20):
        number = xs[i].sum()
        ys.append(torch.addmm(number, xs[i], weights) + torch.addmm(xs[i, 0], xs[i], weights))
    return torch.stack(ys)


def items(xs, scale):
    """A list from outside, and a list of one iteration."""
    rows = [x * scale for x in xs]
    ys = []
    for i in range(20):
        own = []
        for k in range(3):
            own.append(rows[i] * k)
        ys.append(torch.stack(own).sum(0) + own[1] + torch.cat(own).mean())
    return ys


def nested(xs, scale):
    ys = []
    for i in range(20):
        for k in range(18):
            ys.append(xs[i, k] * scale)
    return torch.stack(ys)


def generator(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


BATCHED = {
    episodes: (generator(20, 1, 4) / 4, generator(4, 4), torch.rand(20, 5, generator=torch.Generator().manual_seed(1))),
    total: (generator(20, 2, 3), generator(3, 5)),
    every_second: (generator(36, 3), generator(3)),
    last: (generator(20, 2, 3), generator(3)),
    own_weights: (generator(20, 2, 4), generator(20, 4, 5)),
    column: (generator(20, 20), generator(20)),
    number_as_bias: (generator(20, 2, 20), generator(20, 20)),
    items: (generator(20, 3), generator(3)),
    nested: (generator(20, 18, 2), generator(2)),
}


@pytest.mark.parametrize("program", BATCHED, ids=lambda program: program.__name__)
def test_independent_iterations_are_computed_at_once(program):
    args = BATCHED[program]
    assert is_batched(program, *args)
    compare(program, *args)


def test_a_condition_that_is_the_same_in_all_iterations_stays_a_branch():
    for flag in (torch.tensor(True), torch.tensor(False)):
        compare(branch, generator(20, 3), flag)
    assert is_batched(branch, generator(20, 3), torch.tensor(True))


def test_a_branch_may_append_to_a_list():
    def program(xs, flag):
        ys = []
        for i in range(20):
            if flag:
                ys.append(xs[i] * 2)
            ys.append(xs[i] + 1)
        return ys

    for flag in (torch.tensor(True), torch.tensor(False)):
        compare(program, generator(20, 3), flag)


def test_batched_nodes_have_the_lines_of_the_loop():
    text = ag.function(items).trace(*BATCHED[items]).compiled_graph.text()
    nodes = [line for line in text.splitlines() if " = aten." in line]
    assert nodes and all(" at 0:" in line for line in nodes)


def running(xs, weight):
    s = xs[0]
    for i in range(20):
        s = torch.tanh(s @ weight) + xs[i]
    return s


def printed(xs, weight):
    for i in range(20):
        print(xs[i] @ weight)
    return xs


def drawn(xs, weight):
    ys = []
    for i in range(20):
        ys.append(xs[i] + torch.rand(3))
    return torch.stack(ys)


def searched(xs, weight):
    ys = []
    for i in range(20):
        x = xs[i]
        while x.sum() < 3:
            x = x + 1
        ys.append(x)
    return torch.stack(ys)


def read_back(xs, weight):
    ys = [xs[0]]
    for i in range(20):
        ys.append(ys[i] * xs[i])
    return torch.stack(ys)


def kept(xs, weight):
    best = xs[0]
    for i in range(20):
        if xs[i].sum() > best.sum():
            best = xs[i]
    return best


@pytest.mark.parametrize("program", [running, printed, drawn, searched, read_back, kept])
def test_iterations_that_depend_on_each_other_or_have_effects_are_not_batched(program):
    assert not is_batched(program, generator(20, 3), generator(3, 3))


def test_large_tensors_are_not_batched():
    def program(xs):
        ys = []
        for i in range(20):
            ys.append(xs[i] * 2)
        return ys

    assert is_batched(program, torch.ones(20, 100))
    assert not is_batched(program, torch.ones(20, 10_000))


def test_results_do_not_share_memory():
    def program(xs):
        ys = []
        for i in range(20):
            ys.append(xs[i] * 2)
        return ys, torch.stack(ys), torch.stack(ys)

    rows, first, second = ag.function(program)(torch.ones(20, 2))
    rows[0].zero_()
    first[1] = 7
    torch.testing.assert_close(second, torch.full((20, 2), 2.0))
    torch.testing.assert_close(rows[1], torch.full((2,), 2.0))
    torch.testing.assert_close(first[0], torch.full((2,), 2.0))


def test_deterministic_kernels_use_the_loop_of_the_program():
    args = BATCHED[episodes]
    function = ag.function(episodes)
    function(*args)
    ag.use_deterministic_kernels()
    try:
        for found, expected in zip(function(*args), episodes(*args)):
            assert torch.equal(found, expected)
    finally:
        ag.use_deterministic_kernels(False)


def test_the_pass_can_be_switched_off():
    ag.disable_passes("loop-batching")
    try:
        assert not is_batched(*[(program, *args) for program, args in BATCHED.items()][0])
    finally:
        ag.disable_passes()
