"""The programs of `tests/examples/staged`, which train the models of JANUS's Table 3: how many times less CPU time a call of
their staged functions takes than the same call in eager torch.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/examples.py [PROGRAM...]

A program runs staged and eagerly with the same seeds, so that both make the same calls. They must print the same text, apart from
numbers. Calls that trace are not counted. The table has the sums of the minimum of each remaining call over the rounds.
"""

import array
import sys
import time
import types
from pathlib import Path

import autograph as ag
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "runtime/tests"))
from examples_test import GRAPHS, NUMBER, load, printed  # noqa: E402

ROUNDS = 5


class Timed:
    """Takes the place of a staged function or method, and records the CPU time of each call, and whether it traced."""

    #: The seconds, and 1 if the call traced, of each call. A trace reaches this through the class of a method; it would guard a
    #: list, but not an array.
    calls = array.array("d")

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **keywords):
        traces = len(self.function.traces)
        start = time.process_time()
        result = self.function(*args, **keywords)
        Timed.calls.extend([time.process_time() - start, len(self.function.traces) > traces])
        return result

    def __getattr__(self, name):
        return getattr(self.function, name)


def calls(name, eagerly):
    """Runs a program. Returns the time of each call of its staged functions, whether the call traced, and the printed text."""
    module = load(name)
    for owner in [module, *(value for value in vars(module).values() if isinstance(value, type))]:
        for key, value in list(vars(owner).items()):
            if isinstance(value, ag.Function) and key in GRAPHS[name]:
                setattr(owner, key, Timed(value))
    del Timed.calls[:]
    ag.run_functions_eagerly(eagerly)
    try:
        text = printed(module)
    finally:
        ag.run_functions_eagerly(False)
    return list(zip(Timed.calls[::2], Timed.calls[1::2])), NUMBER.sub("#", text)


def measure(name):
    rounds = [(calls(name, False), calls(name, True)) for _ in range(ROUNDS)]
    texts = {text for pair in rounds for _, text in pair}
    counts = {len(found) for pair in rounds for found, _ in pair}
    assert len(texts) == 1 and len(counts) == 1, f"{name}: the variants differ"
    sums = []
    for variant in (0, 1):
        columns = list(zip(*(pair[variant][0] for pair in rounds)))
        kept = [column for column, staged in zip(columns, rounds[0][0][0]) if not staged[1]]
        sums.append(sum(min(seconds for seconds, _ in column) for column in kept) * 1e3)
    staged, eager = sums
    print(f"| `{name}` | {len(kept)} | {eager:.2f} | {staged:.2f} | {eager / staged:.2f} |" if kept else f"| `{name}` | 0 | | | |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | calls | eager, ms | staged, ms | eager / staged |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or GRAPHS:
        measure(name)


main()
