"""Random programs in which attributes are added, renamed, removed, shared and set later: checkpoints restore the same values
as `tf.train.Checkpoint`. `checkpoint_oracle/record.py` recorded the values of TensorFlow."""

import json
import pathlib
import sys
import warnings

import pytest
import torch

import autograph as ag

FOLDER = pathlib.Path(__file__).with_name("checkpoint_oracle")
sys.path.insert(0, str(FOLDER))
from program_pairs import build, case, roots  # noqa: E402

RECORDED = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))["programs"]


class Plain:
    """An object with attributes."""


def maker(cls):
    """Returns a function that creates the values of nodes. Nodes of the kind `object` become instances of `cls`."""
    def make(kind, content):
        if kind == "variable":
            return torch.nn.Parameter(torch.tensor(float(content)))
        return cls() if kind == "object" else content

    return make


def passes(check):
    """Returns whether a check raises no AssertionError."""
    try:
        check()
    except AssertionError:
        return False
    return True


def values(nodes, made):
    """Returns the values of a program's variables."""
    return [int(made[i].item()) for i, (kind, _) in enumerate(nodes) if kind == "variable"]


def restored(seed, cls, path):
    """Saves one program of a pair and restores the other one. Returns the restored values, whether there were conflicts,
    and which assertions of the restore pass."""
    saved, changed, late = case(seed)
    make = maker(cls)
    ag.Checkpoint(**roots(saved, build(saved, make, 1000))).save(path)
    after = build(changed, make, 2000)
    checkpoint = ag.Checkpoint(**roots(changed, after))
    status = checkpoint.restore(path)
    found = {"values": values(changed, after)}
    for owner, name, target in late:
        setattr(after[owner] if owner else checkpoint, name, after[target])
        if cls is Plain or not owner:  # a module restores new attributes when they are registered
            status.update()
    found["late"] = values(changed, after)
    found["conflicts"] = bool(status.conflicts)
    found["consumed"] = passes(status.assert_consumed)
    found["matched"] = passes(status.assert_existing_objects_matched)
    return found


@pytest.mark.parametrize("cls", [Plain, torch.nn.Module])
def test_matching_is_that_of_tensorflow(cls, tmp_path):
    assert len(RECORDED) >= 300
    differences = []
    for seed, expected in enumerate(RECORDED):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = restored(seed, cls, tmp_path / "checkpoint")
        # TensorFlow reports two saved values of one object as restored.
        if found.pop("conflicts"):
            assert not found["consumed"]
            found["consumed"] = expected["consumed"]
        if found != expected:
            differences.append((seed, found, expected))
    assert not differences, f"{len(differences)} of {len(RECORDED)} differ: {differences[:3]}"
