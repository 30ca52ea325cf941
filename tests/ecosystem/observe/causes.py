"""Groups the disagreements of one or more packages by their general cause.

    python causes.py AG_LSP_BINARY FACTS:FOLDER [FACTS:FOLDER...]"""
import collections
import os
import sys

from compare import compare
from observer.facts import read

KINDS = ("contradiction", "not seen", "unknown", "unlisted", "false error", "missed", "ran warning", "ran info",
         "true error", "true warning")
EXAMPLES = 3


def main():
    binary = os.path.abspath(sys.argv[1])
    groups = {kind: collections.defaultdict(list) for kind in KINDS}
    total = collections.Counter()
    for pair in sys.argv[2:]:
        facts, folder = pair.split(":")
        comparison = compare(binary, read(facts), folder)
        print(os.path.basename(folder), dict(comparison.counts), file=sys.stderr, flush=True)
        total.update(comparison.counts)
        for kind in KINDS:
            for file, line, detail in comparison.cases[kind]:
                cause, _, what = detail.partition(": ")
                with open(file, encoding="utf-8", errors="replace") as text:
                    source = text.read().splitlines()[line - 1].strip()
                place = f"{os.path.basename(folder)}/{os.path.relpath(file, comparison.folder)}:{line}"
                groups[kind][cause].append((place, what, source))
    print(", ".join(f"{kind} {count}" for kind, count in sorted(total.items())))
    for kind in KINDS:
        cases = groups[kind]
        print(f"\n## {kind}: {sum(map(len, cases.values()))}\n")
        for cause, places in sorted(cases.items(), key=lambda group: -len(group[1])):
            below = sum(what.startswith("below") for _, what, _ in places)
            places.sort(key=lambda case: case[1].startswith("below"))
            print(f"- {len(places)} {cause}" + (f" ({below} of them in functions called by these)" if below else ""))
            # Prefer examples from different files.
            chosen = list({place.rpartition(":")[0]: (place, what, source) for place, what, source in places[::-1]}.values())[::-1]
            for place, what, source in chosen[:EXAMPLES]:
                print(f"  - {place} {what}\n    `{source}`")


if __name__ == "__main__":
    main()
