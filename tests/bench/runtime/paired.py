"""Compares the speed of two copies of the package: programs from papers, in pairs of fresh processes.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/paired.py \
        --before OTHER/runtime/python [--pairs N] [W1 W2 ...]

The speed of a process varies by up to a quarter from one start to the next. So one pair of processes says little, and
each program gets N pairs: one process with each copy, started in alternating order. The calls of both processes
alternate, and each process reports the minimum of its CPU times. For the first configuration of each program, prints
the mean of before / after over the pairs with its 95 % interval. A program is *not slower* by more than 3 % if the whole
interval is above 0.97, *slower* if it is below, and otherwise *undecided*: it needs more pairs. The exit status is 0 only
if no program is slower or undecided. The results of each process are compared with those of eager Python.
"""

import argparse
import importlib
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

from workloads import PACKAGE, chosen, environment, short

#: The number of times that the processes of a pair take turns, and the seconds of each turn.
TURNS, SECONDS = 6, 0.2
#: A program is slower by more than 3 % if before / after is below this bound.
BOUND = 0.97
NOT_SLOWER = "not slower"


def serve(stem):
    """Runs a program in this process: one turn for each line of the input. Prints the minimum CPU milliseconds."""
    import autograph as ag
    import torch
    from harness import MAX_DIFFERENCE, difference

    torch.set_num_threads(1)
    module = importlib.import_module(stem)
    workload = module.workload(**module.CONFIGURATIONS[0])
    program = ag.function(workload.program)
    for _ in range(3):
        result = program(*workload.arguments)
    assert difference(result, workload.program(*workload.arguments)) <= MAX_DIFFERENCE, f"{stem}: the results differ"
    print("ready", flush=True)
    for _ in sys.stdin:
        times, end = [], time.perf_counter() + SECONDS
        while len(times) < 2 or time.perf_counter() < end:
            start = time.process_time()
            program(*workload.arguments)
            times.append(time.process_time() - start)
        print(1e3 * min(times), flush=True)


def started(stem, package):
    command = [sys.executable, __file__, "--serve", stem]
    return subprocess.Popen(command, env=environment(package), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(process):
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"a process ended with status {process.wait()}")
    return line


def pair(stem, packages):
    """Measures one pair of processes. Returns the CPU milliseconds of a call for each package."""
    processes = [started(stem, package) for package in packages]
    try:
        for process in processes:
            answer(process)
        best = [math.inf, math.inf]
        for turn in range(TURNS):
            for position in (0, 1) if turn % 2 else (1, 0):
                processes[position].stdin.write("\n")
                processes[position].stdin.flush()
                best[position] = min(best[position], float(answer(processes[position])))
        return best
    finally:
        for process in processes:
            process.kill()
            process.wait()


def row(stem, before, after, pairs):
    """Measures a program. Returns the row of the table, and the verdict."""
    times = []
    for number in range(pairs):
        if number % 2:
            times.append(pair(stem, (before, after)))
        else:
            times.append(pair(stem, (after, before))[::-1])
    ratios = [old / new for old, new in times]
    mean, half = statistics.mean(ratios), 1.96 * statistics.stdev(ratios) / math.sqrt(pairs)
    old, new = (min(each) for each in zip(*times))
    verdict = NOT_SLOWER if mean - half > BOUND else "slower" if mean + half < BOUND else "undecided"
    interval = f"{mean - half:.3f} to {mean + half:.3f}"
    return f"| {short(stem)} | {old:.3f} | {new:.3f} | {mean:.3f} | {interval} | {verdict} |", verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="W1, W2, ... (default: all)")
    parser.add_argument("--before", type=Path, help="the folder of another copy of the package `autograph`")
    parser.add_argument("--pairs", type=int, default=10, help="number of pairs of processes for each program, at least 2")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.before is None or not (options.before / "autograph").is_dir():
        parser.error("--before must be a folder that contains another copy of the package `autograph`")
    if options.pairs < 2:
        parser.error("--pairs must be at least 2")
    print("| program | ms before | ms | before / after | 95 % interval | more than 3 % |\n|---|---|---|---|---|---|")
    verdicts = set()
    for stem in chosen(options.workloads):
        text, verdict = row(stem, options.before.resolve(), PACKAGE, options.pairs)
        print(text, flush=True)
        verdicts.add(verdict)
    sys.exit(0 if verdicts <= {NOT_SLOWER} else 1)


main()
