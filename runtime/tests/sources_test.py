"""Files that change after they were imported: the text that is converted always belongs to the code that runs."""

import importlib
import sys

import pytest
import torch

import autograph as ag

STEP = """
def step(x):
    if x.sum() > 0:
        return x {operation}
    return x
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Returns a function that writes a module, and one that imports or reloads it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(text):
        (tmp_path / "edited.py").write_text(text)

    def load():
        importlib.invalidate_caches()
        found = sys.modules.get("edited")
        return importlib.import_module("edited") if found is None else importlib.reload(found)

    yield write, load
    sys.modules.pop("edited", None)


def test_a_reloaded_module_is_converted_again(module):
    write, load = module
    write(STEP.format(operation="+ 1"))
    assert ag.function(load().step)(torch.ones(1)) == 2
    write(STEP.format(operation="* 100"))
    assert ag.function(load().step)(torch.ones(1)) == 100


def test_functions_that_were_imported_before_an_edit_are_those_of_the_text_before_it(module):
    write, load = module
    write(STEP.format(operation="+ 1") + STEP.format(operation="+ 2").replace("step", "other"))
    edited = load()
    assert ag.function(edited.step)(torch.ones(1)) == 2
    write(STEP.format(operation="* 100") + STEP.format(operation="* 200").replace("step", "other"))
    assert ag.function(edited.other)(torch.ones(1)) == 3


def test_a_function_whose_text_is_lost_is_not_converted(module):
    write, load = module
    write(STEP.format(operation="- 3"))
    edited = load()
    write(STEP.format(operation="* 100"))
    assert ag.function(edited.step)(torch.ones(1)) == -2
    with pytest.raises(ag.AutographError, match="edited.py has changed since it was imported"):
        ag.to_code(edited.step)
