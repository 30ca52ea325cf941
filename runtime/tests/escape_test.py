"""Objects that a staged function returns or stores: each run creates new objects of the same classes, with the values of the
run and without stand-ins."""

import collections
import enum
import functools
import weakref

import pytest
import torch

import autograph as ag
from oracle import assert_equal, t

CALLS = (t(1, 2), t(4, 1), t(1, 2, 3), t(5))


class Node:
    def __init__(self, x, n):
        self.x, self.n, self.items = x, n, [x, n]

    def double(self):
        return self.x * 2


class Slotted:
    __slots__ = ("x",)


def shapes(x):
    return x.shape, list(x.shape), x.size(0), x.numel(), {x.shape[0]: x}, slice(0, x.shape[0])


def objects_in_objects(x):
    node = Node(x * 2, Node(x + 1, x.sum() > 3))
    node.me = node
    slotted = Slotted()
    slotted.x = node
    return slotted


def closures(x):
    n = x.sum()

    def add():
        nonlocal n
        n = n + 1
        return n

    return add, lambda: n, functools.partial(torch.add, x * 2), Node(x, 1).double


def containers(x):
    pair = collections.namedtuple("Pair", "a b")
    items = [x * 2]
    return (
        collections.deque([x, x * 2], maxlen=2), collections.OrderedDict(a=x), collections.defaultdict(list, a=[x]),
        pair(x, items), items, {x * 3}, ValueError(x),
    )  # fmt: skip


def distributions(x):
    return torch.distributions.Normal(x, x.exp()), torch.distributions.Categorical(logits=x)


def new_module(x):
    module = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(module.weight)
    torch.nn.init.zeros_(module.bias)
    return module


def references(x):
    node = Node(x, 1)
    return weakref.ref(node), node


READ = {
    shapes: lambda found: found,
    objects_in_objects: lambda s: (s.x.x, s.x.n.x, s.x.n.n, s.x.me is s.x, s.x.items[0] is s.x.x),
    closures: lambda f: (f[0](), f[0](), f[1](), f[2](1), f[3]()),
    containers: lambda c: (
        list(c[0]), c[0].maxlen, dict(c[1]), c[2]["a"], c[2]["b"], c[3].a, c[3].b is c[4], list(c[5]), c[6].args,
        [type(v).__name__ for v in c],
    ),
    distributions: lambda d: (d[0].mean, d[0].log_prob(t(1)), d[1].probs, d[1].entropy()),
    new_module: lambda m: (m(t(1, 1)), [(n, type(p).__name__, p.requires_grad) for n, p in m.named_parameters()]),
    references: lambda r: (r[0]() is r[1], r[1].x),
}  # fmt: skip


def plain(value):
    """Returns the printed forms of the leaves."""
    return [repr(leaf) for leaf in torch.utils._pytree.tree_leaves(value)]


@pytest.mark.parametrize("function", READ, ids=lambda function: function.__name__)
def test_results(function):
    staged, read = ag.function(function), READ[function]
    for x in CALLS:
        first = staged(x)
        assert plain(read(first)) == plain(read(function(x)))
        assert plain(read(staged(x))) == plain(read(function(x)))


def test_each_run_makes_new_objects():
    @ag.function
    def f(x):
        return Node(x, 1), [0], {"k": []}

    (node, items, keys), (other, others, other_keys) = f(t(1)), f(t(1))
    node.n, items[0] = 5, 5
    keys["k"].append(1)
    assert (other.n, others, other_keys) == (1, [0], {"k": []})


def test_state_outside():
    """The objects are in attributes and globals. The modules are those of torch and of the user."""

    class Model(torch.nn.Module):
        def forward(self, x):
            self.register_buffer("seen", x * 2)
            self.scale = torch.nn.Parameter(x + 1)
            return x

    def make():
        node, model, linear, log = Node(0, 0), Model(), torch.nn.Linear(2, 2), []

        def f(x):
            node.x, node.pair = Node(x * 2, 3), (x, {"a": x + 1})
            linear.register_buffer("seen", x * 3)
            log.append(Node(x, 1))
            return model(x)

        def read():
            parameters = [(n, p, type(p).__name__) for n, p in model.named_parameters()]
            return node.x.x, node.pair, model.seen, linear.seen, parameters, log[-1].x, len(log)

        return f, read

    (eager, expected), (function, found) = make(), make()
    staged = ag.function(function)
    for x in CALLS[:2]:
        eager(x), staged(x)
        assert plain(found()) == plain(expected())


class State(enum.Enum):
    OPEN = 1
    CLOSED = 2


DEFAULT = Node(1, 2)


def test_members_of_enumerations_and_global_objects_are_themselves():
    node = Node(0, State.OPEN)

    def current():
        return DEFAULT

    @ag.function
    def f(x):
        node.n = State.CLOSED if node.n is State.OPEN else State.OPEN
        return node.n, current(), x * node.n.value

    for k in range(4):
        state, default, result = f(t(10))
        assert default is DEFAULT and node.n is state is (State.OPEN if k % 2 else State.CLOSED)
        assert result.item() == 10 * state.value


def test_cached_functions_keep_no_tensors_of_a_trace():
    @functools.lru_cache(maxsize=None)
    def ones(n):
        return torch.ones(n) * 2

    class Table:
        @functools.lru_cache
        def row(self, n):
            return torch.full((n,), 3.0)

    table = Table()

    @ag.function
    def f(x):
        return x + ones(1) + table.row(1)

    for x in CALLS:
        torch.testing.assert_close(f(x), x + 5)


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda x: (x * k for k in range(3)), "<genexpr>"),
        (lambda x: iter([x, x * 2]), "list_iterator"),
        (lambda x: zip([x], [x * 2]), "zip"),
    ],
)
def test_object_that_a_run_cannot_create_is_refused(make, name):
    def f(x):
        return {"k": [make(x)]}

    with pytest.raises(ag.StagingError, match="leaves the function and holds values of the graph") as found:
        ag.function(f)(t(1, 2))
    assert name in str(found.value) and __file__ in str(found.value)


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.passed, self.last = 0, None

    def forward(self, x):
        if x.sum() > 2:
            self.passed += 1
            self.last = x * 1
            return x - 1
        return x


def test_the_state_of_modules_in_modules_of_torch():
    """Some of these modules are called by torch's code only."""
    found = []
    for stage in (lambda f: f, ag.function):
        gates = [Gate() for _ in range(3)]
        net = torch.nn.Sequential(gates[0], torch.nn.ModuleDict({"a": torch.nn.Sequential(gates[1])})["a"], gates[2])
        call = stage(lambda x, net=net: net(x))
        results = [call(x) for x in (t(1, 2), t(4, 1), t(0, 0), t(5, 5))]
        found.append((results, [(type(g.passed), g.passed, g.last) for g in gates]))
    assert_equal(found[1], found[0])


class Recent(collections.OrderedDict):
    def put(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > 2:
            self.popitem(last=False)


def test_keys_of_containers_from_outside():
    found = []
    for stage in (lambda f: f, ag.function):
        recent, plain = Recent(), {}

        def put(x, recent=recent, plain=plain):
            n = x[0].int().item()
            recent.put(n, x * 2)
            plain[n], plain[f"k{n}"] = n, x
            return x

        call = stage(put)
        for x in (t(1, 2), t(4, 1), t(1, 3), t(7, 3)):
            call(x)
        found.append([[(type(k), k, v) for k, v in d.items()] for d in (recent, plain)])
    assert_equal(found[1], found[0])


def test_a_result_that_a_list_from_outside_holds_too():
    """The backward pass of a later result does not enter the history of an earlier one."""
    history, w = [], torch.nn.Parameter(t(1, 2))

    @ag.function
    def f(x):
        y = (x * w).sum().tanh()
        history.append(y)
        return y

    for k in (1, 2, 3):
        w.grad = None
        f(t(k, 1)).backward()
    x = t(3, 1)
    torch.testing.assert_close(w.grad, x * (1 - torch.tanh((x * w).sum()) ** 2))


def test_state_with_a_history_on_which_the_result_does_not_depend():
    found = []
    for stage in (lambda f: f, ag.function):
        code = torch.ones(2)

        def f(x, code=code):
            code.copy_(code * 0.9 + x * 0.1)
            return (x * 2).sum() + (code.detach() * x).sum()

        call, grads = stage(f), []
        for k in (1, 2, 3):
            x = t(k, 1).requires_grad_()
            call(x).backward()
            grads.append(x.grad)
        found.append((grads, code.detach()))
    assert_equal(found[1], found[0])
