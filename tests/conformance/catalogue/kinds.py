"""Compares the kinds of errors in an installed framework with the catalogue.

    python kinds.py FRAMEWORK [--add]

Lists the kinds that are new or gone since FRAMEWORK.json was written, and exits with 1 if there are any. `--add` adds
the new ones with the verdict "not yet". `kinds_FRAMEWORK.py` extracts the kinds of a framework.
"""
import argparse
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    extractors = sorted(path.stem.removeprefix("kinds_") for path in HERE.glob("kinds_*.py"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=extractors)
    parser.add_argument("--add", action="store_true", help='add new kinds with the verdict "not yet"')
    arguments = parser.parse_args()
    framework, add = arguments.framework, arguments.add
    catalogue = HERE / f"{framework}.json"
    entries = json.loads(catalogue.read_text()) if catalogue.exists() else []
    known = {entry["kind"]: entry for entry in entries}
    # An extractor yields {kind, source, message}: a stable name, the file in the package, the message as in the source.
    installed = {kind["kind"]: kind for kind in importlib.import_module(f"kinds_{framework}").kinds()}
    new = [kind for name, kind in installed.items() if name not in known]
    gone = [name for name in known if name not in installed]
    for kind in new:
        print("new:", kind["kind"], kind["message"])
    for name in gone:
        print("gone:", name, known[name]["message"])
    print(f"{len(installed)} kinds, {len(new)} new, {len(gone)} gone")
    if add:
        entries = sorted(entries + [{**kind, "verdict": "not yet"} for kind in new], key=lambda entry: entry["kind"])
        rows = ",\n".join(json.dumps(entry) for entry in entries)
        catalogue.write_text(f"[\n{rows}\n]\n")
    sys.exit(1 if (new and not add) or gone else 0)


if __name__ == "__main__":
    main()
