"""How many faults of the matrix does the checker find?

    python measure.py AG_LSP [FRAMEWORK...] [--seed 7] [--held-out] [--misses] [--share 1] [--at-least 0] [--write FOLDER]

Checks the faulty and the repaired program of each valid cell. A fault is found if an error or a warning is on a line
that the framework blames or at its cause. An error or a warning in a repaired program is a false alarm. 30 % of the
faults and of the carriers are held out, chosen by a hash of the seed and the name; a cell is open if neither its fault
nor its carrier is held out. The tables count open cells only, and the held-out cells are a total, unless `--held-out`
says otherwise: repair the checker by the open cells alone. With `--at-least`, false alarms are failures, too.
"""
import argparse
import collections
import concurrent.futures
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cells
from program import chosen, is_held_out, render


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def findings(binary, folder):
    """Returns the errors and warnings in a folder as `{(file, line): code}`."""
    command = [binary, "check", "--isolated", "--output-format", "json", "."]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"{binary} ended with {result.returncode} in {folder}: {result.stderr[-300:]}")
    return {(str(Path(finding["filename"]).resolve().relative_to(folder)), finding["location"]["row"]): finding["code"]
            for finding in json.loads(result.stdout) if finding["severity"] in ("error", "warning")}


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


def table(title, rows):
    """Prints the counts of rows, the lowest shares first."""
    print(f"\n| {title} | found | visible |\n|---|---|---|")
    for name, (found, count) in sorted(rows.items(), key=lambda row: row[1][0] / row[1][1]):
        print(f"| {name} | {found} | {count} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("frameworks", nargs="*", default=list(cells.FRAMEWORKS))
    parser.add_argument("--seed", default="7")
    parser.add_argument("--held-out", action="store_true", help="show the held-out cells like the open ones")
    parser.add_argument("--misses", action="store_true", help="list the cells that are not found")
    parser.add_argument("--share", type=float, default=1.0, help="check a fixed sample of the cells")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--at-least", type=float, default=0.0, help="exit with 1 if a smaller share is found")
    parser.add_argument("--write", type=Path, help="keep the programs in this folder")
    arguments = parser.parse_args()
    binary = str(arguments.binary.resolve())
    total = collections.defaultdict(lambda: [0, 0])
    alarms = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        root = arguments.write or Path(temporary)
        for name in arguments.frameworks:
            framework = cells.FRAMEWORKS[name]
            rows = [collections.defaultdict(lambda: [0, 0]) for _ in range(2)]
            started = []
            for fault, carrier in valid_cells(framework):
                if not chosen("sample", f"{name} {fault.name} {carrier.name}", arguments.share):
                    continue
                repaired, _ = render(framework, fault, carrier, repaired=True)
                folder = root / name / f"{fault.name} - {carrier.name}".replace("/", " ").replace(" ", "_")
                task = pool.submit(measure, binary, folder, *render(framework, fault, carrier), repaired)
                started.append((fault.name, carrier.name, task))
            for fault, carrier, task in started:
                found, alarmed = task.result()
                held = [axis for axis, item in (("fault", fault), ("carrier", carrier))
                        if is_held_out(arguments.seed, axis, item)]
                group = f"held-out {' and '.join(held)}" if held else "open"
                shown = arguments.held_out or not held
                for key in ([(name, group)] + ([(0, fault), (1, carrier)] if shown else [])):
                    counts = total[key] if key[0] == name else rows[key[0]][key[1]]
                    counts[0] += found
                    counts[1] += 1
                alarms[name, group] += bool(alarmed)
                if shown and arguments.misses and not found:
                    print(f"missed: {name}: {fault} | {carrier}")
                if shown and alarmed:
                    print(f"false alarm: {name}: {fault} | {carrier}: {alarmed}")
            print(f"\n# {name}")
            table("fault", rows[0])
            table("carrier", rows[1])
    print(f"\nseed {arguments.seed}\n\n| framework | cells | found | visible | share | false alarms |\n|---|---|---|---|---|---|")
    for (name, group), (found, count) in total.items():
        print(f"| {name} | {group} | {found} | {count} | {found / count:.0%} | {alarms[name, group]} |")
    groups = collections.defaultdict(lambda: [0, 0, 0])
    for (name, group), (found, count) in total.items():
        for key in (group, "all") if group == "open" else (group, "all held-out", "all"):
            for index, value in enumerate((found, count, alarms[name, group])):
                groups[key][index] += value
    for group, (found, count, alarmed) in sorted(groups.items()):
        print(f"| all | {group} | {found} | {count} | {found / count:.0%} | {alarmed} |")
    found, count, alarmed = groups["all"]
    sys.exit(0 if found >= arguments.at_least * count and (not alarmed or not arguments.at_least) else 1)


if __name__ == "__main__":
    main()
