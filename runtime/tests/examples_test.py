"""The programs in `tests/examples/staged` print the same text staged and in eager Python; their graphs contain loops."""

import contextlib
import importlib.util
import io
import pathlib
import re
import sys

import pytest
import autograph as ag

FOLDER = pathlib.Path(__file__).parents[2] / "tests/examples/staged"

#: Program -> staged function -> the maximum number of its graphs, and what each of them must contain.
GRAPHS = {
    "actor_critic": {"learn": (2, {"for", "while", "if"})},
    "beam_search": {"beam_search": (2, {"for"})},
    "cart_pole": {"learn": (4, {"while", "if"})},
    "data_parallel": {"train": (2, {"for", "if"})},
    "dynamic_rnn": {"dynamic_rnn": (6, {"for"})},
    "gan": {"train_steps": (2, {"for"})},
    "inception": {"train": (2, {"if"}), "accuracy": (1, set())},
    "l2hmc": {"update": (2, {"for"})},
    "language_model": {"train": (2, set()), "sample": (1, set())},
    "lbfgs": {"minimise": (2, {"for", "while", "if"})},
    "lenet": {"train": (2, {"if"}), "accuracy": (1, set())},
    "maml": {"train": (2, {"for"}), "loss_after": (3, set())},
    "pix2pix": {"train": (2, set())},
    "ppo": {"iterate": (3, {"for", "if"})},
    "resnet": {"train": (2, {"if"})},
    "seq2seq": {"train": (4, {"for", "if"}), "translate": (2, {"while"})},
    "tree_lstm": {"train_step": (2, {"call", "if"}), "classify": (1, {"call", "if"})},
    "tree_rnn": {"train_step": (2, {"call", "if"})},
    "training": {"train": (2, {"for", "if"}), "accuracy": (2, set())},
}

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def load(name):
    """Imports a program as a new module."""
    spec = importlib.util.spec_from_file_location(f"staged_{name}", FOLDER / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # `dataclasses` looks modules up here
    spec.loader.exec_module(module)
    return module


def printed(module):
    """Runs a program and returns the text that it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        module.main()
    return text.getvalue()


def functions(module):
    """Returns the staged functions and methods that a module defines, by name."""
    found = {}
    for value in vars(module).values():
        for entry in [value, *(vars(value).values() if isinstance(value, type) else ())]:
            if isinstance(entry, ag.Function):
                found[entry.__name__] = entry
    return found


def test_every_program_is_here():
    assert sorted(GRAPHS) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", GRAPHS)
def test_staged_prints_the_same_as_eager(name):
    staged = load(name)
    texts = [printed(staged)]
    ag.run_functions_eagerly()
    try:
        texts.append(printed(load(name)))
    finally:
        ag.run_functions_eagerly(False)
    assert NUMBER.sub("#", texts[0]) == NUMBER.sub("#", texts[1])
    for got, wanted in zip(*(map(float, NUMBER.findall(text)) for text in texts)):
        assert got == pytest.approx(wanted, rel=0.01, abs=0.002), "\n".join(texts)
    check_graphs(staged, GRAPHS[name])


def check_graphs(module, expected):
    """Asserts that the staged functions of a program have the expected number of graphs, with the expected nodes."""
    staged = functions(module)
    assert set(staged) == set(expected)
    for name, (most, nodes) in expected.items():
        traces = staged[name].traces
        assert 1 <= len(traces) <= most
        for trace in traces:
            text = trace.graph.text()
            for node in nodes:
                assert re.search(rf"\b{node}\b", text), f"no `{node}` in `{name}`"
