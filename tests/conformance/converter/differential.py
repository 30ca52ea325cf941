"""Compares random programs with their converted versions: `python differential.py [--count N] [--seed S]`.

Known counterexamples run first. A program that behaves differently is minimized and printed with both traces; `--keep`
writes it into `counterexamples/`.
"""

import argparse
import hashlib
import os
import re
import sys
import time
import types
import warnings

import side_by_side
from generate import program
from minimize import minimize
from side_by_side import HERE, compare, report

BATCH = 200


def same_fault(fault):
    """Returns a function that checks whether a smaller program has a difference of the same kind, so that minimizing
    does not switch to another difference."""

    def check(candidate):
        for _, found, _ in compare([candidate], seconds=0.2):
            return found is not None and kind_of(found) == fault
        return False

    return check


def kind_of(found):
    left, right = found
    if left.outcome != right.outcome:
        return left.outcome[0], right.outcome[0], [re.split(r"['(]", str(o))[0] for o in right.outcome[1:2] if right.outcome[0] == "raised"]
    return "events" if left.events != right.events else "line"


def keep(text, calls):
    name = hashlib.sha256(text.encode()).hexdigest()[:10]
    listed = "".join(f"    {call!r},\n" for call in calls)
    (HERE / "counterexamples" / f"found_{name}.py").write_text(f"{text}\nCALLS = [\n{listed}]\n")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", default=os.environ.get("AG_FUZZ_SEED", "1"))
    options.add_argument("--show", type=int, default=5, help="number of programs to minimize and print")
    options.add_argument("--keep", action="store_true", help="write minimized programs into counterexamples/")
    options.add_argument("--raw", action="store_true", help="print programs without minimizing them")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(3000)

    failed = side_by_side.main([HERE / "counterexamples"])
    start, calls, returned, events, different, kinds = time.monotonic(), 0, 0, 0, 0, {}
    for first in range(0, given.count, BATCH):
        programs = [program(given.seed, i) for i in range(first, min(first + BATCH, given.count))]
        for i, found, original in compare(programs):
            calls += len(original)
            returned += sum(o.outcome[0] == "returned" for o in original)
            events += sum(len(o.events) for o in original)
            if found is None:
                continue
            different += 1
            fault = kind_of(found)
            kinds[str(fault)] = kinds.get(str(fault), 0) + 1
            if kinds[str(fault)] > 2 or sum(min(n, 2) for n in kinds.values()) > given.show:
                continue
            smallest = programs[i] if given.raw else minimize(programs[i], same_fault(fault))
            print(f"== seed {given.seed}, program {first + i}\n{smallest.text}")
            for _, again, _ in compare([smallest]):
                print(report(again) if again else "(only together with other programs)\n" + report(found), flush=True)
            if given.keep:
                keep(smallest.text, smallest.calls)
    seconds = time.monotonic() - start
    for fault, count in sorted(kinds.items(), key=lambda item: -item[1]):
        print(f"{count:6} x {fault}")
    print(
        f"seed {given.seed}: {given.count} programs, {calls} runs ({returned} returned, {calls - returned} raised, "
        f"{events} events), {different} different; {seconds:.0f} s"
    )
    return 1 if failed or different else 0


if __name__ == "__main__":
    sys.exit(main())
