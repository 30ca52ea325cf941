"""The kinds of errors that an installed framework knows, compared with the catalogue.

    python kinds.py FRAMEWORK [--add]

Lists the kinds that are new or gone since FRAMEWORK.json was written, and exits with 1 if there are any. `--add` adds
the new ones with the verdict "not yet". FRAMEWORK is torch_compile, torchscript, torch_export, jax, tensorflow or keras;
`kinds_FRAMEWORK.py` extracts its kinds.
"""
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    framework, add = sys.argv[1], "--add" in sys.argv[2:]
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
