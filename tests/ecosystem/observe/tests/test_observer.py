"""Observes small programs with known behavior. Each framework requires an environment in
`target/observe`."""
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

import compare  # noqa: E402
from run import CACHE  # noqa: E402


def observe(folder, framework, program):
    pythons = [CACHE / name / "bin/python" for name in (f"{framework}-quick", framework)]
    python = next((python for python in pythons if python.exists()), None)
    if python is None:
        pytest.skip(f"{framework} is not installed")
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    facts = folder / "facts.jsonl"
    subprocess.run([python, "-m", "observer", "--facts", facts, "--root", folder, "--framework", framework, "--", path],
                   check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(HERE), "CUDA_VISIBLE_DEVICES": "-1",
                                                "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"})
    return [json.loads(line) for line in facts.read_text().splitlines()]


def decisions(facts):
    return {(row["line"], row["column"], row["construct"]): compare.observed_verdict(row)
            for row in facts if row["kind"] == "decision"}


def functions(facts):
    return {row["name"] for row in facts if row["kind"] == "function"}


def errors(facts):
    return {row["line"] for row in facts if row["kind"] == "error" and row["traced"]}


def test_jax(tmp_path):
    facts = observe(tmp_path, "jax", """\
        import jax
        import jax.numpy as jnp

        def helper(x, flag):
            if flag and x.ndim:
                return x
            return x + 1

        @jax.jit
        def traced(x):
            for i in range(2):
                x = helper(x, i)
            return x if x is not None else [i for i in range(3) if i]

        @jax.jit
        def rejected(x):
            if not x.sum() > 0:
                return x
            return -x

        def known(x):
            return x if x > 0 else -x

        def mapped(x):
            return x if x > 0 else -x

        traced(jnp.ones(3))
        helper(jnp.ones(3), 0)
        jax.grad(known)(1.0)
        for function in rejected, jax.vmap(mapped):
            try:
                function(jnp.ones(3))
            except jax.errors.TracerBoolConversionError:
                pass
        """)
    found = decisions(facts)
    assert found[5, 5, "if"] == found[5, 8, "and"] == found[11, 5, "for"] == found[13, 12, "ifexp"] == "python"
    assert found[17, 8, "not"] == found[25, 12, "ifexp"] == "staged"
    # `not` raises, so the `if` is never evaluated. Under `grad` alone values are known.
    assert (17, 5, "if") not in found and (22, 12, "ifexp") not in found
    assert functions(facts) == {"helper", "traced", "rejected", "mapped"}
    assert errors(facts) == {17, 25}


def test_tensorflow(tmp_path):
    facts = observe(tmp_path, "tensorflow", """\
        import tensorflow as tf

        def helper(x, flag):
            if flag:
                return x
            elif x[0] > 0:
                x = -x
            return x

        @tf.function
        def converted(x, n):
            for i in tf.range(3):
                if i > 1 and n > 2:
                    continue
            while n > 0:
                n -= 1
            x = helper(x, False)
            clip = lambda y: y if y[0] > 0 else -y
            assert x is not None
            return clip(x)

        @tf.function(autograph=False)
        def rejected(x):
            if tf.reduce_sum(x) > 0:
                return x
            return -x

        converted(tf.constant([1, 2]), 2)
        helper(tf.constant([1, 2]), True)
        try:
            rejected(tf.constant([1, 2]))
        except Exception:
            pass
        """)
    assert decisions(facts) == {
        (4, 5, "if"): "python", (6, 5, "if"): "staged", (12, 5, "for"): "staged", (13, 9, "if"): "staged",
        (13, 12, "and"): "staged", (15, 5, "while"): "python", (18, 22, "ifexp"): "staged", (19, 5, "assert"): "python",
        (24, 5, "if"): "staged"}
    assert functions(facts) == {"helper", "converted", "rejected"}
    assert errors(facts) == {24}
    callers = {row["name"]: row["callers"] for row in facts if row["kind"] == "function"}
    assert callers["helper"][0][1] == 17


def test_torch(tmp_path):
    facts = observe(tmp_path, "torch", """\
        import torch

        def helper(x, flag):
            if flag and x is not None:
                return x
            return x if not x.dim() > 1 else -x

        @torch.compile(backend="eager")
        def compiled(x, n: int):
            x = helper(x, n)
            x = helper(x, n - 2)
            if x.sum() > 0:
                x = x * 3
            for i in range(n):
                x = x + i
            assert x.shape[0] == 3
            return x

        compiled(torch.ones(3), 2)
        try:
            @torch.jit.script
            def rejected(x):
                for a in x.foo():
                    return 1
                return -x
        except RuntimeError:
            pass
        """)
    assert decisions(facts) == {
        (4, 5, "if"): "python", (4, 8, "and"): "python", (6, 12, "ifexp"): "python", (6, 17, "not"): "python",
        (12, 5, "if"): "staged", (14, 5, "for"): "python", (16, 5, "assert"): "python"}
    assert functions(facts) == {"helper", "compiled", "rejected"}
    assert [row["line"] for row in facts if row["kind"] == "break"] == [12]
    assert errors(facts) == {23}
