"""How many faults of the matrix does the checker find?

    python measure.py AG_LSP [FRAMEWORK...] [--seed 7] [--held-out] [--misses] [--share 1] [--write FOLDER]

Checks the faulty and the repaired program of each valid cell. A fault is found if an error or a warning is on a line
that the framework blames or at its cause. An error or a warning in a repaired program is a false alarm. A hash of the
seed and the name selects 30 % of the faults and 30 % of the carriers, which are held out. A cell is open if neither its
fault nor its carrier is held out. Without `--held-out`, the tables and lists contain open cells only, and the held-out
cells are a total. To improve the checker, look at open cells only.
"""
import argparse
import collections
import concurrent.futures
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
import cells
from checker import findings
from program import chosen, is_held_out, render


OPEN = "open"


class Outcome(NamedTuple):
    """The findings of the checker in the two programs of a cell."""
    framework: str
    fault: str
    carrier: str
    group: str
    is_found: bool
    #: The errors and warnings in the repaired program.
    alarms: dict


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def measure(binary, folder, faulty, marked, repaired):
    """Returns whether the fault is found, and the false alarms."""
    folder = folder.resolve()
    write(folder / "faulty", faulty)
    write(folder / "repaired", repaired)
    found = findings(binary, folder / "faulty").keys() & {*marked["fault"], *marked["cause"]}
    return bool(found), findings(binary, folder / "repaired")


def valid_cells(framework):
    """Yields the fault and the carrier of each valid cell."""
    recorded = json.loads((cells.HERE / f"recorded/{framework.name}.json").read_text())
    for fault in framework.faults:
        for carrier in cells.CARRIERS:
            if recorded.get(fault.name, {}).get(carrier.name) == "":
                yield fault, carrier


def checked(arguments, framework, root):
    """Checks the chosen cells of a framework. Returns an `Outcome` for each."""
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = []
        for fault, carrier in valid_cells(framework):
            if chosen("sample", f"{framework.name} {fault.name} {carrier.name}", arguments.share):
                repaired, _ = render(framework, fault, carrier, repaired=True)
                folder = root / framework.name / f"{fault.name} - {carrier.name}".replace("/", " ").replace(" ", "_")
                binary = str(arguments.binary.resolve())
                task = pool.submit(measure, binary, folder, *render(framework, fault, carrier), repaired)
                tasks.append((fault.name, carrier.name, task))
        return [Outcome(framework.name, fault, carrier, group_of(arguments.seed, fault, carrier), *task.result())
                for fault, carrier, task in tasks]


def group_of(seed, fault, carrier):
    """Returns "open", or the held-out part of a cell."""
    names = ("fault", fault), ("carrier", carrier)
    held = [axis for axis, name in names if is_held_out(seed, axis, name)]
    return f"held-out {' and '.join(held)}" if held else OPEN


def table(title, outcomes, key):
    """Prints how many faults are found in each row, the lowest shares first."""
    rows = collections.defaultdict(list)
    for outcome in outcomes:
        rows[key(outcome)].append(outcome.is_found)
    print(f"\n| {title} | found | visible |\n|---|---|---|")
    for name, found in sorted(rows.items(), key=lambda row: sum(row[1]) / len(row[1])):
        print(f"| {name} | {sum(found)} | {len(found)} |")


def total(framework, group, outcomes):
    """Prints the row of a group of cells."""
    found, alarms = sum(each.is_found for each in outcomes), sum(bool(each.alarms) for each in outcomes)
    if outcomes:
        count = len(outcomes)
        print(f"| {framework} | {group} | {found} | {count} | {found / count:.0%} | {alarms} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("frameworks", nargs="*", default=list(cells.FRAMEWORKS))
    parser.add_argument("--seed", default="7")
    parser.add_argument("--held-out", action="store_true", help="show the held-out cells like the open ones")
    parser.add_argument("--misses", action="store_true", help="list the cells that are not found")
    parser.add_argument("--share", type=float, default=1.0, help="check a fixed sample of the cells")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, help="keep the programs in this folder")
    arguments = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.frameworks:
            found = checked(arguments, cells.FRAMEWORKS[name], arguments.write or Path(temporary))
            outcomes += found
            shown = [each for each in found if arguments.held_out or each.group == OPEN]
            for each in shown:
                if arguments.misses and not each.is_found:
                    print(f"missed: {name}: {each.fault} | {each.carrier}")
                if each.alarms:
                    print(f"false alarm: {name}: {each.fault} | {each.carrier}: {each.alarms}")
            print(f"\n# {name}")
            table("fault", shown, lambda each: each.fault)
            table("carrier", shown, lambda each: each.carrier)
    print(f"\nseed {arguments.seed}\n\n| framework | cells | found | visible | share | false alarms |\n|---|---|---|---|---|---|")
    groups = list(dict.fromkeys(each.group for each in outcomes))
    for name in arguments.frameworks:
        for group in groups:
            total(name, group, [each for each in outcomes if (each.framework, each.group) == (name, group)])
    for group in groups:
        total("all", group, [each for each in outcomes if each.group == group])
    total("all", "all held-out", [each for each in outcomes if each.group != OPEN])
    total("all", "all", outcomes)


if __name__ == "__main__":
    main()
