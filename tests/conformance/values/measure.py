"""Does the checker see that a value is a Tensor, however it reaches its use?

    python measure.py AG_LSP [FRAMEWORK...]

Checks the program of each way. The use is found if an error or a warning is on its line.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import ways
from program import FRAMEWORKS, marked, program


def found(binary, folder):
    """Returns the lines with errors and warnings, by file."""
    command = [binary, "check", "--isolated", "--output-format", "json", "."]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"{binary} ended with {result.returncode}: {result.stderr[-300:]}")
    lines = {}
    for finding in json.loads(result.stdout):
        if finding["severity"] in ("error", "warning"):
            lines.setdefault(Path(finding["filename"]).stem, set()).add(finding["location"]["row"])
    return lines


def main():
    binary, *frameworks = sys.argv[1:] or sys.exit(__doc__)
    groups = {name.lower(): group for name, group in vars(ways).items()
              if isinstance(group, dict) and name.isupper() and name != "WAYS"}
    for framework in frameworks or FRAMEWORKS:
        with tempfile.TemporaryDirectory() as folder:
            texts = {way: program(framework, way) for way in ways.WAYS}
            for way, text in texts.items():
                Path(folder, f"{way}.py").write_text(text)
            lines = found(str(Path(binary).resolve()), folder)
        missed = [way for way, text in texts.items() if not marked(text) & lines.get(way, set())]
        print(f"{framework}: {len(texts) - len(missed)} of {len(texts)} ways found")
        for name, group in groups.items():
            own = [way for way in missed if way in group]
            print(f"    {name}: {len(group) - len(own)} of {len(group)}; missed: {', '.join(own) or 'none'}")


if __name__ == "__main__":
    main()
