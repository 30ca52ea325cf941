"""Checks a package without caches, compared with `ruff check` and `ty check` on the same files."""
import re
import statistics

from measure import installed, process, table

ROUNDS = 7


def main():
    package = installed.sources("keras")
    commands = {
        "ruff check": [installed.tool("ruff"), "check", "--isolated", "--no-cache", "--exit-zero", "."],
        "ag-lsp check": [installed.own("ag-lsp"), "check", "--isolated", "--exit-zero", "--verbose", "."],
    }
    costs = process.alternate(commands, package, ROUNDS)
    # A single run, because ty takes as long as all runs of the other tools.
    ty = [installed.tool("ty"), "check", "--exit-zero", "--output-format", "concise", "."]
    costs |= process.alternate({"ty check": ty}, package, 1)

    files = len(list(package.rglob("*.py")))
    own = costs["ag-lsp check"][0].output
    seen, roots = map(int, re.search(r"(\d+) files, (\d+) roots", own).groups())
    assert seen == files and roots > 100, own
    assert re.search(r"Found \d+ error", costs["ruff check"][0].output)
    assert re.search(r"Found \d+ diagnostic", costs["ty check"][0].output)

    rows = []
    for name, runs in costs.items():
        seconds = [run.seconds for run in runs]
        rows.append([f"`{name}`", f"{statistics.median(seconds):.2f}", f"{min(seconds):.2f}",
                     f"{max(run.mebibytes for run in runs):.0f}"])
    table.show(f"{package.name}, {files} files", ["", "CPU s, median", "minimum", "peak MiB"], rows)
    to_ruff = process.median_ratio(costs["ag-lsp check"], costs["ruff check"])
    own = statistics.median(run.seconds for run in costs["ag-lsp check"])
    to_ty = own / costs["ty check"][0].seconds
    print(f"`ag-lsp check` takes {to_ruff:.2f}x the CPU time of `ruff check` (at most 2.0), "
          f"and {to_ty:.2f}x of `ty check` (below 0.5).\n", flush=True)


main()
