"""Compares the speed of two copies of the package: programs from papers, in pairs of fresh processes.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/paired.py \
        --before OTHER/runtime/python [--pairs N] [W1 W2 ...]

The speed of a process varies by up to a quarter from one start to the next. So one pair of processes says little, and
each program gets N pairs: one process with each copy, started in alternating order. The calls of both processes
alternate, and each process reports the minimum of its CPU times. For the first configuration of each program, prints
the mean of before / after over the pairs with its 95 % interval. The exit status is 1 if a program is slower by more than
3 %: if the whole interval is below 0.97. The results of each process are compared with those of eager Python.
"""

import argparse
import importlib
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
#: The number of times that the processes of a pair take turns, and the seconds of each turn.
TURNS, SECONDS = 6, 0.2
SLOWER = 0.97


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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(HERE)]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--serve", stem]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


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
    """Measures a program. Returns the row of the table, and whether the program is slower by more than 3 %."""
    times = []
    for number in range(pairs):
        if number % 2:
            times.append(pair(stem, (before, after)))
        else:
            times.append(pair(stem, (after, before))[::-1])
    ratios = [old / new for old, new in times]
    mean, half = statistics.mean(ratios), 1.96 * statistics.stdev(ratios) / math.sqrt(pairs)
    old, new = (min(each) for each in zip(*times))
    name = stem.partition("_")[0].upper()
    text = f"| {name} | {old:.3f} | {new:.3f} | {mean:.3f} | {mean - half:.3f} to {mean + half:.3f} |"
    return text, mean + half < SLOWER


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
    here = HERE.parents[2] / "runtime" / "python"
    print("| program | ms before | ms | before / after | 95 % interval |\n|---|---|---|---|---|")
    wanted = {name.upper() for name in options.workloads}
    stems = sorted((path.stem for path in HERE.glob("w*_*.py")), key=lambda stem: int(stem[1:].partition("_")[0]))
    slower = []
    for stem in stems:
        if not wanted or stem.partition("_")[0].upper() in wanted:
            text, is_slower = row(stem, options.before.resolve(), here, options.pairs)
            print(text, flush=True)
            slower += [stem] if is_slower else []
    if slower:
        raise SystemExit(f"slower by more than 3 %: {', '.join(slower)}")


main()
