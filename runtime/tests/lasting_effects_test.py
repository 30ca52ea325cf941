"""Effects that Python would have only while tracing, and a graph would not repeat, are refused at their line."""

import contextlib
import hashlib
import io
import json
import os
import sys

import pytest
import torch

import autograph as ag
from oracle import assert_same, refusal, t


def effects(folder):
    file, digest = open(folder / "log.txt", "w+"), hashlib.sha256()  # noqa: SIM115

    def write(x):
        file.write("line\n")
        return x

    def dump(x):
        json.dump([1], file)
        return x

    def open_file(x):
        with open(folder / "other.txt", "a") as other:
            other.write("line\n")
        return x

    def environment(x):
        os.environ["DEPTH"] = "1"
        return x

    def digested(x):
        digest.update(b"x")
        return x, digest.hexdigest()

    def unconverted_output(x):
        sys.stdout.write("line\n")
        return x

    def redirected_print(x):
        with contextlib.redirect_stdout(io.StringIO()):
            print("line")
        return x

    def default_dtype(x):
        torch.set_default_dtype(torch.float64)
        return torch.ones(2) * x

    def gradients_off(x):
        torch.set_grad_enabled(False)
        return x

    return {
        write: "calls `write` of a `TextIOWrapper`",
        dump: "an open file is passed to code that is not converted",
        open_file: "for writing",
        environment: "calls `os.putenv`",
        digested: "calls `update` of a `HASH`",
        unconverted_output: "code that is not converted prints",
        redirected_print: "has replaced `sys.stdout`",
        default_dtype: "`set_default_dtype` changes a setting of torch",
        gradients_off: "changes a setting of torch",
    }


def test_effects_outside_are_refused(tmp_path):
    for program, message in effects(tmp_path).items():
        assert message in refusal(program, t(1, 2)), program.__name__
    assert (tmp_path / "log.txt").read_text() == "" and torch.is_grad_enabled()


def test_effects_on_new_objects(tmp_path):
    """Objects that the function creates, and reading, are no effects."""
    path = tmp_path / "scale.txt"
    path.write_text("3")

    def f(x):
        digest = hashlib.sha256()
        digest.update(b"x")
        with open(path) as file:
            scale = int(file.read())
        with contextlib.redirect_stdout(io.StringIO()) as text:
            text.write("line")
        return x * scale, digest.hexdigest(), text.getvalue()

    assert_same(f, (t(1, 2),), (t(3, 4),))


def test_effects_in_init_scope(tmp_path):
    """Python runs an `init_scope` once, while tracing, so all effects are allowed in it."""
    path = tmp_path / "log.txt"

    @ag.function
    def f(x):
        with ag.init_scope():
            path.write_text("traced")
        return x + 1

    f(t(1)), f(t(2))
    assert path.read_text() == "traced"


def test_a_fallback_runs_effects_in_python(tmp_path):
    path = tmp_path / "log.txt"

    @ag.function(fallback="eager")
    def f(x):
        with open(path, "a") as file:
            file.write("line\n")
        return x + 1

    with pytest.warns(ag.FallbackWarning, match="for writing"):
        f(t(1)), f(t(2))
    assert path.read_text() == "line\nline\n"


def test_files_that_libraries_write(tmp_path):
    path = tmp_path / "x.pt"

    def saved(x):
        torch.save(x.shape, path)
        return x

    def written(x):
        path.write_text("line")
        return x

    assert "`save` writes a file" in refusal(saved, t(1, 2))
    assert "for writing" in refusal(written, t(1, 2))
