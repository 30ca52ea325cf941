"""Products that recursive functions and loops add to a sum are computed later, as one product (pass
`deferred-products`): the same results within rounding, the same exceptions, and the same gradients."""

import random
import re
from dataclasses import dataclass

import autograph as ag
import pytest
import torch

ROWS, COLUMNS = 128, 160


@pytest.fixture(autouse=True)
def all_passes():
    yield
    ag.disable_passes()
    ag.use_deterministic_kernels(False)


def fired(staged, *args):
    """Returns how many products of the plan for these arguments are deferred."""
    listing = staged.trace(*args).plan.listing(lambda file, line: None)
    return sum(map(int, re.findall(r"deferred-products (\d+)", listing)))


def tensors(*shapes, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) * 0.1 for shape in shapes]


def assert_same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@dataclass
class Node:
    x: torch.Tensor
    kind: int = 0
    left: "Node | None" = None
    right: "Node | None" = None


def grow(rng, nodes, dtype=torch.float32):
    """Returns a random tree with this number of leaves, of any shape."""
    node = Node(torch.randn(1, ROWS, dtype=dtype) * 0.3, rng.randrange(3))
    if nodes > 1:
        left = rng.randrange(1, nodes)
        node.left, node.right = grow(rng, left, dtype), grow(rng, nodes - left, dtype)
    return node


# Gradients of weights in a recursion.


def embed(node, W, U, b):
    if node.left is None:
        return torch.tanh(node.x @ W + b)
    return torch.tanh(embed(node.left, W, U, b) @ U * embed(node.right, W, U, b) + b)


def gradients(node, W, U, b):
    return torch.autograd.grad(embed(node, W, U, b).square().sum(), (W, U, b))


def leaves(dtype=torch.float32, seed=0):
    found = tensors((ROWS, COLUMNS), (COLUMNS, COLUMNS), (COLUMNS,), dtype=dtype, seed=seed)
    return [tensor.requires_grad_() for tensor in found]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_weights_in_random_trees(dtype):
    rng = random.Random(0)
    torch.manual_seed(0)
    staged = ag.function(gradients)
    parameters = leaves(dtype)
    for leaf_count in (2, 3, 10, 40, 300):
        tree = grow(rng, leaf_count, dtype)
        assert_same(staged(tree, *parameters), gradients(tree, *parameters))
    # The products with `W` and `U`.
    assert fired(staged, tree, *parameters) == 2


def test_a_chain_longer_than_a_product():
    """A recursion with more rows than are joined."""
    node = Node(torch.randn(1, ROWS) * 0.3)
    for _ in range(700):
        node = Node(node.x, 0, node, Node(torch.randn(1, ROWS) * 0.3))
    parameters = leaves()
    staged = ag.function(gradients)
    assert_same(staged(node, *parameters), gradients(node, *parameters))


def test_a_step_of_training_in_the_graph():
    def train(trees, *parameters):
        parameters = [parameter.detach().clone().requires_grad_() for parameter in parameters]
        for tree in trees:
            found = torch.autograd.grad(embed(tree, *parameters).square().sum(), parameters)
            with torch.no_grad():
                torch._foreach_sub_(parameters, found, alpha=0.1)
        return parameters

    torch.manual_seed(1)
    trees = [grow(random.Random(seed), 12) for seed in range(20)]
    staged, parameters = ag.function(train), leaves()
    assert_same(staged(trees, *parameters), train(trees, *parameters))
    assert fired(staged, trees, *parameters) == 2


def test_weights_of_the_same_shape_are_not_confused():
    """Each sum is returned in its own result, even if the types of all sums are equal."""

    def walk(node, A, B, C):
        if node.left is None:
            return torch.tanh(node.x @ A)
        left, right = walk(node.left, A, B, C), walk(node.right, A, B, C)
        if node.kind == 0:
            return torch.tanh(left @ B + right @ C)
        return torch.tanh(left @ C) * torch.sigmoid(right @ B)

    def program(node, *weights):
        return torch.autograd.grad(walk(node, *weights).sum(), weights)

    weights = [weight.requires_grad_() for weight in tensors(*[(ROWS, ROWS)] * 3)]
    staged = ag.function(program)
    for seed in range(5):
        torch.manual_seed(seed)
        tree = grow(random.Random(seed), 15)
        assert_same(staged(tree, *weights), program(tree, *weights))
    assert fired(staged, tree, *weights) > 0


def test_a_sum_of_the_program():
    def walk(node, total):
        total = total + node.x.t() @ node.x
        if node.left is not None:
            total = walk(node.left, total)
            total = walk(node.right, total)
        return total

    def program(node, total):
        return walk(node, total) * 2, total + 1

    torch.manual_seed(0)
    tree, total = grow(random.Random(3), 20), torch.randn(ROWS, ROWS)
    staged = ag.function(program)
    assert_same(staged(tree, total), program(tree, total))
    assert fired(staged, tree, total) == 1


def test_a_sum_that_the_program_uses_is_not_deferred():
    def walk(node, total):
        total = total + node.x.t() @ node.x * torch.tanh(total.sum())
        if node.left is not None:
            total = walk(node.left, total)
            total = walk(node.right, total)
        return total

    torch.manual_seed(0)
    tree, total = grow(random.Random(3), 20), torch.randn(ROWS, ROWS) * 0.01
    staged = ag.function(walk)
    assert_same(staged(tree, total), walk(tree, total))
    assert fired(staged, tree, total) == 0


def test_an_exception_in_the_recursion():
    def walk(node, total):
        if node.kind > 2:
            raise ValueError("unknown kind")
        total = total + node.x.t() @ node.x
        if node.left is not None:
            total = walk(node.left, total)
            total = walk(node.right, total)
        return total

    torch.manual_seed(0)
    tree, total = grow(random.Random(4), 8), torch.randn(ROWS, ROWS)
    staged = ag.function(walk)
    assert_same(staged(tree, total), walk(tree, total))
    assert fired(staged, tree, total) == 1
    tree.right.kind = 3
    with pytest.raises(ValueError, match="unknown kind"):
        staged(tree, total)
    tree.right.kind = 0
    assert_same(staged(tree, total), walk(tree, total))


# Loops.

LARGE = 400


def rnn_gradients(x, h, W, U):
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ W + h @ U)
    return torch.autograd.grad(h.square().sum(), (W, U))


def rnn_arguments(steps, rows, dtype=torch.float32):
    *inputs, W, U = tensors((steps, rows, LARGE), (rows, LARGE), (LARGE, LARGE), (LARGE, LARGE), dtype=dtype)
    # With larger weights, differences of rounding grow from step to step.
    return *inputs, (W * 0.2).requires_grad_(), (U * 0.2).requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows, count", [(1, 2), (20, 2), (40, 0)])
def test_gradients_of_weights_in_a_loop(dtype, rows, count):
    staged, arguments = ag.function(rnn_gradients), rnn_arguments(30, rows, dtype)
    assert_same(staged(*arguments), rnn_gradients(*arguments))
    assert fired(staged, *arguments) == count


def conditional(xs, total, n):
    for t in range(n):
        if xs[t].sum() > 0:
            total = total + xs[t].t() @ xs[t]
    return total


def with_break(xs, total, n):
    t = torch.tensor(0)
    while t < n:
        total = total + xs[t].t() @ xs[t]
        t = t + 1
        if t > 5:
            break
    return total


def nested(xs, total, n):
    for t in range(n):
        total = total + xs[t].t() @ xs[0]
        for k in range(n):
            total = xs[k].t() @ xs[t] + total
    return total


def used_in_between(xs, total, n):
    for t in range(n):
        total = total + xs[t].t() @ xs[t]
        xs = xs * torch.sigmoid(total.mean())
    return total


def twice(xs, total, n):
    other = total
    for t in range(n):
        total, other = other + xs[t].t() @ xs[t], total
    return total, other


@pytest.mark.parametrize(
    "program, count", [(conditional, None), (with_break, 1), (nested, 2), (used_in_between, 0), (twice, 0)]
)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_sums_of_loops(program, count, n):
    xs, total = tensors((20, 2, LARGE), (LARGE, LARGE))
    n = torch.tensor(n)
    staged = ag.function(program)
    assert_same(staged(xs, total, n), program(xs, total, n))
    if count is not None:
        assert fired(staged, xs, total, n) == count


# Settings.


def test_the_pass_can_be_switched_off():
    ag.disable_passes("deferred-products")
    staged, arguments = ag.function(rnn_gradients), rnn_arguments(30, 1)
    assert_same(staged(*arguments), rnn_gradients(*arguments))
    assert fired(staged, *arguments) == 0


@pytest.mark.parametrize("program", ["trees", "loop"])
def test_deterministic_kernels_have_the_results_without_the_pass(program):
    """The setting also applies to functions that are already traced."""
    torch.manual_seed(0)
    if program == "trees":
        program, arguments = gradients, (grow(random.Random(5), 30), *leaves())
    else:
        program, arguments = rnn_gradients, rnn_arguments(30, 1)
    ag.disable_passes("deferred-products")
    plain = ag.function(program)
    plain(*arguments)
    ag.disable_passes()
    staged = ag.function(program)
    staged(*arguments)
    assert fired(staged, *arguments) > 0
    ag.use_deterministic_kernels()
    for found, expected in zip(staged(*arguments), plain(*arguments), strict=True):
        assert torch.equal(found, expected)


def test_the_passes_print_what_they_defer():
    staged, arguments = ag.function(rnn_gradients), rnn_arguments(30, 1)
    graph = staged.trace(*arguments).graph.optimized()
    assert "deferred-products 2" in graph.native_programs(["deferred-products"])
    assert "deferred-products" not in graph.native_programs(["multiply-add"])
