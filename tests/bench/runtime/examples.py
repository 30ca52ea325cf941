"""The speedup of staged calls, in CPU time, in the programs of `tests/examples/staged`, which train the models of
JANUS's Table 3.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/examples.py [PROGRAM...]

Each program runs staged and eagerly with the same seeds, so that both runs make the same calls. Both must print the
same text, apart from numbers. Calls that trace are not counted. The time of any other call is its minimum over the
rounds; the table contains the sums of these times.
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
    """Replaces a staged function or method. Records the CPU time of each call, and whether the call traced."""

    #: For each call, the seconds, and 1 if the call traced. Traces of methods can reach this attribute. It is an array,
    #: because a list would get guards.
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
