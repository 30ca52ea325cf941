"""Measures small functions with state: CPU microseconds of a call, eager and staged, in alternating batches of one process.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/small.py [NAME...]

Most of a call is overhead: guards, conversion of arguments and results, changes of state. The results of the first calls are
compared with those of eager torch. Prints the medians of the batches.
"""

import gc
import statistics
import sys
import time

import autograph as ag
import torch
from harness import difference
from small_programs import PROGRAMS

#: CPU seconds of the measurement of a program, and CPU microseconds of a batch.
SECONDS, BATCH = 1.0, 2000
#: The number of calls whose results are compared.
COMPARED = 12
FEWEST_BATCHES = 7


def batch(call, program, count, first):
    start = time.process_time()
    for number in range(first, first + count):
        call(program, number)
    return (time.process_time() - start) / count * 1e6


def made(name):
    torch.manual_seed(0)
    return PROGRAMS[name]()


def measure(name):
    (eager, call_eager), (program, call_staged) = made(name), made(name)
    staged = ag.function(program)
    worst = max(difference(call_staged(staged, number), call_eager(eager, number)) for number in range(COMPARED))
    assert worst < 1e-3, f"{name}: the results differ by {worst}"
    count = max(5, int(BATCH / batch(call_eager, eager, 20, COMPARED)))
    variants, times = [("eager", call_eager, eager), ("staged", call_staged, staged)], {"eager": [], "staged": []}
    gc.collect()
    gc.disable()
    end = time.process_time() + SECONDS
    while time.process_time() < end or len(times["eager"]) < FEWEST_BATCHES:
        for variant, call, function in variants:
            times[variant].append(batch(call, function, count, COMPARED))
        variants.reverse()
    gc.enable()
    one, other = (statistics.median(found) for found in times.values())
    print(f"| {name} | {one:.1f} | {other:.1f} | {other / one:.2f} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | eager, us | staged, us | staged / eager |\n|---|---|---|---|")
    for name in sys.argv[1:] or PROGRAMS:
        measure(name)


main()
