"""The gain of each pass on native programs: each program runs with all passes and without one of them, in alternating
calls.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/passes.py [WORKLOAD...]

Prints, for the first configuration of each program, how many times faster the pass makes it (the median ratio of
adjacent calls), and how often it has fired. A pass that has not fired is not measured.
"""

import importlib
import re
import statistics
import sys
import time
from pathlib import Path

import autograph as ag
import torch
from autograph import _runtime

SECONDS, MIN_PAIRS, MAX_PAIRS = 6, 5, 60


def staged(program, arguments, *disabled):
    ag.disable_passes(*disabled)
    function = ag.function(program)
    function(*arguments)
    return function


def clock(function, arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def measure(name):
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    program, arguments = workload.program, workload.arguments
    whole = staged(program, arguments)
    trace = whole.trace(*arguments)
    listing = trace.plan.listing(lambda file, line: None)
    cells = [name]
    for native in _runtime.passes()[1]:
        fired = sum(map(int, re.findall(rf"\b{native} (\d+)", listing)))
        if native == "loop-batching":
            fired = trace.graph.text().count(" = for(") - trace.compiled_graph.text().count(" = for(")
        cells.append(gain(whole, staged(program, arguments, native), arguments) + f" ({fired})" if fired else "-")
    print(f"| {' | '.join(cells)} |", flush=True)


def gain(whole, without, arguments):
    ratios, functions, end = [], [whole, without], time.time() + SECONDS
    while len(ratios) < MIN_PAIRS or time.time() < end and len(ratios) < MAX_PAIRS:
        times = {function: clock(function, arguments) for function in functions}
        ratios.append(times[without] / times[whole])
        functions.reverse()
    return f"{statistics.median(ratios):.2f}"


def main():
    torch.set_num_threads(1)
    names = _runtime.passes()[1]
    print(f"| program | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for name in sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("w*_*.py")):
        measure(name)


main()
