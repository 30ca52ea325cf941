"""Counts the findings of `ag-lsp check` in published packages, by package and rule, as a Markdown table. All rules are
enabled, including those that are off by default.

    python tests/ecosystem/run.py AG_LSP_BINARY FOLDER [--findings]

FOLDER contains one unpacked folder per package (`pip download --no-deps NAME`, then unzip). With `--findings`, the
script instead lists each finding with its source line, for manual review.
"""
import collections
import json
import pathlib
import subprocess
import sys


def findings(binary, package):
    command = [binary, "check", "--isolated", "--exit-zero", "--thorough", "--select", "ALL"]
    command += ["--output-format", "json", "."]
    result = subprocess.run(command, cwd=package, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def main():
    binary, folder = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    packages = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir())
    if "--findings" in sys.argv:
        for package in packages:
            for finding in findings(binary, package):
                path = pathlib.Path(finding["filename"])
                row = finding["location"]["row"]
                print(f"{package.name} {path.relative_to(package.resolve())}:{row} {finding['code']} "
                      f"{finding['severity']}: {finding['message']}")
                print("   ", path.read_text(encoding="utf-8").splitlines()[row - 1].strip())
        return
    counts = {package.name: collections.Counter(f["code"] for f in findings(binary, package)) for package in packages}
    assert not any("AG903" in count for count in counts.values()), "an internal error"
    rules = sorted({rule for count in counts.values() for rule in count})
    print("| package |", " | ".join(rules), "|")
    print("|---|", "---|" * len(rules))
    for package, count in counts.items():
        print(f"| {package} |", " | ".join(str(count[rule] or "") for rule in rules), "|")
    total = sum(counts.values(), collections.Counter())
    print("| all |", " | ".join(str(total[rule]) for rule in rules), "|")


main()
