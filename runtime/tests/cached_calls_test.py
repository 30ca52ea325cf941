"""Cached calls: a call like the preceding ones finds its trace without the lookup in Python. Each test calls a function
until its call is cached, changes one thing that the trace depends on, and compares the next call with eager torch."""

import gc
import threading
import weakref

import pytest
import torch

import autograph as ag


def cached(function, *args):
    """Returns a staged function whose calls with these arguments are cached."""
    staged = ag.function(function)
    for _ in range(3):
        staged(*args)
    assert staged.cached_call is not None
    return staged


def same(staged, *args):
    """Asserts that a call returns bitwise the same as eager torch. Returns True, so that callers can assert it."""
    found, expected = staged(*args), staged.python_function(*args)
    assert type(found) is type(expected)
    for one, other in zip(leaves(found), leaves(expected)):
        assert type(one) is type(other)
        if isinstance(other, torch.Tensor):
            assert one.dtype == other.dtype and one.shape == other.shape and one.requires_grad == other.requires_grad
            assert torch.equal(one, other) and one.stride() == other.stride()
        else:
            assert one == other
    return True


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def kind_of(x, y):
    """Returns a result that depends on everything in the key of a trace."""
    if isinstance(y, torch.Tensor):
        return x * 2 + y, x.is_contiguous(), x is y, x.dim()
    return x * 2, type(y).__name__, str(y)


PLAIN = [True, False, 1, 0, 1.0, 0.0, -0.0, float("nan"), 2**70, "1", "", None, torch.float32, (1, 2)]


@pytest.mark.parametrize("first", PLAIN, ids=repr)
def test_other_number(first):
    x = torch.ones(3)
    staged = ag.function(kind_of)
    for _ in range(3):
        staged(x, first)
    for other in [*PLAIN, first]:
        assert same(staged, x, other)


def tensors():
    x = torch.arange(4.0).reshape(2, 2)
    yield "same", x, torch.ones(2, 2)
    yield "other values", -x, torch.ones(2, 2)
    yield "transposed", x.t(), torch.ones(2, 2)
    yield "other shape", torch.ones(3, 2), torch.ones(3, 2)
    yield "other rank", torch.ones(2), torch.ones(2)
    yield "other dtype", x.double(), torch.ones(2, 2)
    yield "integers", x.long(), torch.ones(2, 2)
    yield "the same object twice", x, x
    yield "with a gradient", x.clone().requires_grad_(), torch.ones(2, 2)
    yield "a parameter", torch.nn.Parameter(x.clone()), torch.ones(2, 2)
    yield "a sparse tensor", x.to_sparse(), torch.ones(2, 2)
    yield "a number", x, 3


CASES = {name: pair for name, *pair in tensors()}


@pytest.mark.parametrize("first", [name for name in CASES if "sparse" not in name])
def test_other_tensor(first):
    staged = ag.function(kind_of)
    for _ in range(3):
        staged(*CASES[first])
    for name, pair in CASES.items():
        if name == "a sparse tensor":
            continue
        assert same(staged, *pair), name
    assert same(staged, *CASES[first])


def nested(batch, *rest, scale=1.0, mask=None):
    """Returns a result that depends on the structure of the arguments and on the order of keys."""
    found, tensors = [describe(batch), describe(rest), describe(mask)], []
    for text, inside in found:
        tensors += inside
    total = tensors[0] * 0
    for index, tensor in enumerate(tensors):
        total = total + (index + 1) * tensor
    return total * scale, [text for text, _ in found], tensors[0] is tensors[-1]


def describe(value):
    """Returns the types and numbers of a structure as text, and its tensors."""
    if isinstance(value, torch.Tensor):
        return "tensor", [value]
    if isinstance(value, dict):
        found = [(f"{key!r}: ", describe(item)) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        found = [("", describe(item)) for item in value]
    else:
        return repr(value), []
    tensors = []
    for _, (_, inside) in found:
        tensors += inside
    name = "dict" if isinstance(value, dict) else "list" if isinstance(value, list) else "tuple"
    return f"{name}({', '.join([key + text for key, (text, _) in found])})", tensors


X, Y = torch.arange(3.0), torch.ones(3)
NESTED = [
    (({"x": X, "y": Y},), {}),
    (({"y": X, "x": Y},), {}),
    (({"x": X, "y": X},), {}),
    (({"x": X, "y": [Y]},), {}),
    (({"x": X, "y": (Y,)},), {}),
    (({"x": X, "y": [Y, Y]},), {}),
    (({"x": X, "y": Y, "z": Y},), {}),
    (({"x": X, 1: Y},), {}),
    (([X, Y],), {}),
    (((X, Y),), {}),
    ((X, Y), {}),
    ((X, Y), {"scale": 2.0}),
    ((X, Y), {"scale": 3}),
    ((X,), {"mask": Y}),
    ((X,), {"mask": Y, "scale": 2.0}),
    ((X,), {"scale": 2.0, "mask": Y}),
    ((X, []), {}),
    ((X, {}), {}),
    ((X, {"n": 1}), {}),
    ((X, {"n": 2}), {}),
]


@pytest.mark.parametrize("first", range(len(NESTED)))
def test_other_structure(first):
    staged = ag.function(nested)
    args, kwargs = NESTED[first]
    for _ in range(3):
        staged(*args, **kwargs)
    for args, kwargs in [*NESTED, NESTED[first]]:
        found, expected = staged(*args, **kwargs), nested(*args, **kwargs)
        assert torch.equal(found[0], expected[0]) and found[1:] == expected[1:]


def test_a_dictionary_is_changed_in_each_call():
    def f(batch):
        batch["sum"] = batch["x"].sum()
        batch["x"] *= 2
        return {"twice": batch["x"], "keys": list(batch)}

    staged = ag.function(f)
    for n in range(4):
        found, expected = {"x": torch.full((2,), float(n))}, {"x": torch.full((2,), float(n))}
        assert str(staged(found)) == str(f(expected)) and str(found) == str(expected)


def test_each_call_creates_the_containers_of_its_result():
    def f(x, n):
        shared = [x + n, None]
        return {"first": shared, 1: [shared, (x * n, "text", ())], None: {}, "marker": MARKER}

    staged = cached(f, torch.ones(2), 3)
    one, other = staged(torch.zeros(2), 3), staged(torch.zeros(2), 3)
    assert str(one) == str(f(torch.zeros(2), 3)) and one["marker"] is MARKER
    assert one["first"] is one[1][0] and one["first"] is not other["first"]
    one["first"].append(1)
    one[None]["key"] = 1
    assert str(staged(torch.zeros(2), 3)) == str(other)


def test_containers_of_a_result_without_shared_items():
    def f(x, n):
        return {"first": [x + n, None], 1: [[x], (x * n, "text", ())], None: {}, "marker": MARKER}

    def items(n):
        return lambda x: [{"x": x * n}, x.sum()]

    staged = cached(f, torch.ones(2), 3)
    for n in (3, 3, 4):
        one, other = staged(torch.zeros(2), n), staged(torch.zeros(2), n)
        assert str(one) == str(f(torch.zeros(2), n)) and list(one) == ["first", 1, None, "marker"]
        assert one["marker"] is MARKER and one["first"] is not other["first"] and one[None] is not other[None]
    staged = cached(items(2), torch.ones(2, requires_grad=True))
    x = torch.ones(2, requires_grad=True)
    found = staged(x)
    (found[0]["x"].sum() + found[1]).backward()
    assert torch.equal(x.grad, torch.full((2,), 3.0))


MARKER = object()


def scaled(x):
    return x * FACTOR + 1


FACTOR = 2.0


def test_other_global(monkeypatch):
    x = torch.ones(3)
    staged = cached(scaled, x)
    for factor in (3.0, torch.full((3,), 4.0), 2, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert same(staged, x)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.rate = 0.5

    def forward(self, x):
        x = x * self.weight
        return x * self.rate if self.training else x


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
def test_other_state_of_module(mode):
    with mode():
        layer, x = Layer(), torch.arange(3.0)
        staged = cached(layer.forward, x)
        with torch.no_grad():
            layer.weight.add_(1)
        assert same(staged, x)
        layer.weight = torch.nn.Parameter(torch.full((3,), 7.0))
        assert same(staged, x)
        layer.rate = 2.0
        assert same(staged, x)
        layer.eval()
        assert same(staged, x)
        layer.weight.requires_grad_(False)
        assert same(staged, x)
        layer.double()
        assert same(staged, x)


def test_gradient_reaches_arguments_of_cached_calls():
    def f(x, w):
        return (x * w).sum()

    x, w = torch.arange(3.0), torch.ones(3, requires_grad=True)
    staged = cached(f, x, w)
    for _ in range(2):
        w.grad = None
        staged(x, w).backward()
        assert torch.equal(w.grad, x)
    with torch.no_grad():
        assert not staged(x, w).requires_grad
    assert staged(x, w).requires_grad


def settings():
    yield "no_grad", torch.no_grad
    yield "inference mode", torch.inference_mode
    yield "autocast", lambda: torch.autocast("cpu", torch.bfloat16)
    yield "default device", lambda: torch.device("meta")
    yield "deterministic", lambda: torch.backends.mkldnn.flags(enabled=False)


@pytest.mark.parametrize(("name", "setting"), settings(), ids=lambda it: it if isinstance(it, str) else "")
def test_other_setting_of_torch(name, setting):
    def f(x, w):
        return x @ w, torch.ones(2), torch.is_grad_enabled()

    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    staged = cached(f, x, w)
    for _ in range(2):
        with setting():
            found, expected = staged(x, w), f(x, w)
            for one, other in zip(found[:2], expected[:2]):
                assert one.dtype == other.dtype and one.device == other.device
                assert one.requires_grad == other.requires_grad
            assert found[2] == expected[2]
        assert same(staged, x, w)


def test_forward_mode_is_refused_as_in_the_first_call():
    staged = cached(lambda x: x * 2, torch.ones(2))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(ag.StagingError, match="forward-mode"):
        staged(torch.ones(2))


class Counter:
    def __init__(self, step):
        self.step = step
        self.total = torch.zeros(2)

    @ag.function
    def add(self, x):
        self.total = self.total + x * self.step
        return self.total.sum()


def test_methods_depend_on_their_object():
    one, other = Counter(1.0), Counter(10.0)
    for _ in range(4):
        one.add(torch.ones(2))
    assert Counter.add.cached_call is not None
    assert other.add(torch.ones(2)) == 20
    one.step = 2.0
    assert one.add(torch.ones(2)) == 12
    one.total = torch.full((2,), 100.0)
    assert one.add(torch.ones(2)) == 204
    assert other.add(torch.ones(2)) == 40


def test_arguments_that_cannot_be_compared_are_considered_once(monkeypatch):
    considered = []

    class CachedCall:
        @staticmethod
        def of(trace, *args, **kwargs):
            considered.append(trace)

    monkeypatch.setattr("autograph.api.function.CachedCall", CachedCall)
    staged = ag.function(lambda tensors: sum(tensors))
    for _ in range(6):
        staged([torch.ones(1)] * 2)
    assert len(considered) == 1


def test_functions_run_eagerly():
    calls = []

    def f(x):
        if ag.functions_run_eagerly():
            calls.append(1)
        return x + 1

    x = torch.ones(3)
    staged = cached(f, x)
    ag.run_functions_eagerly()
    try:
        staged(x)
        assert calls == [1]
    finally:
        ag.run_functions_eagerly(False)
    assert same(staged, x)


def test_a_traced_function_calls_it():
    inner = cached(scaled, torch.ones(3))

    @ag.function
    def outer(x):
        return inner(x) * 3

    assert torch.equal(outer(torch.ones(3)), torch.full((3,), 9.0))
    assert "mul" in outer.graph(torch.ones(3))


def test_exceptions_have_the_line_of_the_source():
    def pick(x, i):
        return x[i] + 1

    x = torch.arange(3)
    staged = cached(pick, x, torch.tensor(1))
    with pytest.raises(IndexError) as raised:
        staged(x, torch.tensor(5))
    assert raised.traceback[-1].path.name == "cached_calls_test.py"
    assert raised.traceback[-1].frame.code.name == "pick"
    assert same(staged, x, torch.tensor(2))


def test_effects_happen_in_each_call(capsys):
    state = {"calls": 0}

    def f(x):
        state["calls"] += 1
        print("sum", x.sum())
        x += 1
        return torch.rand(2)

    staged = ag.function(f)
    x = torch.zeros(2)
    torch.manual_seed(0)
    found = [staged(x) for _ in range(6)]
    torch.manual_seed(0)
    assert all(torch.equal(one, torch.rand(2)) for one in found)
    assert state["calls"] == 6 and torch.equal(x, torch.full((2,), 6.0))
    assert capsys.readouterr().out.splitlines() == [f"sum tensor({2 * n}.)" for n in range(6)]


def test_shadow_mode_compares_each_call():
    staged = ag.function(lambda x: x + 1, verify=True)
    for _ in range(4):
        staged(torch.ones(2))
    assert staged.cached_call is None


def test_a_function_with_a_fallback_calls_it():
    """While Python runs a function with a fallback, functions that it calls fall back too."""
    inner = cached(lambda x: x + 1, torch.ones(2))

    @ag.function(fallback="eager")
    def outer(x, path):
        with open(path, "w") as file:
            file.write(str(inner(x).tolist()))
        return inner(x)

    assert torch.equal(inner(torch.ones(2)), torch.full((2,), 2.0))


def test_functions_are_collected():
    def make():
        weight = torch.ones(3)
        staged = cached(lambda x: x * weight, torch.ones(3))
        return weakref.ref(staged.python_function)

    found = make()
    gc.collect()
    assert found() is None


def test_threads_share_the_cached_call():
    staged = cached(lambda x: (x * 2, x + 1), torch.ones(4))
    failed = []

    def work(value):
        x = torch.full((4,), float(value))
        for _ in range(300):
            doubled, next = staged(x)
            if not (torch.equal(doubled, x * 2) and torch.equal(next, x + 1)):
                failed.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
