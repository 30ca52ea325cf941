"""Saved functions run without their Python code, both in Python and in `ag-run`."""

import os
import subprocess
from pathlib import Path

import pytest
import torch

import autograph as ag
from oracle import assert_equal

AG_RUN = Path(os.environ.get("AG_RUN", Path(__file__).parents[2] / "target" / "release" / "ag-run"))
layer = torch.nn.Linear(3, 2)


@ag.function
def halve(x, limit):
    """Has a loop, a branch, captured parameters and two results."""
    rounds = 0
    while x.norm() > limit:
        x = x / 2
        rounds += 1
    return layer(x) if x.sum() > 0 else -layer(x), rounds


@pytest.fixture
def model(tmp_path):
    halve.save(tmp_path / "model", torch.ones(3), torch.tensor(1.0))
    return tmp_path / "model"


def test_a_saved_function_is_loaded(model):
    loaded = ag.load(model)
    assert loaded.arguments == [("x", "f32[3]"), ("limit", "f32[]")]
    x, limit = torch.tensor([-9.0, 4, 3]), torch.tensor(2.0)
    assert_equal(loaded(x, limit=limit), halve(x, limit))
    for args, kwargs in [((x,), {}), ((x, limit, x), {}), ((x,), {"limits": limit}), ((x, limit), {"x": x})]:
        with pytest.raises(TypeError):
            loaded(*args, **kwargs)
    with pytest.raises(RuntimeError, match="`x`"):
        loaded(torch.ones(4), limit)


def test_a_saved_function_runs_without_python(model, tmp_path):
    if not AG_RUN.is_file():
        pytest.skip(f"{AG_RUN} is not built")
    numpy = pytest.importorskip("numpy")
    x, limit = torch.tensor([9.0, 4, 3]), torch.tensor(2.0)
    numpy.save(tmp_path / "x.npy", x.numpy())
    numpy.save(tmp_path / "limit.npy", limit.numpy())
    inputs = ["--input", tmp_path / "x.npy", "--input", tmp_path / "limit.npy"]
    done = subprocess.run([AG_RUN, model, *inputs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value, rounds = halve(x, limit)
    assert str(int(rounds)) in done.stdout and f"{value[0].item():.4f}"[:6] in done.stdout, done.stdout


def test_function_with_effects_outside_its_graph_is_not_saved(tmp_path):
    counts = {"calls": 0}

    @ag.function
    def counted(x):
        counts["calls"] += 1
        return x + 1

    @ag.function
    def written(x):
        layer.bias.data.add_(1)
        return x

    for function in (counted, written):
        with pytest.raises(ag.AutographError, match="cannot be saved"):
            function.save(tmp_path / "model", torch.ones(3))


def test_damaged_models_are_errors(model, tmp_path):
    with pytest.raises(OSError):
        ag.load(tmp_path / "nothing")
    (model / "captures.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="captures.safetensors"):
        ag.load(model)
    (model / "graph.txt").write_text("graph 1\nfunc @f(")
    with pytest.raises(ValueError, match="graph.txt: line 2"):
        ag.load(model)
