"""The effect of speculation, as in Figure 7 of the JANUS paper. Prints the speedup of each variant over eager torch:

- base: staged for an input signature with unknown sizes, without speculation. Loops over tensors are in the graph.
- +unroll: the same signature, with `speculate=True`. Conditions, numbers of iterations and integers are assumed.
- +specialize: `speculate=True` without a signature. Types and shapes of arguments are assumed, too.
- +parallel: +specialize with two threads. Unlike in JANUS, operations do not run in parallel: libtorch only splits large
  operators across the threads, and native segments use one thread.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/ablation.py [W1 W2 ...]

The variants and eager torch run in alternating calls, all but +parallel on one thread. Times are wall times. The results are
compared with those of eager torch, and no call may contradict an assumption. The last column is the number of conditions,
loops and integers that +specialize assumes.
"""

import importlib
import statistics
import sys
import time
import warnings
from pathlib import Path

import autograph as ag
import torch
from harness import MAX_DIFFERENCE, difference
from torch.utils import _pytree as pytree

VARIANTS = ("base", "+unroll", "+specialize", "+parallel")
SECONDS, MIN_PAIRS = 10, 5
#: The abbreviations of dtypes in a signature.
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool"}


def signature(arguments):
    """Returns the types of the tensors, with unknown sizes. A size of 1 stays known, because it is broadcast."""
    tensors = [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
    return [f"{NAMES[x.dtype]}[{','.join('1' if n == 1 else '?' for n in x.shape)}]" for x in tensors]


def variants(workload):
    types = signature(workload.arguments)
    return {
        "eager": workload.program,
        "base": ag.function(workload.program, input_signature=types),
        "+unroll": ag.function(workload.program, input_signature=types, speculate=True),
        "+specialize": ag.function(workload.program, speculate=True),
        "+parallel": OnThreads(2, ag.function(workload.program, speculate=True)),
    }


class OnThreads:
    """A staged function whose calls may use this number of threads."""

    def __init__(self, count, function):
        self.count, self.function = count, function

    def __call__(self, *arguments):
        torch.set_num_threads(self.count)
        try:
            return self.function(*arguments)
        finally:
            torch.set_num_threads(1)

    def __getattr__(self, name):
        return getattr(self.function, name)


def milliseconds(function, arguments):
    start = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - start) * 1e3


def staged(functions, arguments):
    """Calls each function a few times. Returns the functions by name. For a function that cannot be staged or that Python
    runs, the value is a message instead."""
    found, expected = {}, functions["eager"](*arguments)
    for name, function in functions.items():
        try:
            for _ in range(5):
                result = function(*arguments)
        except (ag.StagingError, RuntimeError) as error:
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
            continue
        assert difference(result, expected) < MAX_DIFFERENCE, name
        in_python = next(iter(getattr(function, "fallbacks", ())), None)
        found[name] = function if in_python is None else f"in Python: {in_python.splitlines()[0][:80]}"
    return found


def measure(name, configuration):
    workload = importlib.import_module(name).workload(**configuration)
    found = staged(variants(workload), workload.arguments)
    order = [variant for variant, function in found.items() if callable(function)]
    times, end = {variant: [] for variant in order}, time.time() + SECONDS
    while len(times["eager"]) < MIN_PAIRS or time.time() < end:
        for variant in order:
            times[variant].append(milliseconds(found[variant], workload.arguments))
        order.reverse()
    for variant in ("+unroll", "+specialize", "+parallel"):
        if callable(found[variant]):
            assert found[variant].traces and not found[variant].fallbacks, (name, variant, found[variant].fallbacks)
    cells = [_cell(found[variant], times.get(variant), times["eager"]) for variant in VARIANTS]
    checks = [sum(len(trace.points) for trace in f.traces) for f in (found["+specialize"],) if callable(f)]
    sizes = " ".join(f"{key}={value}" for key, value in configuration.items())
    print(f"| {name.partition('_')[0].upper()} {sizes} | {min(times['eager']):.2f} | {' | '.join(cells)} | {sum(checks)} |", flush=True)


def _cell(function, times, eager):
    if not callable(function):
        return function
    return f"{statistics.median(e / mine for e, mine in zip(eager, times)):.2f}"


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"| program | eager, ms | {' | '.join(VARIANTS)} | assumed points |\n|---|---|{'---|' * len(VARIANTS)}---|")
    names = sorted((path.stem for path in Path(__file__).parent.glob("w*_*.py")), key=lambda stem: int(stem[1:].partition("_")[0]))
    wanted = {name.upper() for name in sys.argv[1:]}
    for name in names:
        if not wanted or name.partition("_")[0].upper() in wanted:
            measure(name, importlib.import_module(name).CONFIGURATIONS[0])


main()
