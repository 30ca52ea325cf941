"""Does the checker see that a value is a Tensor, however it reaches its use?

    python measure.py AG_LSP [FRAMEWORK...]

Checks the program of each way. The use is found if an error or a warning is on its line.
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from checker import findings
from program import FRAMEWORKS, marked, program
from ways import KINDS, WAYS


def main():
    binary, *frameworks = sys.argv[1:] or sys.exit(__doc__)
    for framework in frameworks or FRAMEWORKS:
        with tempfile.TemporaryDirectory() as folder:
            texts = {way: program(framework, way) for way in WAYS}
            for way, text in texts.items():
                Path(folder, f"{way}.py").write_text(text)
            found = findings(str(Path(binary).resolve()), Path(folder).resolve())
        missed = [way for way, text in texts.items() if not any((f"{way}.py", line) in found for line in marked(text))]
        print(f"{framework}: {len(texts) - len(missed)} of {len(texts)} ways found")
        for kind, members in KINDS.items():
            own = [way for way in missed if way in members]
            print(f"    {kind}: {len(members) - len(own)} of {len(members)}; missed: {', '.join(own) or 'none'}")


if __name__ == "__main__":
    main()
