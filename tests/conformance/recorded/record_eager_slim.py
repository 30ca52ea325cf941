"""Records which tests in the torch or jax modules are on tensors, in a compact form.

    python record_eager_slim.py torch|jax RECORDER [MODULE ...]

RECORDER is the path of record_eager.py, which is not part of this repository. It runs in a temporary copy of the
folder. The verdicts are written next to the modules, as NAME.json: {module, constructs: [{function, kind, line, col,
verdict, under_jit?}]}.
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = ("function", "kind", "line", "col", "verdict", "under_jit")


def slim(recorded):
    file = recorded["module"] + ".py"
    constructs = [{key: c[key] for key in KEPT if key in c} for c in recorded["constructs"] if c["file"] == file]
    return {"module": recorded["module"], "constructs": constructs}


def write(path, data):
    rows = ",\n  ".join(json.dumps(c) for c in data["constructs"])
    path.write_text(f'{{"module": {json.dumps(data["module"])},\n "constructs": [\n  {rows}\n ]}}\n')


def main():
    framework, recorder, modules = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    folder = HERE / framework
    with tempfile.TemporaryDirectory() as scratch:
        copy, out = Path(scratch, "modules"), Path(scratch, "out")
        shutil.copytree(folder, copy)
        shutil.copy(HERE / "main_calls.py", copy)
        shutil.copy(recorder, copy / "record_eager.py")
        out.mkdir()
        run = subprocess.run([sys.executable, copy / "record_eager.py", framework, out, *modules],
                             stdout=subprocess.DEVNULL)
        for path in sorted(out.glob("*.json")):
            data = json.loads(path.read_text())
            write(folder / path.name, slim(data))
            for left in data["unexecuted"]:
                print(f"{left['file']}:{left['line']}: not reached: {left['text']}", file=sys.stderr)
    sys.exit(run.returncode)


if __name__ == "__main__":
    main()
