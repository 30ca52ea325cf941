"""The passes on native programs and plans: each fires on the program in its documentation, and does not change results."""

import importlib.util
import os
import random
import re

import pytest
import torch

import autograph as ag
from autograph import _runtime
from native_test import native_for_single_operators, native_listing  # noqa: F401


def descent(q, rate, n):
    """The examples of `runtime/README.md` for `borrowed-items`, `multiply-add` and `in-place-results`."""
    directions = []
    for i in range(n):
        directions.append(q + i)
    rates = [None] * len(directions)
    for i in range(len(directions)):
        rates[i] = rate * directions[i].sum()
        q = q - rates[i] * directions[i]
    return q


def sum_of_products(x, g, n):
    """The example for `added-products`."""
    total = torch.zeros(x.shape[1], g.shape[1])
    for i in range(n):
        total = total + x.t() @ (g * i)
    return total


def test_a_sum_in_the_memory_of_the_product_that_it_adds():
    """In the second loop over `t`, the sum `h + ...` is computed in the memory of the product that it adds."""

    @ag.function
    def program(g, h, x, W):
        for k in range(18):
            for t in range(18):
                h, g = torch.tanh(h + g) * 0.5, torch.tanh(g)
            h = h + torch.cat([torch.relu(h), x[k]], 1) @ W
            for t in range(18):
                h = h + torch.cat([torch.relu(h), x[t]], 1) @ W
            h, g = torch.tanh(h + g) * 0.5, torch.tanh(g)
        return g, h

    shapes = (33, 16), (33, 16), (18, 33, 16), (32, 16)
    args = [torch.randn(shape, dtype=torch.float64) * 0.1 for shape in shapes]
    torch.testing.assert_close(program(*args), program.python_function(*args))


def states(x, h):
    """The example for `joined-lists`."""
    outputs = []
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] + h)
        outputs.append(h)
    return torch.stack(outputs)


def recurrence(x, h, W, U, b):
    """The example for `input-products`."""
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ W + h @ U + b)
    return h


def sum_of_outer_products(x, g, n):
    """The example for `deferred-products`."""
    total = torch.zeros(x.shape[2], g.shape[2])
    for i in range(n):
        total = total + x[i].t() @ g[i]
    return total


def test_a_list_may_change_after_it_has_been_joined():
    @ag.function
    def program(x, h):
        outputs = []
        for t in range(x.shape[0]):
            h = torch.tanh(x[t] + h)
            outputs.append(h)
        joined = torch.stack(outputs)
        outputs[1] = h * 2
        changed = torch.stack(outputs)
        outputs.append(h)
        longer = torch.stack(outputs).sum(0)
        last = outputs.pop()
        return joined.t(), changed, longer, last, torch.cat(outputs)

    args = torch.randn(64, 40), torch.randn(40)
    assert "joined-lists" in native_listing(program, *args)
    torch.testing.assert_close(program(*args), program.python_function(*args))


DOCUMENTED = {
    "borrowed-items": (descent, (torch.linspace(-1, 1, 300), torch.tensor(1e-3), torch.tensor(4))),
    "multiply-add": (descent, (torch.linspace(-1, 1, 300), torch.tensor(1e-3), torch.tensor(4))),
    "in-place-results": (descent, (torch.linspace(-1, 1, 300), torch.tensor(1e-3), torch.tensor(4))),
    "added-products": (sum_of_products, (torch.linspace(-1, 1, 60).view(6, 10), torch.linspace(0, 2, 42).view(6, 7), torch.tensor(4))),
    "joined-lists": (states, (torch.linspace(-1, 1, 640).view(64, 10), torch.zeros(10))),
    "input-products": (
        recurrence,
        (torch.linspace(-1, 1, 8192).view(64, 1, 128), torch.zeros(1, 64), torch.eye(128, 64) / 2, torch.eye(64) / 2, torch.zeros(64)),
    ),
    "deferred-products": (
        sum_of_outer_products,
        (torch.linspace(-1, 1, 8000).view(20, 1, 400) / 8, torch.linspace(0, 1, 8000).view(20, 1, 400) / 8, torch.tensor(18)),
    ),
}  # fmt: skip


#: Passes that may change the order of a sum.
REORDERED = {"input-products", "deferred-products"}


@pytest.fixture
def all_passes():
    yield
    ag.disable_passes()


def test_every_pass_on_native_programs_and_plans_is_documented():
    assert set(DOCUMENTED) <= set(ag.passes())
    # `loop_batching_test.py` tests loop batching.
    assert {"loop-batching", *DOCUMENTED} == set(_runtime.passes()[1])


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_pass_fires_on_the_program_in_its_documentation_unless_it_is_off(name, all_passes):
    program, args = DOCUMENTED[name]
    fired = re.compile(rf"\(.*{name} \d")
    assert fired.search(native_listing(ag.function(program), *args))
    found = ag.function(program)(*args)
    ag.disable_passes(name)
    assert not fired.search(native_listing(ag.function(program), *args))
    without = ag.function(program)(*args)
    torch.testing.assert_close(found, program(*args))
    torch.testing.assert_close(found, without, rtol=0, atol=1e-6 if name in REORDERED else 0)


def test_a_pass_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match='unknown pass "fast"; expected some of constant-folding, .*multiply-add'):
        ag.disable_passes("fast")


def test_the_graph_of_an_optimizer_pass_that_is_off(all_passes):
    def program(x):
        unused = x * 2  # noqa: F841
        return x + 1

    graph = ag.function(program).trace(torch.ones(3)).graph
    assert "mul" not in graph.optimized().text()
    ag.disable_passes("dead-code-elimination")
    assert "mul" in graph.optimized().text()


#: Statements of random programs: lists of tensors `l` and `m`, tensors `a`, `b` and `c`, and a number `i` below both lengths.
STATEMENTS = """a = l[i]; b = m[-1]; c = l[0] * a; a = a - 0.5 * b; b = c + a * b; c = a * c - b; a, b = b, a; a, b, c = c, a - 0.25 * b, b
l[i] = a; m[0] = b; l[-1] = m[i]; l.append(b); m.append(l[0]); l.append(a * 0.5); a = l.pop(0); b = m.pop(); l, m = m, l
c = torch.sub(c, a, alpha=0.5); c = torch.add(a, c, alpha=-0.25); c = a[0] * b + c; b = c - b.sum() * a; a = a.flip(0).clone() * 0.5
a = b.expand(4, 80)[i % 4] * c - a; c = a; a = (l[0].view(8, 10) * 0.5).t().reshape(80); a = torch.cat([a[:40], b[40:]])
c = (c.view(80, 1) + a.view(80, 1) @ b[:1].view(1, 1)).view(80)""".replace("\n", "; ").split("; ")


def random_program(seed):
    """Returns a program whose loops read, change and move the items of lists, which are used after the loops."""
    rng = random.Random(seed)
    lines = ["import torch", "def program(a, b, c, n):", "    l, m = [a, b, c], [b * 2.0, c, a, b]", "    for i in range(n):"]

    def block(indent, depth):
        for _ in range(rng.randint(2, 6)):
            if depth and rng.random() < 0.3:
                head = rng.choice(["if a[3] > b[5] + 0.001:", "for k in range(n):"])
                lines.append(indent + head)
                block(indent + "    ", depth - 1)
                lines.append(indent + "    c = c * 0.5")
            else:
                lines.append(indent + rng.choice(STATEMENTS))
        # The values stay small.
        lines.append(indent + "a, b, c = a * 0.25, b * 0.25, c * 0.25")

    block("        ", 2)
    lines.append("    return a, b, c, len(l), l[-1], m[-1]")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(int(os.environ.get("PROGRAMS", 40))))
def test_lists_in_random_programs(seed, tmp_path, all_passes):
    """The results equal those of eager torch. If one of the passes is disabled, they are bit for bit the same."""
    path = tmp_path / f"lists_{seed}.py"
    path.write_text(random_program(seed))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    generator = torch.Generator().manual_seed(seed)
    # In double precision, because some of these programs amplify a difference of rounding.
    args = [torch.randn(80, generator=generator, dtype=torch.float64) for _ in range(3)]
    for n in (2, 3):
        try:
            expected = module.program(*args, n)
        except IndexError:
            return
        if not all(torch.as_tensor(value).abs().max() < 1e3 for value in expected):
            return
        found = ag.function(module.program)(*args, torch.tensor(n))
        for a, b in zip(found, expected):
            torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b), rtol=1e-4, atol=1e-5)
    names = _runtime.passes()[1]
    ag.disable_passes(names[seed % len(names)])
    for a, b in zip(ag.function(module.program)(*args, torch.tensor(n)), found):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b)), names[seed % len(names)]
