"""When a function is traced again, and which arguments it accepts."""

import collections
import copy
import dataclasses
import functools
import inspect
import json
import os
import pickle
import subprocess
import sys
import warnings
import xml.etree.ElementTree

import pytest
import torch

import autograph as ag
from autograph.tracing.backoff import Backoff
from oracle import assert_equal, t


def traces(function):
    """Returns the number of traces of a function."""
    return sum(map(len, function._traces.values())) + sum(len(f.traces) for f in function._families.values())


def test_one_trace_per_argument_type():
    @ag.function
    def f(x, k):
        return x * k

    for x in (t(1, 2), t(3, 4)):
        assert_equal(f(x, 2), x * 2)
    assert traces(f) == 1
    f(t(1, 2), 3)
    f(t(1, 2).double(), 3)
    assert traces(f) == 3


def test_a_second_shape_makes_the_dimension_unknown():
    @ag.function
    def f(x, w):
        rows = []
        for i in range(x.shape[0]):
            rows.append(torch.tanh(x[i] @ w))
        return torch.stack(rows), x.shape[0], x.sum(0) / len(x), x.reshape(-1)

    w = torch.randn(3, 2)
    for n in (20, 25, 7, 30, 2):
        x = torch.randn(n, 3)
        assert_equal(f(x, w), f.python_function(x, w))
    assert traces(f) == 2


def test_signature():
    @ag.function(input_signature=["f32[?,3]", "i64[]"])
    def f(x, n):
        for i in range(n):
            x = x + i
        return x

    for rows in (1, 4, 5):
        x = torch.ones(rows, 3)
        assert_equal(f(x, torch.tensor(3)), x + 3)
    assert traces(f) == 1
    with pytest.raises(ag.StagingError, match=r"float32 of shape \[4\], but its signature expects f32\[\?,3\]"):
        f(torch.ones(4), torch.tensor(3))


def test_retraces_are_reported():
    @ag.function
    def f(x, k):
        return x + k

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(8):
            f(t(1), k)
    assert len(caught) == 1 and "4" in str(caught[0].message) and "`f`" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_structures_in_and_out():
    @ag.function
    def f(inputs, *rest, scale):
        a, (b, c) = inputs["a"], inputs["b"]
        return {"sum": a + b, "more": [c * scale, (rest[0], None, "text", 3)]}

    inputs = {"a": t(1), "b": (t(2), t(3))}
    assert_equal(f(inputs, t(5), scale=2.0), f.python_function(inputs, t(5), scale=2.0))


def test_the_same_tensor_twice():
    @ag.function
    def f(x, y):
        x += 1
        return x + y

    x = t(1, 2)
    assert f(x, x).tolist() == [4, 6]
    assert f(t(1, 2), t(1, 2)).tolist() == [3, 5]


def test_composition_is_one_graph():
    @ag.function
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    @ag.function
    def outer(x):
        return inner(x) + inner(-x)

    assert_equal(outer(t(1, 2)), t(1, 2))
    assert outer.graph(t(1, 2)).count("func @") == 1


def test_captures_are_by_reference():
    w = t(1, 2)

    @ag.function
    def f(x):
        return x * w

    assert f(t(1, 1)).tolist() == [1, 2]
    w.add_(1)
    assert f(t(1, 1)).tolist() == [2, 3]


def test_convert_and_to_graph():
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    assert_equal(ag.convert()(f)(t(1)), t(2))
    assert_equal(ag.to_graph(f)(t(-1)), t(-2))
    assert "if_exp" in ag.to_code(f)
    with pytest.raises(ag.ConversionError, match="generator"):
        ag.to_graph(generator)


def generator():
    yield 1


def test_methods_properties_and_partial():
    class Model:
        scale = 2

        @property
        def double(self):
            return self.scale * 2

        @staticmethod
        def shifted(x):
            return x + 1 if x.sum() > 0 else x

        @classmethod
        def named(cls, x):
            return x * cls.scale

        @ag.function
        def __call__(self, x, k=1):
            return self.named(self.shifted(x)) * self.double + k

    model = Model()
    assert_equal(model(t(1)), t(17))
    assert_equal(ag.function(functools.partial(Model.shifted))(t(1)), t(2))
    assert_equal(ag.function(lambda x: x + 1 if x.sum() > 0 else x)(t(1)), t(2))
    applied = lambda f: (lambda x: f(x) if x.sum() > 0 else x)  # noqa: E731
    assert_equal(ag.function(lambda x: applied(torch.neg)(x))(t(1)), t(-1))


def test_python_callback():
    seen = []

    def note(value, k):
        seen.append((value.tolist(), k))
        return value.flip(0), k * 2

    @ag.function
    def f(x, n):
        for i in range(n):
            x, k = ag.py_function(note, (x + i, i), ["f32[2]", "int"])
            x = x * k
        return x

    expected, found = [], t(1, 2)
    for i in range(3):
        expected.append(((found + i).tolist(), i))
        found = (found + i).flip(0) * (i * 2)
    assert_equal(f(t(1, 2), torch.tensor(3)), found)
    assert seen == expected


def test_exception_of_a_callback():
    class Own(Exception):
        pass

    def fail(x):
        raise Own("from Python")

    @ag.function
    def f(x):
        return ag.py_function(fail, (x,), "f32[1]")

    with pytest.raises(Own, match="from Python"):
        f(t(1))


def test_text_and_json_of_a_graph(tmp_path):
    """The parameters have the user's names, and each node has its source line."""
    file = tmp_path / "model.py"
    file.write_text("def step(x, state):\n    if x.sum() > 0:\n        x = x * state[0]\n    return x\n")
    written = {}
    for format in ("text", "json", "dot", "svg"):
        written[format] = subprocess.run(
            [sys.executable, "-m", "autograph.graph", file, "step", "--input", "x=f32[4]", "--input", "state=[1.5]"]
            + ["--format", format],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    assert '%x.0: f32[4] = argument "x"' in written["text"]
    node = json.loads(written["json"])["functions"][0]["body"]["nodes"][-1]
    assert node["op"] == "if" and node["span"]["source"] == "if x.sum() > 0:"
    assert "x = x * state[0]" in written["dot"] and "cluster" in written["dot"]
    drawing = xml.etree.ElementTree.fromstring(written["svg"])
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "2  if x.sum() > 0:" in texts


def test_signature_of_types():
    """An entry of a signature has a dtype and a shape. Any other entry raises immediately."""
    f = ag.function(lambda x: x * 2, input_signature=[torch.zeros(2)])
    assert_equal(f(t(1, 2)), t(2, 4))
    for wrong in (["f32[a]"], ["tensor"]):
        with pytest.raises(ValueError, match="invalid tensor type"):
            ag.function(lambda x: x, input_signature=wrong)
    for wrong in ("f32[?]", [3]):
        with pytest.raises(TypeError, match="type"):
            ag.function(lambda x: x, input_signature=wrong)


def test_only_plain_functions_are_staged():
    async def later(x):
        return x

    for wrong, message in ((generator, "a generator"), (later, "a coroutine")):
        with pytest.raises(ag.StagingError, match=message):
            ag.function(wrong)
    for wrong in (3, dict):
        with pytest.raises(TypeError, match="not a function"):
            ag.function(wrong)


def test_decorators_in_either_order():
    class Model:
        def __init__(self, w):
            self.w = w

        @ag.function
        @staticmethod
        def shifted(x):
            return x + 1

        @ag.function
        @classmethod
        def made(cls, x):
            return cls(x).w * 2

        @ag.function
        @property
        def double(self):
            return self.w * 2

    assert_equal((Model(t(1)).shifted(t(1)), Model.made(t(1)), Model(t(1)).double), (t(2), t(2), t(2)))


@ag.function
def documented(x, k=2):
    """Multiplies by `k`."""
    return x * k


def test_a_function_keeps_its_name_and_docstring():
    assert (documented.__name__, documented.__doc__) == ("documented", "Multiplies by `k`.")
    assert str(inspect.signature(documented)) == "(x, k=2)"
    assert pickle.loads(pickle.dumps(documented)) is documented
    assert_equal(copy.deepcopy(documented)(t(1)), t(2))


def test_results_keep_their_classes():
    @dataclasses.dataclass
    class Pair:
        first: object
        second: object

    @ag.function
    def f(x):
        counts = collections.defaultdict(list)
        counts["x"].append(x)
        return Pair(x + 1, [x * 2, "text"]), collections.OrderedDict(a=x), counts

    pair, ordered, counts = f(t(1))
    assert_equal([pair.first, *pair.second], [t(2), t(2), "text"])
    assert type(ordered) is collections.OrderedDict and counts["missing"] == []
    assert_equal(counts["x"], [t(1)])


def test_converted_forms():
    """Functions, methods, and objects that wrap a function can be converted."""

    class Model:
        @ag.convert()
        def forward(self, x):
            return x if x.sum() > 0 else -x

        __call__ = forward

    model = Model()
    for entity in (model.forward, model, functools.partial(Model.forward, model), ag.function(model.forward)):
        assert_equal(ag.to_graph(entity)(t(-1)), t(1))
        assert "if_exp" in ag.to_code(entity)


def test_functions_run_eagerly():
    @ag.function
    def f(x):
        return x + float(x.numpy()[0])

    ag.run_functions_eagerly()
    try:
        assert ag.functions_run_eagerly()
        for run in (f, ag.convert()(f.python_function)):
            assert_equal(run(t(1)), t(2))
    finally:
        ag.run_functions_eagerly(False)
    assert not f.traces
    with pytest.raises(ag.StagingError, match="needs the data of a tensor"):
        f.graph(t(1))


def test_eager_from_the_environment():
    code = "import autograph as ag; print(ag.functions_run_eagerly())"
    for value, wanted in (("1", "True"), ("0", "False")):
        environment = {**os.environ, "AUTOGRAPH_EAGER": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert run.stdout.strip() == wanted


def test_graphs_that_are_never_used_again(all_calls_looked_up):
    @ag.function
    def f(x, text):
        return x * len(text)

    found = [f(t(1, 2), "a" * k).tolist() for k in range(20)]
    assert found == [[k, 2 * k] for k in range(20)]
    assert sum(f.fallbacks.values()) == 8 and traces(f) == 12
    for k in range(100, 400):
        assert f(t(1, 2), "a" * k).tolist() == [k, 2 * k]
    assert traces(f) < 8, "graphs that were not used again have been discarded"
    assert "mul" in f.graph(t(1, 2), "b")
    for k in range(400):
        f(t(1, 2), "b" * (k % 2))
    before = sum(f.fallbacks.values())
    f(t(1, 2), "b")
    assert sum(f.fallbacks.values()) == before, "the graph is used again"


def test_slow_traces_that_are_never_used_again(all_calls_looked_up, monkeypatch):
    monkeypatch.setattr("autograph.api.lookup.SLOW", 0.0)

    @ag.function
    def f(x, text):
        return x * len(text)

    found = [f(t(1, 2), "a" * k).tolist() for k in range(20)]
    assert found == [[k, 2 * k] for k in range(20)]
    assert sum(f.fallbacks.values()) == 16 and traces(f) == 4


def test_many_graphs_that_are_used_in_turn(all_calls_looked_up):
    @ag.function
    def f(x, text):
        return x * len(text)

    for k in range(400):
        assert f(t(1, 2), "a" * (k % 20)).tolist() == [k % 20, 2 * (k % 20)]
    assert traces(f) == 20
    before = sum(f.fallbacks.values())
    for k in range(20):
        f(t(1, 2), "a" * k)
    assert sum(f.fallbacks.values()) == before


def test_attempts_that_fail_again_take_little_time():
    """A trace may take hundreds of times as long as the call, so the number of skipped calls alone does not decide."""
    backoff = Backoff(tolerated=0, first=2)
    for seconds, expected in ((100.0, 4), (1.0, 60), (0.1, 16)):
        backoff.failed("a reason", seconds)
        skipped = 0
        while not backoff.should_try():
            skipped += 1
            backoff.owed -= 0.5
        assert skipped == expected
    backoff.failed("a reason", 1.0)
    backoff.try_now()
    assert backoff.should_try()


def test_runs_that_contradict_assumptions_are_skipped():
    @ag.function
    def f(x):
        return f"{x.argmax().item()}".zfill(3)

    for _ in range(3):
        assert f(t(1, 0, 0)) == "000"
    for k in range(100):
        assert f(t(0, 1 + k, 0)) == "001"
    (trace,) = f.traces
    assert trace.runs.failures < 12
    assert f(t(1, 0, 0)) == "000"
