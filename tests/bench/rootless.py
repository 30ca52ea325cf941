"""Checks a file without staged functions, which should cost little more than parsing."""
import statistics

from measure import installed, process, table

ROUNDS = 15


def main():
    binary = installed.own("ag-lsp")
    folder = installed.FOLDER / "rootless"
    folder.mkdir(parents=True, exist_ok=True)
    text = (installed.sources("keras") / "keras" / "src" / "ops" / "numpy.py").read_text()
    (folder / "large.py").write_text(text)
    (folder / "empty.py").write_text("")
    own = [binary, "check", "--isolated", "--exit-zero"]
    ruff = [installed.tool("ruff"), "check", "--isolated", "--no-cache", "--exit-zero"]
    commands = {f"{name} {file}": [*command, file] for name, command in [("ag-lsp", own), ("ruff", ruff)]
                for file in ["empty.py", "large.py"]}
    costs = process.alternate(commands, folder, ROUNDS)
    assert "no staged or traced functions found" in costs["ag-lsp large.py"][0].output
    milliseconds = {name: statistics.median(run.seconds for run in runs) * 1e3 for name, runs in costs.items()}
    rows = []
    for name in ["ag-lsp", "ruff"]:
        empty, large = milliseconds[f"{name} empty.py"], milliseconds[f"{name} large.py"]
        rows.append([f"`{name} check`", f"{empty:.1f}", f"{large:.1f}", f"{large - empty:.1f}"])
    lines = len(text.splitlines())
    table.show(f"A file of {lines:,} lines without roots", ["CPU ms", "empty file", "the file", "difference"], rows)


main()
