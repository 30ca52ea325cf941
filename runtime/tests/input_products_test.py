"""Products of a loop's inputs are computed for several iterations at once (pass `input-products`): the same results within
rounding, the same exceptions, and the same gradients."""

import importlib.util
import os
import random
import re

import autograph as ag
import pytest
import torch
import torch.nn.functional as F

ROWS, STEPS, INPUT, STATE = 5, 19, 40, 48


@pytest.fixture(autouse=True)
def all_passes():
    yield
    ag.disable_passes()


def fired(staged, *args):
    """Returns how many products of the plan for these arguments are computed in groups."""
    listing = staged.trace(*args).plan.listing(lambda file, line: None)
    return sum(map(int, re.findall(r"input-products (\d+)", listing)))


def tensors(*shapes, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype) * 0.1 for shape in shapes]


def rnn(x, h, W, U, b):
    outputs = []
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ W + h @ U + b)
        outputs.append(h)
    return torch.stack(outputs)


def joined(x, h, W, U, b):
    outputs = []
    for x_t in x:
        h = torch.tanh(torch.addmm(b, torch.cat([x_t, h], 1), torch.cat([W, U])))
        outputs.append(h)
    return torch.stack(outputs)


def linear(x, h, W, U, b):
    for t in range(x.shape[0]):
        h = torch.tanh(F.linear(x[x.shape[0] - 1 - t], W.t(), b) + F.linear(h, U.t()))
    return h


def joined_and_used(x, h, W, U, b):
    total = b * 0
    for t in range(x.shape[0]):
        both = torch.cat([h, x[t] * 0.5, b.expand(h.shape)], 1)
        h = torch.tanh(both @ torch.cat([U, W, U]))
        total = total * 0.5 + both[:, : b.shape[0]].mean(0)
    return h, total


def nested(x, h, W, U, b):
    for k in range(3):
        for t in range(x.shape[0]):
            h = torch.tanh(torch.cat([x[t] + k, h], 1) @ torch.cat([W, U]) + b)
        h = h * 0.5
    return h


PROGRAMS = [rnn, joined, linear, joined_and_used, nested]


@pytest.mark.parametrize("rows", [1, 3, ROWS, 17, 64])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_results_within_rounding(program, rows):
    for dtype, steps in ((torch.float32, 50), (torch.float32, STEPS), (torch.float64, 18)):
        args = tensors((steps, rows, 300), (rows, 64), (300, 64), (64, 64), (64,), dtype=dtype)
        staged = ag.function(program)
        torch.testing.assert_close(staged(*args), program(*args))
        ag.disable_passes("input-products")
        torch.testing.assert_close(ag.function(program)(*args), program(*args))
        ag.disable_passes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_products_are_grouped(program):
    args = tensors((STEPS, 4, 300), (4, 64), (300, 64), (64, 64), (64,))
    assert fired(ag.function(program), *args) > 0
    ag.disable_passes("input-products")
    assert fired(ag.function(program), *args) == 0


def test_products_that_do_not_gain_are_left_alone():
    assert fired(ag.function(rnn), *tensors((STEPS, 8, 16), (8, 32), (16, 32), (32, 32), (32,))) == 0
    assert fired(ag.function(joined), *tensors((STEPS, 100, 16), (100, 32), (16, 32), (32, 32), (32,))) == 0


def test_rows_of_a_table():
    @ag.function
    def program(words, E, h, W):
        for t in range(words.shape[0]):
            h = torch.tanh(torch.cat([E[words[t]], h], 1) @ W)
        return h

    E, h, W = tensors((100, INPUT), (ROWS, STATE), (INPUT + STATE, STATE))
    words = torch.randint(-100, 100, (STEPS, ROWS), generator=torch.Generator().manual_seed(0))
    assert fired(program, words, E, h, W) == 1
    torch.testing.assert_close(program(words, E, h, W), program.python_function(words, E, h, W))
    words[-1, 0] = 100
    with pytest.raises(IndexError, match="out of range|out of bounds"):
        program(words, E, h, W)


def test_a_loop_that_may_end_early_is_left_alone():
    """The rows after the end of the loop do not exist."""

    @ag.function
    def program(x, h, W, n):
        for t in range(100):
            if t >= n:
                break
            h = torch.tanh(torch.cat([x[t], h], 1) @ W)
        return h

    args = *tensors((STEPS, ROWS, INPUT), (ROWS, STATE), (INPUT + STATE, STATE)), torch.tensor(STEPS)
    assert fired(program, *args) == 0
    torch.testing.assert_close(program(*args), program.python_function(*args))


def test_an_index_out_of_range_is_an_error_at_its_line():
    @ag.function
    def program(x, h, W):
        for t in range(STEPS + 1):
            h = torch.tanh(torch.cat([x[t], h], 1) @ W)
        return h

    with pytest.raises(IndexError, match="out of range"):
        program(*tensors((STEPS, ROWS, INPUT), (ROWS, STATE), (INPUT + STATE, STATE)))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients(program):
    args = tensors((STEPS, 4, 300), (4, 64), (300, 64), (64, 64), (64,))
    results = []
    for function in (ag.function(program), program):
        leaves = [tensor.clone().requires_grad_() for tensor in args]
        found = function(*leaves)
        loss = sum(part.square().sum() for part in (found if isinstance(found, tuple) else (found,)))
        results.append(torch.autograd.grad(loss, leaves))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


def test_gradients_inside_of_the_function():
    @ag.function
    def step(x, h, W, U, b):
        W, U = W.clone().requires_grad_(), U.clone().requires_grad_()
        for t in range(x.shape[0]):
            h = torch.tanh(torch.cat([x[t], h], 1) @ torch.cat([W, U]) + b)
        return torch.autograd.grad(h.square().sum(), [W, U])

    args = tensors((STEPS, ROWS, INPUT), (ROWS, STATE), (INPUT, STATE), (STATE, STATE), (STATE,))
    torch.testing.assert_close(step(*args), step.python_function(*args), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_deterministic_kernels_have_the_results_of_eager_torch(program):
    """The setting also applies to functions that are already traced."""
    args = tensors((STEPS, 4, 300), (4, 64), (300, 64), (64, 64), (64,))
    staged = ag.function(program)
    staged(*args)
    ag.use_deterministic_kernels()
    try:
        for found, expected in zip(staged(*args), program(*args), strict=True):
            assert torch.equal(found, expected)
    finally:
        ag.use_deterministic_kernels(False)


def test_a_not_a_number_stays_in_its_iteration():
    args = tensors((STEPS, 4, 300), (4, 64), (300, 64), (64, 64), (64,))
    args[0][7, 2, 3] = float("nan")
    args[0][9, 1, 5] = float("inf")
    torch.testing.assert_close(ag.function(rnn)(*args), rnn(*args), equal_nan=True)


SLICES = ["x[t]", "x[{last} - t]", "torch.tanh(x[t])", "(x[t] - v)", "(x[t] * y[t])", "E[words[t]]", "F.embedding(words[t], E)", "y[t // 2]"]
OTHERS = ["h", "torch.relu(h)", "(h - x[t].mean())", "outputs[-1]", "v.expand(h.shape)", "(h + g)"]
USES = [
    "g = {a} @ W",
    "g = torch.addmm(c, {a}, W)",
    "g = torch.addmm({b}, {a}, W)",
    "g = F.linear({a}, W)",
    "g = torch.cat([{a}, {b}], 1) @ W2",
    "g = torch.addmm(c, torch.cat([{b}, {a}], -1), W2)",
    "both = torch.cat([{a}, {b}], 1); g = both @ W2 - both[:, :{size}]",
    "both = torch.cat([{b}, {a}], 1); g = both @ W2; h = h + both @ V2",
    "g = ({a} @ W) @ W",
    "h = torch.tanh(h * 0.5 + g)",
    "h = torch.where(v > 0.1, h, g)",
    "outputs.append(h)",
    "h = h + outputs[-1] * 0.5",
]


def random_program(seed, size):
    """Returns a program whose loops multiply slices of inputs, and other tensors, by weights."""
    rng = random.Random(seed)
    last = 17
    lines = ["import torch", "import torch.nn.functional as F", "def program(x, y, E, words, h, v, c, W, W2, V2):"]
    lines.append("    g, outputs = h * 0.5, [h, h * 2]")

    def block(indent, depth):
        lines.append(f"{indent}for t in range({rng.choice(['18', '17, -1, -1', '1, 18'])}):")
        for _ in range(rng.randint(3, 7)):
            if depth and rng.random() < 0.2:
                head = rng.choice([None, "if h.sum() > 0.01:"])
                if head is None:
                    block(indent + "    ", depth - 1)
                else:
                    lines.append(f"{indent}    {head}")
                    lines.append(f"{indent}        {use()}")
            else:
                lines.append(f"{indent}    {use()}")
        lines.append(f"{indent}    h, g = torch.tanh(h + g) * 0.5, torch.tanh(g)")

    def use():
        a = rng.choice(SLICES).format(last=last)
        return rng.choice(USES).format(a=a, b=rng.choice(OTHERS), size=size)

    block("    ", 1)
    block("    ", 1)
    lines.append("    return h, g, torch.stack(outputs[-3:])")
    return "\n".join(lines)


def amplifies(program, args, difference):
    """Returns whether a much smaller relative change of the arguments changes the results by at least `difference`."""
    wide = [tensor.double() if tensor.is_floating_point() else tensor for tensor in args]
    near = [tensor * (1 + difference * 1e-4) if tensor.is_floating_point() else tensor for tensor in wide]
    return not all(a.isfinite().all() and (a - b).abs().max() < difference for a, b in zip(program(*wide), program(*near), strict=True))


@pytest.mark.parametrize("seed", range(int(os.environ.get("PROGRAMS", 40))))
def test_random_programs(seed, tmp_path):
    rows, size = ((1, 96), (4, 24), (6, 24), (33, 16))[seed % 4]
    path = tmp_path / f"products_{seed}.py"
    path.write_text(random_program(seed, size))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    dtype = torch.float64 if seed % 8 < 4 else torch.float32
    shapes = [(18, rows, size)] * 2 + [(30, size), (rows, size), (rows, size), (size,), (size, size), (2 * size, size), (2 * size, size)]
    x, y, E, h, v, *weights = tensors(*shapes, dtype=dtype)
    words = torch.randint(0, 30, (18, rows), generator=torch.Generator().manual_seed(seed))
    args = x, y, E, words, h, v, *weights
    expected = module.program(*args)
    tolerance = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 1e-3, "atol": 1e-4}
    if not all(part.isfinite().all() for part in expected) or amplifies(module.program, args, tolerance["atol"]):
        pytest.skip("rounding changes the results")
    found = ag.function(module.program)(*args)
    ag.disable_passes("input-products")
    without = ag.function(module.program)(*args)
    torch.testing.assert_close(without, expected, **tolerance)
    torch.testing.assert_close(found, expected, **tolerance)
