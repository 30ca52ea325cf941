"""Trees of Python objects as arguments: they become columns, so that one graph serves all trees of a class."""

import dataclasses
import functools
import random
import typing
import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_equal


@dataclasses.dataclass
class Node:
    value: torch.Tensor
    left: "Node | None" = None
    right: "Node | None" = None


@dataclasses.dataclass
class Number:
    value: float
    left: "Number | None" = None
    right: "Number | None" = None


class Word(typing.NamedTuple):
    word: int | None
    left: "Word | None" = None
    right: "Word | None" = None


class Family:
    """A class without annotations, with a list of children, a property and methods."""

    def __init__(self, weight, children=()):
        self.weight = weight
        self.children = list(children)

    @property
    def is_leaf(self):
        return not self.children

    def total(self, scale):
        if self.is_leaf:
            return self.weight * scale
        total = self.weight
        for child in self.children:
            total = torch.tanh(total + child.total(scale))
        return total


class Slotted:
    __slots__ = ("value", "next")

    def __init__(self, value: float, next: "Slotted | None" = None):
        self.value, self.next = value, next


def binary(rng, depth, make):
    """Returns a random binary tree. `make(left, right)` creates a node for two subtrees, which may be None."""
    if depth == 0 or rng.random() < 0.2:
        return make(None, None)
    return make(binary(rng, depth - 1, make), binary(rng, depth - 1, make))


def sparse(rng, depth, make):
    """Returns a random binary tree whose nodes may have one child."""
    found = [sparse(rng, depth - 1, make) if depth and rng.random() < 0.7 else None for _ in range(2)]
    return make(*found)


def leaf_of(rng):
    return torch.tensor([rng.gauss(0, 1) for _ in range(3)]).requires_grad_()


def node(rng, depth):
    return binary(rng, depth, lambda left, right: Node(leaf_of(rng), left, right))


def number(rng, depth):
    return sparse(rng, depth, lambda left, right: Number(rng.random(), left, right))


def word(rng, depth):
    return binary(rng, depth, lambda left, right: Word(rng.randrange(5) if left is None else None, left, right))


def family(rng, depth):
    children = [family(rng, depth - 1) for _ in range(rng.randrange(4))] if depth else []
    return Family(torch.tensor(rng.random()).requires_grad_(), children)


def linked(rng, length):
    return functools.reduce(lambda rest, _: Slotted(rng.random(), rest), range(length), Slotted(rng.random()))


def tensors_of(tree):
    """Returns the tensors of a tree that require a gradient."""
    found, pending = [], [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, torch.Tensor):
            found += [value] if value.requires_grad else []
        elif isinstance(value, (list, tuple)):
            pending += value
        elif value is not None and hasattr(value, "__dict__"):
            pending += value.__dict__.values()
    return found


def assert_one_graph(function, make, *args, trees=12, traces=1, also=()):
    """Asserts that results and gradients for random trees equal those of eager torch, without a warning, and with at most
    this number of traces."""
    rng, staged = random.Random(0), ag.function(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in range(trees):
            tree = make(rng, 4 - index % 5)
            result, expected = staged(tree, *args), function(tree, *args)
            assert type(result) is type(expected)
            assert_equal(result, expected)
            inputs = [*tensors_of(tree), *also]
            if inputs:
                found = torch.autograd.grad(result.sum(), inputs, allow_unused=True)
                right = torch.autograd.grad(expected.sum(), inputs, allow_unused=True)
                for one, other, tensor in zip(found, right, inputs):  # unused tensors of nodes get zeros
                    assert_equal(one, torch.zeros_like(tensor) if other is None and one is not None else other)
    assert len(staged.traces) <= traces
    return staged


def embed(node, weight):
    if node.left is None:
        return torch.tanh(node.value @ weight)
    return torch.tanh(embed(node.left, weight) + embed(node.right, weight) * 0.5) + node.value


def test_dataclass():
    weight = torch.randn(3, 3, requires_grad=True)
    staged = assert_one_graph(embed, node, weight, also=[weight])
    text = staged.graph(node(random.Random(1), 3), weight)
    assert text.count("func @") == 2 and text.count("call @") == 3, text


def test_named_tuple():
    def fields(node, table, weight):
        if node.word is not None:
            return table[node.word]
        return torch.tanh(torch.cat([fields(node.left, table, weight), fields(node.right, table, weight)]) @ weight)

    def unpacked(node, table, weight):
        word, left, right = node
        if left is None:
            return table[word]
        return torch.tanh(torch.cat([unpacked(left, table, weight), unpacked(right, table, weight)]) @ weight)

    torch.manual_seed(0)
    table, weight = torch.randn(5, 4, requires_grad=True), torch.randn(8, 4, requires_grad=True)
    for function in (fields, unpacked):
        assert_one_graph(function, word, table, weight, also=[table, weight])


def test_children_properties_and_methods():
    """The class has no annotations. A tree in which a node has a child shows that the class refers to itself."""
    scale = torch.tensor(1.5, requires_grad=True)

    def total(root, scale):
        return root.total(scale)

    assert_one_graph(total, family, scale, also=[scale])

    def ends(root):
        if len(root.children) > 1:
            return root.children[0].weight * root.children[-1].weight
        return root.weight

    assert_one_graph(ends, family)


def test_linked_list_with_slots():
    def total(node):
        result = torch.tensor(0.0)
        while node is not None:
            result = result * 0.5 + node.value
            node = node.next
        return result

    def largest(node):
        best = node.value
        while node.next:
            node = node.next
            best = max(best, node.value)
        return best

    assert_one_graph(total, linked)
    assert_one_graph(largest, linked)


def test_truth_of_nodes():
    def depth(node):
        if not node:
            return 0
        return 1 + max(depth(node.left), depth(node.right))

    def count(node):
        both = 1 if node.left and node.right else 0
        left = count(node.left) if node.left is not None else 0
        right = count(node.right) if node.right is not None else 0
        return both + left + right

    assert_one_graph(depth, number)
    assert_one_graph(count, number)


def test_isinstance():
    def total(node):
        if not isinstance(node, Number):
            return torch.tensor(0.0)
        return node.value + total(node.left) - total(node.right)

    assert_one_graph(total, number)


def test_stack_of_nodes():
    def preorder(root):
        stack, result = [root], torch.tensor(0.0)
        while len(stack) > 0:
            node = stack.pop()
            result = result * 0.9 + node.value
            if node.right is not None:
                stack.append(node.right)
            if node.left is not None:
                stack.append(node.left)
        return result

    assert_one_graph(preorder, number)


def test_lists_of_trees():
    def values(node):
        return node.value * 2 if node.left is None else node.value + values(node.left)

    def loop(trees, factors):
        total = torch.tensor(0.0)
        for tree, factor in zip(trees, factors):
            total = torch.sin(total) + values(tree) * factor
        return total

    def comprehension(trees, factors):
        return torch.stack([values(tree) * factor for tree, factor in zip(trees, factors)])

    for count in (3, 20):
        factors = [torch.tensor(float(k)) for k in range(count)]
        staged = assert_one_graph(loop, lambda rng, depth, n=count: [number(rng, depth) for _ in range(n)], factors)
        text = staged.graph([number(random.Random(0), 3) for _ in range(count)], factors)
        assert text.count("call @") == (2 if count == 20 else 6) and ("for(" in text) == (count == 20)
    assert_one_graph(comprehension, lambda rng, depth: [number(rng, depth) for _ in range(3)], factors[:3])


def test_shared_nodes_and_cycles():
    def laps(node, count):
        total = torch.tensor(0.0)
        while count > 0:
            total = total * 0.5 + node.value
            node = node.next
            count = count - 1
        return total

    ring = Slotted(1.0, Slotted(2.0))
    ring.next.next = ring
    assert_equal(ag.function(laps)(ring, torch.tensor(5)), laps(ring, torch.tensor(5)))

    def is_shared(node):
        return node.left is node.right

    leaf = Node(torch.ones(3))
    staged = ag.function(is_shared)
    assert staged(Node(torch.ones(3), leaf, leaf)) is True
    assert staged(Node(torch.ones(3), leaf, Node(torch.ones(3)))) is False
    assert len(staged.traces) == 1


def test_several_arguments():
    def same(a, b):
        if a is None or b is None:
            return a is None and b is None
        return same(a.left, b.left) and same(a.right, b.right)

    rng, staged = random.Random(0), ag.function(same)
    trees = [number(rng, 2) for _ in range(6)]
    for a in trees:
        for b in trees:
            assert staged(a, b=b) is same(a, b)
    assert len(staged.traces) == 1


def test_objects_are_read_in_each_call():
    staged = ag.function(embed)
    tree, weight = node(random.Random(0), 3), torch.eye(3)
    staged(tree, weight)
    tree.left, tree.value = None, torch.ones(3)
    assert_equal(staged(tree, weight), embed(tree, weight))
    assert len(staged.traces) == 1


def test_returned_nodes():
    def leftmost(node):
        while node.left is not None:
            node = node.left
        return node

    def parts(node):
        return {"left": node.left, "all": [node, node.right]}

    leftmost_staged, parts_staged = ag.function(leftmost), ag.function(parts)
    for seed in range(6):
        tree = number(random.Random(seed), 3)
        assert leftmost_staged(tree) is leftmost(tree)
        found = parts_staged(tree)
        assert found["left"] is tree.left and found["all"][0] is tree and found["all"][1] is tree.right
    assert len(leftmost_staged.traces) == len(parts_staged.traces) == 1


def test_call_and_other_special_methods():
    def program(node):
        return node(2.0) + node[3]

    def chain(rng, depth):
        return functools.reduce(lambda rest, _: Special(rng.random(), rest), range(depth), Special(1.0))

    assert_one_graph(program, chain)


class Special:
    def __init__(self, value: float, rest: "Special | None" = None):
        self.value, self.rest = value, rest

    def __call__(self, x):
        return x * self.value if self.rest is None else self.rest(x) + self.value

    def __getitem__(self, index):
        return self.value * index


def test_attribute_of_none():
    def second(node):
        return node.next.next.value

    staged = ag.function(second)
    assert staged(linked(random.Random(0), 3)) == second(linked(random.Random(0), 3))
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'next'"):
        staged(Slotted(1.0))
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'value'"):
        staged(Slotted(1.0, Slotted(2.0)))
    assert len(staged.traces) == 1


def test_value_of_none():
    def double(node):
        return node.word * 2

    staged = ag.function(double)
    assert staged(Word(3)) == 6
    with pytest.raises(TypeError, match="`word` of a `Word` is None"):
        staged(Word(None, Word(1), Word(2)))


def test_optional_value_is_returned():
    def word_of(node):
        return node.word

    staged = ag.function(word_of)
    assert staged(Word(3)) == 3
    assert staged(Word(None, Word(1), Word(2))) is None


def test_index_of_children():
    def child(node, index):
        return node.children[index].weight

    root = Family(torch.tensor(0.0), [Family(torch.tensor(float(k))) for k in range(3)])
    staged = ag.function(child)
    for index in range(-3, 3):
        assert_equal(staged(root, torch.tensor(index)), child(root, index))
        assert_equal(staged(root, index), child(root, index))
    for index in (-4, 3):
        with pytest.raises(IndexError):
            staged(root, torch.tensor(index))


def test_deep_list():
    def total(node):
        return node.value if node.next is None else node.value + total(node.next)

    deep = Slotted(1.0)
    for _ in range(20_000):
        deep = Slotted(1.0, deep)
    assert ag.function(total)(deep) == 20_001.0


# Trees that columns cannot represent: the call is traced with the objects, and a warning gives the reason.


def assert_as_objects(function, make, message, check=assert_equal):
    rng, staged = random.Random(0), ag.function(function)
    tree = make(rng, 3)
    state = random.Random(0)
    with pytest.warns(UserWarning, match=message):
        result = staged(tree)
    check(result, function(make(state, 3)))
    return staged, tree


def test_assigned_attributes():
    def mark(node):
        node.value = node.value * 2
        return node.value

    staged, tree = assert_as_objects(mark, number, "assigns the attribute `value` of a node")
    assert tree.value == number(random.Random(0), 3).value * 2


def test_changed_tensors():
    def double(node):
        node.value.mul_(2)
        return node.value + 1

    plain = lambda rng, depth: Node(torch.ones(3), Node(torch.zeros(3)))  # noqa: E731
    _, tree = assert_as_objects(double, plain, "a tensor of a node is changed in place")
    assert_equal(tree.value, torch.full((3,), 2.0))


def test_backward_inside():
    def step(node):
        loss = embed(node, torch.eye(3)).sum()
        loss.backward()
        return loss.detach()

    _, tree = assert_as_objects(step, node, "gradient")
    expected = node(random.Random(0), 3)
    step(expected)
    for found, other in zip(tensors_of(tree), tensors_of(expected)):
        assert_equal(found.grad, other.grad)


def test_tensors_of_different_shapes():
    shapes = lambda rng, depth: Node(torch.ones(3), Node(torch.ones(2)))  # noqa: E731
    assert_as_objects(lambda node: node.value.sum() + node.left.value.sum(), shapes, "`value` cannot be a column: it holds tensors of")


def test_attributes_of_other_classes():
    """`Page` and `Note` refer to each other, so `Page` cannot become columns if `Note` contains a string."""

    def labels(page):
        return len(page.notes[0].text) * page.value

    pages = lambda rng, depth: Page(2.0, [Note("ab", Page(1.0, []))])  # noqa: E731
    assert_as_objects(labels, pages, "each object of the class `Page`.*`text` cannot be a column")


@dataclasses.dataclass
class Page:
    value: float
    notes: "list[Note]"


@dataclasses.dataclass
class Note:
    text: str
    page: Page


def test_other_values():
    mixed = lambda rng, depth: Word("a", Word("b"))  # noqa: E731
    assert_as_objects(lambda node: torch.ones(2) * len(node.word) * len(node.left.word), mixed, "`word` cannot be a column: it holds `str`")


def test_returned_list_of_nodes():
    def path(node):
        found = []
        while node is not None:
            found.append(node)
            node = node.left
        return found

    assert_as_objects(path, number, "the function returns or stores a list of nodes", lambda a, b: None)


def test_code_that_is_not_converted():
    def count(node):
        return sum(1 for part in (node.left, node.right) if has(part))

    @ag.do_not_convert
    def has(part):
        return part is not None

    assert_as_objects(count, number, "a node of a tree is passed to `has`, which is not converted", lambda a, b: None)


def test_equality_of_a_class():
    assert_as_objects(lambda node: node.left == node.right, number, "defines which nodes are equal", lambda a, b: None)


def test_attributes_that_are_not_read():
    """Attributes that no graph reads may have any value."""
    named = lambda rng, depth: binary(rng, depth, lambda a, b: NamedNode(rng.random(), {"any": object()}, a, b))  # noqa: E731

    def total(node):
        return node.value if node.left is None else total(node.left) * total(node.right) + node.value

    assert_one_graph(total, named)


@dataclasses.dataclass
class NamedNode:
    value: float
    notes: dict
    left: "NamedNode | None" = None
    right: "NamedNode | None" = None


def test_other_objects_remain_objects():
    @dataclasses.dataclass
    class Settings:
        rate: float
        parts: list

    def scale(x, settings):
        settings.parts.append(1)
        return x * settings.rate

    settings, staged = Settings(2.0, []), ag.function(scale)
    assert_equal(staged(torch.ones(2), settings), torch.full((2,), 2.0))
    assert settings.parts == [1]


def test_fails_as_objects_too():
    def broken(node):
        raise ValueError("wrong")

    staged = ag.function(broken)
    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"):
            staged(number(random.Random(0), 2))
