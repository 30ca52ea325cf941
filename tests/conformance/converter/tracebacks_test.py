"""A failing converted program must have the same traceback as the original: files, lines, names and carets.

    AG_LSP=target/release/ag-lsp python -m unittest discover -s tests/conformance/converter -p "*_test.py"
"""

import json
import linecache
import os
import subprocess
import traceback
import unittest

import tracebacks
from tracebacks import SourceMap

BINARY = os.environ.get("AG_LSP")


class ByHand(unittest.TestCase):
    """A converted function with a handwritten source map."""

    SOURCE = "def f(x):\n    if x > 0:\n        y = 1 + missing(x)\n    return y\n"
    TEXT = (
        "def tf__f(x):\n"
        "    def if_body():\n"
        "        y = 1 + missing(x)\n"
        "    if_stmt(x > 0, if_body)\n"
        "    return y\n"
    )

    def span(self, code, kind="verbatim", within=None):
        generated = self.TEXT.index(within or code)
        original = self.SOURCE.index(code)
        return {
            "generated": [generated, generated + len(within or code)],
            "original": [original, original + len(code)],
            "kind": kind,
        }

    def setUp(self):
        whole = {"generated": [0, len(self.TEXT)], "original": [0, len(self.SOURCE)], "kind": "synthesized"}
        spans = [
            whole,
            self.span("if x > 0:\n        y = 1 + missing(x)", "synthesized", within="if_stmt(x > 0, if_body)"),
            self.span("x > 0"),
            self.span("y = 1 + missing(x)"),
            self.span("return y"),
        ]
        spans.sort(key=lambda span: (span["generated"][0], -span["generated"][1]))
        self.map = SourceMap("original.py", self.SOURCE, {"text": self.TEXT, "map": spans})

    def test_copied_code_maps_to_the_character(self):
        start = self.TEXT.index("missing")
        self.assertEqual(self.map.origin(start, start + 7), (self.SOURCE.index("missing"), self.SOURCE.index("missing") + 7))

    def test_synthesized_code_maps_to_its_cause(self):
        start = self.TEXT.index("if_stmt")
        self.assertEqual(self.map.origin(start, start + 7)[0], self.SOURCE.index("if x"))

    def test_lines(self):
        lines = [self.map.line_origin(line) for line in range(1, 6)]
        self.assertEqual([origin[0] for origin in lines], [1, 1, 3, 2, 4])

    def test_one_frame_per_call(self):
        names = {"if_stmt": lambda condition, body: body() if condition else None}
        exec(compile(self.TEXT, "generated.py", "exec"), names)
        try:
            names["tf__f"](1)
        except NameError as error:
            tracebacks.rewrite(error, {"generated.py": self.map}, [__file__])
            frames = traceback.extract_tb(error.__traceback__)
        self.assertEqual([(frame.filename, frame.lineno, frame.name) for frame in frames], [("original.py", 3, "f")])
        self.assertEqual((frames[0].colno, frames[0].end_colno), (16, 23))


PROGRAMS = {
    "in a branch": "def f(x):\n    if x:\n        y = 1\n        return y + missing\n    return 2\n",
    "in a condition": "def f(x):\n    if x.missing > 2:\n        return 1\n    return 2\n",
    "in a loop": "def f(x):\n    for i in range(3):\n        while i > 0:\n            x = x / (i - i)\n    return x\n",
    "in the test of a loop": "def f(x):\n    while x > -5:\n        x = x - 1\n        while 1 / x:\n            break\n",
    "in a return": "def f(x):\n    if x:\n        return (1 +\n                x.missing)\n",
    "in a ternary": "def f(x):\n    return 0 if x > 5 else [x][x]\n",
    "in a comprehension": "def f(x):\n    return [1 / (y - 1) for y in range(x + 2)]\n",
    "in an argument": "def f(x):\n    return max(x, 1, int('one'), 2)\n",
    "in a nested function": "def f(x):\n    def g(y):\n        if y:\n            raise ValueError(y)\n    return g(x)\n",
    "in a lambda": "def f(x):\n    g = lambda y: y.missing if y else 0\n    return g(x)\n",
    "with a cause": (
        "def f(x):\n    try:\n        if x:\n            x = x / 0\n    except ZeroDivisionError as e:\n"
        "        raise ValueError('told') from e\n"
    ),
    "after non-ASCII text": "def f(x):\n    if x:\n        y = 'äöü' + '→', x.missing\n    return y\n",
    "in a recursion": "def f(x):\n    if x > 3:\n        raise KeyError(x)\n    return f(x + 1)\n",
    "in a with": "def f(x):\n    with open('/nowhere/at/all') as file:\n        x = 1\n    return x\n",
    "in an operator": "def f(x):\n    if x and x.missing:\n        x = 1\n    return not x\n",
    "at an unbound name": "def f(x):\n    if x == 5:\n        y = 1\n    return y\n",
    "in an assertion": "def f(x):\n    assert x > 1, 'too small'\n    return x\n",
}


@unittest.skipUnless(BINARY, "AG_LSP does not name the converter")
class SideBySide(unittest.TestCase):
    def test_programs(self):
        for name, source in PROGRAMS.items():
            with self.subTest(name):
                self.assertEqual(rewritten(source), original(source))


def original(source):
    names = {}
    exec(compile(source, "program.py", "exec"), names)
    return shown(names["f"], source)


def rewritten(source):
    import ag_reference

    answer = subprocess.run(
        [BINARY, "convert", "-", "--dialect", "tensorflow", "--output-format", "json"],
        input=source.encode(),
        capture_output=True,
        check=True,
    )
    entry = next(entry for entry in json.loads(answer.stdout) if entry["qualname"] == "f")
    names = {"ag__": ag_reference}
    exec(compile(entry["text"], "converted.py", "exec"), names)
    names["f"] = names["tf__f"]
    maps = {"converted.py": SourceMap("program.py", source, entry)}
    return shown(names["f"], source, lambda error: tracebacks.rewrite(error, maps, [ag_reference.__file__]))


def shown(function, source, rewrite=lambda error: error):
    """Returns Python's traceback of the failure, without the frame of this file."""
    linecache.cache["program.py"] = (len(source), None, source.splitlines(keepends=True), "program.py")
    try:
        function(1)
    except Exception as error:
        return "".join(traceback.format_exception(rewrite(error))).splitlines()
    raise AssertionError("the program does not fail")


if __name__ == "__main__":
    unittest.main()
