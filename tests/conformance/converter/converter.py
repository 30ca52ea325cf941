"""Runs the converter as a process. Returns converted text and a line map.

`AG_LSP` names the binary; the default is the one from `cargo build --release`. `AG_DIALECT=snek` selects Snek's operators.
"""

import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
OPERATORS = {"tensorflow": "ag_reference", "snek": "snek_reference"}


class ConverterFailed(Exception):
    """The converter returned no text."""


def binary():
    return os.environ.get("AG_LSP") or str(ROOT / "target" / "release" / "ag-lsp")


def run(arguments):
    done = subprocess.run([binary(), "convert", *arguments], capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode not in (0, 1) or (done.returncode == 1 and not done.stdout):
        raise ConverterFailed(f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def convert(text, extra=()):
    """Converts a module. Returns (converted text, map from generated to original lines)."""
    with tempfile.TemporaryDirectory() as folder:
        original = pathlib.Path(folder, "module.py")
        original.write_bytes(text.encode("utf-8", "surrogatepass"))
        source_map = pathlib.Path(folder, "module.map")
        dialect = os.environ.get("AG_DIALECT", "tensorflow")
        options = ["--dialect", dialect, "--operators", OPERATORS[dialect], "--source-map", str(source_map)]
        converted = run([str(original), *options, *extra])
        return converted, line_map(source_map.read_text()) if source_map.exists() else {}


def functions(path, extra=()):
    """Returns the converter's output for each function, method and lambda of a file."""
    return json.loads(run([str(path), "--output-format", "json", *extra]))


_BASE64 = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}


def _numbers(segment):
    """Decodes the variable-length quantities of one segment of a source map."""
    value = shift = 0
    for letter in segment:
        digit = _BASE64[letter]
        value |= (digit & 31) << shift
        if digit & 32:
            shift += 5
            continue
        yield -(value >> 1) if value & 1 else value >> 1
        value = shift = 0


def line_map(text):
    """Maps each generated line to its original lines in order, from a source map of version 3. Lines are 1-based."""
    lines, original = {}, 0
    for number, line in enumerate(json.loads(text)["mappings"].split(";"), 1):
        for segment in filter(None, line.split(",")):
            fields = tuple(_numbers(segment))
            if len(fields) >= 4:
                original += fields[2]
                lines.setdefault(number, []).append(original + 1)
    return lines
