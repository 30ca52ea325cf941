"""`ag-lsp run` and `ag-lsp graph` with the runtime installed."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from xml.etree import ElementTree

import autograph.graph
import pytest

BINARY = Path(os.environ.get("AG_LSP", Path(__file__).parents[2] / "target" / "release" / "ag-lsp"))

PROGRAM = """
import sys
import autograph as ag
import torch

@ag.function
def count(x):
    n = 0
    while x.sum() > 1:
        x = x / 2
        n += 1
    return n

@ag.function
def unused(x):
    x != 1
    return x

class Model:
    @ag.function
    def call(self, x):
        return x + 1

if __name__ == "__main__":
    print("rounds", int(count(torch.tensor(float(sys.argv[1])))))
    sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def program(tmp_path):
    if not BINARY.is_file():
        pytest.skip(f"{BINARY} is not built")
    (tmp_path / "model.py").write_text(PROGRAM)
    return tmp_path / "model.py"


@pytest.fixture
def graph(capsys, monkeypatch):
    """Runs the code of the process that `ag-lsp graph` starts. Returns the exit status and the messages."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*arguments):
        status = autograph.graph.main(list(map(str, arguments)))
        answer = capsys.readouterr()
        return status, answer.out + answer.err

    yield run
    for name in ["model", "wrong", "exits"]:
        sys.modules.pop(name, None)


def enable_interrupts():
    """Enables SIGINT in the new process. Background jobs of a shell ignore it, and new processes inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)



def run_tool(command, *arguments, **options):
    """Runs a command of `ag-lsp` in a process."""
    line = [BINARY, command, "--python", sys.executable, *arguments]
    return subprocess.run(line, capture_output=True, text=True, **options)


def test_a_program_is_run_with_its_arguments(program):
    done = run_tool("run", program, "100", "7")
    assert (done.stdout, done.returncode) == ("rounds 7\n", 7), done.stderr
    assert done.stderr == "", "nothing is shown where there is no terminal"


@pytest.mark.parametrize(
    "options, arguments, seen",
    [
        ([], ["--quiet", "-v", "--python", "x", "-m"], ["--quiet", "-v", "--python", "x", "-m"]),
        ([], ["--", "a", "--"], ["--", "a", "--"]),
        (["--"], ["--help", "a b", ""], ["--help", "a b", ""]),
    ],
)
def test_arguments_after_the_program_belong_to_it(tmp_path, options, arguments, seen):
    script = tmp_path / "ein Programm.py"
    script.write_text("import sys; print(sys.argv[1:])")
    done = run_tool("run", *options, script, *arguments)
    assert done.stdout == f"{seen}\n", done.stderr


def test_a_module_is_run(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import sys; print(__name__, __package__, sys.argv[1:])")
    done = run_tool("run", "-m", "package.train", "--epochs", "3", cwd=tmp_path)
    assert done.stdout == "__main__ package ['--epochs', '3']\n", done.stderr


def test_paths_may_be_unusual(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff: ::x"
    os.mkdir(folder)
    for name in [b"-m.py", b"a b.py"]:
        with open(folder + b"/" + name, "w") as file:
            file.write(PROGRAM)
        done = run_tool("run", "--", name, "100", "0", cwd=folder)
        assert (done.stdout, done.returncode) == ("rounds 7\n", 0), done.stderr
        done = run_tool("graph", "--input", "x=f32[]", "--", folder + b"/" + name + b"::count")
        assert done.returncode == 0 and "= while(" in done.stdout, done.stderr


def test_an_interrupt_ends_the_program(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text("import threading; print('started', flush=True); threading.Event().wait()")
    line = [BINARY, "run", "--python", sys.executable, script]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=enable_interrupts) as process:
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
    assert process.returncode in (130, -signal.SIGINT)  # a shell reports both as 130


def test_an_interrupt_ends_staging(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text("import threading; print('started', flush=True); threading.Event().wait()")
    line = [BINARY, "graph", "--python", sys.executable, f"{script}::f"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=enable_interrupts) as process:
        assert process.stderr.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_the_graph_of_a_function_is_shown(program, tmp_path):
    done = run_tool("graph", f"{program}::count", "--input", "x=f32[]")
    assert done.returncode == 0, done.stderr
    assert "= while(" in done.stdout and 'argument "x"' in done.stdout
    drawing = tmp_path / "call.svg"
    done = run_tool("graph", f"{program}::Model.call", "--input", "x=f32[2]", "--output-format", "svg", "-o", drawing)
    assert done.returncode == 0 and "<svg" in drawing.read_text(), done.stderr


def test_a_graph_is_shown_after_passes(graph, program):
    assert "aten.ne.Scalar" in graph("--input=x=f32[]", program, "unused")[1]
    status, text = graph("--input=x=f32[]", "--passes=dead-code-elimination", program, "unused")
    assert status == 0 and "aten.ne.Scalar" not in text
    assert graph("--input=x=f32[]", "--passes=fast", program, "unused")[0] == 2


def test_native_programs_are_shown_after_their_passes(graph, program):
    status, text = graph("--input=x=f32[4]", "--passes=all", program, "count")
    assert status == 0 and re.search(r"native @count, \d+ steps: in-place-results 1\n", text), text
    assert re.search(r"aten.div.Tensor +m\d+ = m\d+, c\d+ \(4 elements\) .*# .*model.py:\d+  x = x / 2", text), text
    assert "in-place-results" not in graph("--input=x=f32[4]", "--passes=multiply-add", program, "count")[1]


def test_printed_text_is_not_part_of_the_graph(program):
    program.write_text("print('hello')\n" + PROGRAM)
    done = run_tool("graph", f"{program}::count", "--input", "x=f32[]", "--output-format", "json")
    assert json.loads(done.stdout) and done.stderr == "hello\n"


@pytest.mark.parametrize(
    "function, inputs, message",
    [
        ("missing", [], "there is no `missing` in"),
        ("sys", [], "`sys` is not a function"),
        ("count", [], "no `--input` for x"),
        ("count", ["x"], "invalid input `x`; expected NAME=VALUE"),
        ("count", ["x=1", "x=2"], "`x` is given twice"),
        ("count", ["x=1", "y=2"], "unknown parameter `y`; the parameters are: x"),
        ("count", ["x y=1"], "invalid parameter name `x y` in `x y=1`"),
        ("count", ["x=f32[two]"], "invalid size `two` in `x=f32[two]`"),
        ("count", ["x=f32[-1]"], "invalid size `-1` in `x=f32[-1]`"),
        ("count", ["x=f32[2,]"], "invalid size `` in `x=f32[2,]`"),
        ("count", ["x=q7[2]"], "invalid element type `q7` in `x=q7[2]`; expected one of f16, bf16, f32"),
        ("count", ["x=f32[2]cuda"], "invalid device `cuda` in `x=f32[2]cuda`"),
        ("count", ["x=f32[2]@abacus"], "cannot create a tensor for `x=f32[2]@abacus`"),
        ("count", ["x=f32[999999999999999]"], "cannot create a tensor for `x=f32[999999999999999]`"),
        ("count", ["x=f32[" + "9" * 5000 + "]"], "cannot create a tensor for `x=f32[999"),
        ("count", ["x=__import__('os').abort()"], "for `x`; expected a tensor type such as `f32[2,3]` or a Python literal"),
        ("count", ["x=" + "(" * 9000], "the value of `x` is too long or nested too deeply: `((((("),
        ("count", ["x=" + "-" * 9000 + "1"], "for `x`; expected a tensor type such as `f32[2,3]` or a Python literal"),
        ("count", ["x=\udcff"], "` for `x`; expected a tensor type"),
        ("count", ["x="], "invalid value `` for `x`; expected a tensor type"),
    ],
)
def test_invalid_arguments_are_errors(graph, program, function, inputs, message):
    status, messages = graph(*(f"--input={text}" for text in inputs), program, function)
    assert status == 2 and messages.startswith("error: ") and message in messages, messages


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("def f(x):\n    return x +\n", 2, "SyntaxError"),
        ("1 / 0\n", 1, "ZeroDivisionError"),
        ("def f(x):\n    return [].pop()\n", 2, "IndexError"),
        ("import autograph as ag\n\n@ag.function\ndef f(x):\n    return x.reshape(3)\n", 5, "shape"),
    ],
)
def test_exceptions_of_the_program_are_shown_at_their_lines(graph, tmp_path, text, line, message):
    (tmp_path / "wrong.py").write_text(text)
    status, messages = graph("--input=x=f32[2]", tmp_path / "wrong.py", "f")
    assert status == 1 and message in messages, messages
    places = [entry.strip() for entry in messages.splitlines() if entry.startswith("  File")]
    assert [entry.partition(", in ")[0] for entry in places] == [f'File "{tmp_path / "wrong.py"}", line {line}']


def test_a_program_that_exits_during_import_is_an_error_with_a_hint(graph, tmp_path):
    (tmp_path / "exits.py").write_text("raise SystemExit(3)")
    status, messages = graph(tmp_path / "exits.py", "f")
    assert status == 2 and 'if __name__ == "__main__":' in messages, messages


SLOW = """
import sys
import autograph as ag, torch

@ag.function
def slow(x):
    for line in sys.stdin:       # while the test holds it open
        print("staged", line.strip(), flush=True)
    return x + 1

print("before")
slow(torch.ones(2))
print("after")
"""


#: The timeout after which a silent program counts as hanging.
PATIENCE = 600


def on_a_terminal(script, until):
    """Returns the output of `ag-lsp run` on a terminal. Closes the input of the program when `until` has been shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    line = [BINARY, "run", "--python", sys.executable, script]
    shown = b""
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        while True:
            try:
                some = os.read(ours, 4096) if select.select([ours], [], [], PATIENCE)[0] else b""
            except OSError:  # the process has closed its end of the terminal
                some = b""
            if not some:
                break
            shown += some
            if until in shown and not process.stdin.closed:
                process.stdin.close()
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode()


def test_progress_line_on_a_terminal(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    shown = on_a_terminal(script, b"staging slow, ")
    # The last line shows the progress. It is excluded from scrolling until the program continues.
    progress = "\x1b7\x1b[24;1H\x1b[2Kstaging slow, "
    scrolling_restored = "\x1b7\x1b[r\x1b[24;1H\x1b[2K\x1b8"
    order = ["before\r\n", "\x1b[1;23r", progress, scrolling_restored, "after\r\n"]
    places = [shown.find(text) for text in order]
    assert -1 not in places and places == sorted(places), repr(shown)
    assert all(line.endswith(" s") for line in re.findall(r"staging ([^\x1b]*)", shown))


class Editor:
    """A client of the language server."""

    def __init__(self, folder):
        environment = os.environ | {"VIRTUAL_ENV": sys.prefix}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([BINARY, "server"], cwd=folder, env=environment, **pipes)
        self.requests = 0
        self.request("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})
        self.send(method="initialized", params={})

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def request(self, method, **params):
        self.requests += 1
        self.send(id=self.requests, method=method, params=params)
        while True:
            length = int(self.process.stdout.readline().removeprefix(b"Content-Length: "))
            self.process.stdout.readline()
            message = json.loads(self.process.stdout.read(length))
            if message.get("id") == self.requests and "method" not in message:
                return message["result"]

    def close(self):
        self.send(id=0, method="shutdown")
        self.send(method="exit")
        self.process.communicate()


@pytest.fixture
def editor(program):
    editor = Editor(program.parent)
    yield editor
    editor.close()


def test_an_editor_shows_the_graph_of_a_function(editor, program):
    uri = program.as_uri()
    proposed = editor.request("ag-lsp/graphInputs", textDocument={"uri": uri}, function="unused")
    assert proposed == {"function": "unused", "inputs": "x=f32[2,3]"}
    drawn = editor.request("ag-lsp/graph", uri=uri, function="count", inputs="x=f32[]")
    assert drawn["failure"] is None, drawn
    texts = ElementTree.fromstring(drawn["svg"]).iter("{http://www.w3.org/2000/svg}text")
    places = {(text.get("data-file"), text.get("data-line")) for text in texts if text.get("data-line")}
    line = PROGRAM.splitlines().index("        x = x / 2") + 1
    assert (str(program), str(line)) in places


def test_an_editor_shows_why_there_is_no_graph(editor, program):
    drawn = editor.request("ag-lsp/graph", uri=program.as_uri(), function="count", inputs="x=f32[2] y=1")
    assert drawn["svg"] is None and drawn["failure"] == "error: unknown parameter `y`; the parameters are: x"
