"""Does each program raise at its use? Needs an environment with the framework.

    python verify.py FRAMEWORK
"""
import re
import sys
import tempfile
import traceback
from pathlib import Path

from program import marked, program
from ways import WAYS


def blamed(error, file):
    """Returns the lines that an exception names. TensorFlow lists the user's lines in the message. If a function has the
    same code as one of an earlier program, it names the file of that program; the lines are the same."""
    lines = {frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file}
    folder = re.escape(str(Path(file).parent))
    return lines | {int(line) for line in re.findall(folder + r'/\w+\.py", line (\d+)', str(error))}


def main():
    framework, = sys.argv[1:] or sys.exit(__doc__)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            text = program(framework, way)
            file = str(Path(folder, f"{way}.py"))
            Path(file).write_text(text)
            try:
                exec(compile(text, file, "exec"), {"__name__": way})
                wrong.append(f"{way}: no exception")
            except Exception as error:
                if not blamed(error, file) & marked(text):
                    wrong.append(f"{way}: {type(error).__name__}: {str(error).splitlines()[0]}")
    print(f"{framework}: {len(WAYS) - len(wrong)} of {len(WAYS)} programs raise at the use")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
