"""Recursive calls under staged conditions have the same results as in eager torch."""

import pytest
import torch

import autograph as ag
from oracle import assert_equal, assert_same, t

#: A tree: the children of each node, -1 at a leaf.
LEFT = torch.tensor([1, 3, -1, -1, -1])
RIGHT = torch.tensor([2, 4, -1, -1, -1])


def assert_same_gradients(function, inputs, *args):
    """Asserts that values and gradients equal those of eager torch."""
    staged, eager = ag.function(function)(*args), function(*args)
    assert_equal(staged, eager)
    found = torch.autograd.grad(staged.sum(), inputs)
    assert_equal(found, torch.autograd.grad(eager.sum(), inputs))


def staging_error(function, *args):
    """Returns the message of the error with which staging rejects the function."""
    with pytest.raises(ag.StagingError) as caught:
        ag.function(function)(*args)
    return str(caught.value)


def leaf_values():
    return torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()


def evaluate(left, right, value, node):
    if left[node] < 0:
        return value[node]
    return torch.tanh(evaluate(left, right, value, left[node]) + evaluate(left, right, value, right[node]) * 0.5)


def test_tree():
    value = leaf_values()
    assert_same_gradients(evaluate, (value,), LEFT, RIGHT, value, torch.tensor(0))
    text = ag.function(evaluate).graph(LEFT, RIGHT, value, torch.tensor(0))
    assert text.count("func @") == 2 and text.count("call @") == 3, text


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_numbers():
    assert_same(lambda x: factorial(int(x)), (t(5),), (t(0),))
    assert_same(factorial, (torch.tensor(5.0),))
    assert "call @" not in ag.function(factorial).graph(5)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def test_mutual_recursion():
    assert_same(lambda x: (is_even(int(x)), is_odd(int(x))), (t(6),), (t(7),))


def test_closure():
    weight = torch.randn(3, 3, requires_grad=True)

    def f(x, n):
        scale = x.abs().sum()

        def rounds(n):
            return x if n <= 0 else torch.sin(rounds(n - 1) @ weight) / scale

        return rounds(int(n))

    x = t(0.3, -0.5, 0.2).requires_grad_()
    assert_same_gradients(f, (x, weight), x, torch.tensor(4))


def test_several_kinds_of_arguments():
    def f(x, n, both=False):
        if n <= 0:
            return (x, x + 1) if both else x
        return f(x * 2, n - 1, both)

    assert_same(lambda x, n: (f(x, int(n), both=True), f(x.double(), int(n)), f(x, int(n))), (t(1, 2), t(3)))


def test_arguments_that_differ_at_each_level():
    def depth(x, level):
        return depth(x / 2, level + 1) if x.sum() > 1 else level

    def first(x, items):
        return first(x / 2, items + [x]) if x.sum() > 1 else items[0]

    assert_same(lambda x: depth(x, 0), (t(0.5),), (t(100.0),))
    assert_same(lambda x: first(x, [x]), (t(100.0),))


def test_recursion_of_python_is_inlined():
    def f(x, layers):
        if not layers:
            return x
        return f(x - layers[0], layers[1:]) if x.sum() > 0 else x

    staged = assert_same(f, (t(5, 2), [1, 2, 3]), (t(-5, 2), [1, 2, 3]))
    assert "call @" not in staged.graph(t(5, 2), [1, 2, 3])


def test_lists():
    def collect(value, node, out):
        if LEFT[node] < 0:
            out.append(value[node])
        else:
            collect(value, LEFT[node], out)
            collect(value, RIGHT[node], out)

    def changed(value):
        out = []
        collect(value, torch.tensor(0), out)
        return torch.stack(out)

    def leaves(value, node):
        return [value[node]] if LEFT[node] < 0 else leaves(value, LEFT[node]) + leaves(value, RIGHT[node])

    value = leaf_values()
    assert_same_gradients(changed, (value,), value)
    assert_same_gradients(lambda value: torch.stack(leaves(value, torch.tensor(0))), (value,), value)


def test_calls_in_a_loop():
    children = torch.tensor([[1, 2], [3, 4], [0, 0], [0, 0], [0, 0]])
    counts = torch.tensor([2, 2, 0, 0, 0])

    def total(value, node):
        result = value[node]
        for i in range(counts[node]):
            result = result * value[0] + torch.tanh(total(value, children[node, i]))
        return result

    value = leaf_values()
    assert_same_gradients(total, (value,), value, torch.tensor(0))


def test_state():
    class Walk:
        def __init__(self):
            self.visits = 0
            self.seen = torch.zeros(5)

        def visit(self, node):
            self.visits += 1
            self.seen[node] += 1
            return 1 if LEFT[node] < 0 else self.visit(LEFT[node]) + self.visit(RIGHT[node])

    eager, staged = Walk(), Walk()
    function = ag.function(staged.visit)
    for _ in range(2):
        assert eager.visit(torch.tensor(0)) == function(torch.tensor(0))
        assert_equal([staged.visits, staged.seen], [eager.visits, eager.seen])


class TreeLSTM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Linear(8, 20)
        self.leaf = torch.nn.Linear(3, 8)

    def forward(self, value, node):
        if LEFT[node] < 0:
            return self.leaf(value[node]).chunk(2)
        left, left_cell = self(value, LEFT[node])
        right, right_cell = self(value, RIGHT[node])
        i, l, r, o, u = self.gates(torch.cat([left, right])).chunk(5)
        cell = i.sigmoid() * u.tanh() + l.sigmoid() * left_cell + r.sigmoid() * right_cell
        return o.sigmoid() * cell.tanh(), cell


@pytest.mark.parametrize("inside", [False, True])
def test_a_tree_lstm_is_trained(inside):
    """Either the whole training step is staged, or the module only."""
    value = leaf_values().detach()
    losses = []
    for is_staged in (False, True):
        torch.manual_seed(0)
        model = TreeLSTM()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        run = ag.function(model) if is_staged and not inside else model

        def step(value):
            optimizer.zero_grad()
            loss = run(value, torch.tensor(0))[0].square().sum()
            loss.backward()
            optimizer.step()
            return loss

        step = ag.function(step) if is_staged and inside else step
        losses.append([step(value).item() for _ in range(4)])
    assert losses[0][-1] < losses[0][0]
    assert_equal(losses[1], losses[0])


def test_gradients_of_gradients():
    def power(y, n):
        return y if n <= 0 else torch.sin(y) * power(y * 1.1, n - 1)

    def f(x, n):
        (slope,) = torch.autograd.grad(power(x, int(n)).sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.square().sum(), x, create_graph=True)
        return torch.autograd.grad(bend.square().sum(), x)[0]

    x = t(0.7, 1.3, dtype=torch.float64).requires_grad_()
    assert_same(lambda x, n: f(x.detach().requires_grad_(), n), (x, torch.tensor(3)))


def test_depth():
    """The recursion of the forward and backward passes is deeper than the stacks of Python and of the machine."""

    def chain(x, n):
        return x if n <= 0 else torch.sin(chain(x, n - 1) * 0.9) + x

    x = t(0.5, 2.0).requires_grad_()
    found = ag.function(chain)(x, torch.tensor(10_000))
    expected = x
    for _ in range(10_000):
        expected = torch.sin(expected * 0.9) + x
    assert_equal(found, expected)
    assert_equal(torch.autograd.grad(found.sum(), x), torch.autograd.grad(expected.sum(), x))


def test_recursion_without_end():
    def there(x):
        return there(x + 1) if x.sum() > 0 else x

    with pytest.raises(RecursionError, match="maximum recursion depth"):
        ag.function(there)(t(1))


def test_a_recursion_without_a_base_case():
    def f(x):
        return f(x + 1) if x.sum() < 0 else f(x - 1)

    message = staging_error(f, t(1))
    assert "`f` calls itself on every path" in message and "f(x - 1)" in message


def test_results_of_other_kinds():
    def f(x):
        return (f(x - 1), x) if x.sum() > 0 else x

    assert "different kinds" in staging_error(f, t(1))


def test_strings_that_differ_at_each_level():
    def f(x, name):
        return f(x - 1, name + "a") if x.sum() > 0 else x

    message = staging_error(f, t(1), "")
    assert "each time with a different `name` ('aaa" in message and 'name + "a"' in message


def test_an_argument_is_changed_in_place():
    def f(x, n):
        if n > 0:
            x[0] = n
            f(x[:1], n - 1)

    assert "changes in place a tensor that differs between calls" in staging_error(f, t(1, 2), torch.tensor(2))


def test_exceptions_and_prints(capsys):
    def f(x, n):
        print("level", n)
        if n == 3:
            raise ValueError("three")
        return f(x, n + 1) * 2 if n < 5 else x

    assert_same(lambda x, n: f(x, int(n)), (t(1), t(4)), (t(1), t(1)))
    levels = capsys.readouterr().out.split()[1::2]
    assert levels == ["4", "5", "1", "2", "3"][:2] * 2 + ["1", "2", "3"] * 2


def test_a_saved_recursion_is_loaded(tmp_path):
    value = leaf_values().detach()
    function = ag.function(lambda node: evaluate(LEFT, RIGHT, value, node))
    function.save(tmp_path / "model", torch.tensor(0))
    assert_equal(ag.load(tmp_path / "model")(torch.tensor(1)), evaluate(LEFT, RIGHT, value, torch.tensor(1)))


def test_recursive_graphs_are_optimized_and_drawn():
    graph = ag.function(evaluate).trace(LEFT, RIGHT, leaf_values(), torch.tensor(0)).graph
    optimized = graph.optimized()
    assert optimized.text().count("call @evaluate.2") == 3
    for drawn in (optimized.json(), optimized.dot(), optimized.svg()):
        assert "evaluate.2" in drawn


def test_gradient_of_an_unchanged_argument_is_summed_through_the_calls():
    """The backward function creates no zeros for a weight that only other levels of the recursion use."""

    def both(node, leaf, inner):
        if LEFT[node] < 0:
            return torch.tanh(leaf * node)
        return torch.sin(both(LEFT[node], leaf, inner) * inner - both(RIGHT[node], leaf, inner))

    def gradients(leaf, inner):
        return torch.autograd.grad(both(torch.tensor(0), leaf, inner).sum(), (leaf, inner))

    arguments = [t(0.3, -0.5).requires_grad_(), t(0.7, 1.5).requires_grad_()]
    assert_equal(ag.function(gradients)(*arguments), gradients(*arguments))
    text = ag.function(gradients).trace(*arguments).graph.optimized().text()
    backward = [part for part in text.split("func @") if part.startswith("both.backward")]
    assert backward and not any("aten.zeros" in part for part in backward), text
