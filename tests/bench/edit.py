"""CPU time of one edit inside a function, until the diagnostics of the file are available.

`ag-lsp` is measured without the server (`analysis/project/examples/edit.rs`), on one thread. `ruff server` and
`ty server` get the same edits as document changes and a request for diagnostics after each; the CPU time of their
processes is measured.
"""
import statistics
import subprocess

from measure import installed, table
from measure.language_client import LanguageClient

EDITS = 20

# Appended to the real file. The second line from the end is edited.
STAGED = """

import tensorflow as tf


@tf.function
def staged_step(x):
    {line}
    return scale * x
"""


def main():
    keras = installed.sources("keras") / "keras" / "src"
    models = installed.sources("tf-models-official") / "official"
    cases = [
        ("in a staged function", keras / "layers" / "layer.py", None),
        ("in a staged function", keras / "ops" / "numpy.py", None),
        ("in `Layer.__call__`, not staged", keras / "layers" / "layer.py", "original_args = args"),
        ("in `Logspace.compute_output_spec`, not staged", keras / "ops" / "numpy.py", "output_shape.insert(axis, self.num)"),
        ("in one of many Keras 2 layers", models / "vision" / "modeling" / "layers" / "nn_blocks.py",
         "x = self._norm1(x)"),
    ]
    rows = [row(*case) for case in cases]
    columns = ["CPU ms per edit (ag-lsp: median; others: mean)", "lines", "ag-lsp", "`ruff server`", "`ty server`",
               "ag-lsp / ty"]
    table.show("One edit inside a function", columns, rows)


def row(where, source, marker):
    """Measures the three tools on one file. Returns a row of the table."""
    folder = installed.FOLDER / "edit" / f"{source.stem}-{'middle' if marker else 'staged'}"
    folder.mkdir(parents=True, exist_ok=True)
    before, line, after = parts(source.read_text(), marker)
    texts = [before + typed(line, number) + after for number in range(EDITS + 1)]
    path = folder / source.name
    path.write_text(texts[0])
    at = before.count("\n")
    own = analysis(folder, path, texts[1:], staged=marker is None)
    ruff = server([installed.tool("ruff"), "server", "--isolated"], folder, path, at, line)
    ty = server([installed.tool("ty"), "server"], folder, path, at, line)
    lines = f"{texts[0].count(chr(10)):,}"
    return [f"`{source.name}`, {where}", lines, f"{own:.1f}", f"{ruff:.1f}", f"{ty:.1f}", f"{own / ty:.2f}"]


def parts(text, marker):
    """Splits a text into the part before the edited line, its indentation, and the part after it."""
    if marker is None:
        before, after = STAGED.split("    {line}\n")
        return text + before, " " * 4, after
    before, after = text.split(marker, 1)
    before, indentation = before.rsplit("\n", 1)
    return before + "\n", indentation, indentation + marker + after


def typed(indentation, number):
    """Returns a line with an undefined name, unique for each edit, and a name that is bound in only one branch."""
    return f"{indentation}if tf.reduce_sum(x) > missing_{number}: scale = x\n"


def analysis(folder, path, texts, staged):
    """Returns the milliseconds of the engine. The engine must report a finding for every edit in staged code."""
    versions = folder / "versions"
    versions.mkdir(exist_ok=True)
    files = [versions / f"{number:02}" for number in range(len(texts))]
    for file, text in zip(files, texts):
        file.write_text(text)
    command = [installed.own("examples/edit", "-p", "ag-project", "--example", "edit"), path, *files]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    reports = result.stdout.splitlines()
    assert len(reports) == EDITS, result.stderr
    for number, report in enumerate(reports, start=1):
        assert (f"missing_{number}`" in report) == staged, report
    return statistics.median(float(report.split()[0]) for report in reports)


def server(command, folder, path, at, indentation):
    """Returns the milliseconds of a server. The server must report the undefined name of every edit."""
    with LanguageClient(command, folder) as client:
        client.open(path)
        client.messages()
        before = client.seconds_so_far()
        for number in range(1, EDITS + 1):
            client.replace_line(at, typed(indentation, number))
            messages = client.messages()
            assert any(f"missing_{number}`" in message for message in messages), messages
        return (client.seconds_so_far() - before) / EDITS * 1e3


main()
