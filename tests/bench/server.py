"""Language servers in use: edits, first diagnostics, requests, a burst of edits, workspaces of five sizes.

`ag-lsp server`, `ruff server` and `ty server` alternately get the same files and edits. CPU time is measured
in the server's process, wall time in the client. Assertions check that every response refers to the current text.
"""
import pathlib
import statistics
import time

from measure import installed, table, workspaces
from measure.language_client import LanguageClient

EDITS = 20
BURST = 10_000
REQUESTS = 30
STARTS = 5
# `ag-lsp` completes the analysis of a large project one second after the last edit.
COMPLETION = 75

# Appended to a real file. `EDITED` replaces the line with the `if`.
STAGED = """

import tensorflow as tf


@tf.function
def staged_step(x):
    if tf.reduce_sum(x) > missing_0: scale = x
    return scale * x
"""
EDITED = "    if tf.reduce_sum(x) > missing_{number}: scale = x\n"


def servers():
    return {
        "ag-lsp": [installed.own("ag-lsp", "-p", "ag-lsp"), "server"],
        "ruff": [installed.tool("ruff"), "server", "--isolated"],
        "ty": [installed.tool("ty"), "server"],
    }


def prepare(source):
    """Creates a folder with one real file, to which a staged function is appended."""
    folder = installed.FOLDER / "server" / source.stem
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    path.write_text(source.read_text() + STAGED)
    return folder, path


def edit_line(client, line, number):
    client.replace_line(line, EDITED.format(number=number))
    return client.messages()


def edits(commands, sources):
    """Measures the CPU time of edits, until the diagnostics contain the name that the edit has inserted."""
    rows = []
    for source in sources:
        folder, path = prepare(source)
        line = path.read_text()[: -len(STAGED)].count("\n") + STAGED[: STAGED.index("    if")].count("\n")
        spent = {}
        for name, command in commands.items():
            with LanguageClient(command, folder) as client:
                client.open(path)
                client.messages()
                samples = []
                for number in range(1, EDITS + 1):
                    before = client.seconds_so_far()
                    messages = edit_line(client, line, number)
                    samples.append(client.seconds_so_far() - before)
                    assert any(f"missing_{number}`" in message for message in messages), (name, messages)
                spent[name] = statistics.median(samples) * 1e3
        lines = f"{path.read_text().count(chr(10)):,}"
        rows.append([f"`{source.name}`", lines, *(f"{spent[name]:.1f}" for name in commands),
                     f"{spent['ag-lsp'] / spent['ty']:.2f}"])
    table.show("Edit to diagnostics, median CPU ms", ["file", "lines", *commands, "ag-lsp / ty"], rows)


def starts(commands, source):
    """Measures the time from the start of a server to the first diagnostics."""
    folder, path = prepare(source)
    rows = []
    for name, command in commands.items():
        walls, cpus = [], []
        for _ in range(STARTS):
            begin = time.perf_counter()
            with LanguageClient(command, folder) as client:
                client.open(path)
                assert any("missing_0`" in message for message in client.messages()), name
                walls.append(time.perf_counter() - begin)
                cpus.append(client.seconds_so_far())
        rows.append([name, f"{statistics.median(walls) * 1e3:.0f}", f"{statistics.median(cpus) * 1e3:.0f}"])
    table.show(f"Start to first diagnostics of `{source.name}`, one file", ["server", "wall ms", "CPU ms"], rows)


def requests(command, source):
    """Measures the response times of `ag-lsp server`."""
    folder, path = prepare(source)
    line = path.read_text()[: -len(STAGED)].count("\n") + STAGED[: STAGED.index("    if")].count("\n")
    with LanguageClient(command, folder) as client:
        client.open(path)
        client.messages()
        document = {"textDocument": {"uri": client.uri}}
        at = document | {"position": {"line": line, "character": 5}}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": line + 10, "character": 0}}
        methods = {
            "hover": ("textDocument/hover", at, lambda answer: "staged" in answer["contents"]["value"]),
            "inlay hints, whole file": ("textDocument/inlayHint", document | {"range": whole},
                                        lambda answer: any(hint["label"] == "staged" for hint in answer)),
            "code lenses": ("textDocument/codeLens", document, lambda answer: len(answer) >= 2),
            "code actions": ("textDocument/codeAction", document | {"range": whole, "context": {"diagnostics": []}},
                             lambda answer: len(answer) >= 2),
            "converted function": ("ag-lsp/convertedDocument", at, lambda answer: "if_stmt" in answer["text"]),
            "converted file": ("ag-lsp/convertedDocument", document, lambda answer: "if_stmt" in answer["text"]),
        }
        rows = []
        for name, (method, parameters, is_right) in methods.items():
            walls, cpus = [], []
            for _ in range(REQUESTS):
                begin, before = time.perf_counter(), client.seconds_so_far()
                response = client.request(method, parameters)
                cpus.append(client.seconds_so_far() - before)
                walls.append(time.perf_counter() - begin)
                assert is_right(response), (name, response)
            rows.append([name, f"{statistics.median(walls) * 1e3:.1f}", f"{statistics.median(cpus) * 1e3:.1f}"])
    table.show(f"Requests on `{source.name}`, ag-lsp, warm", ["request", "wall ms", "CPU ms"], rows)


def burst(commands, source):
    """Measures many edits without a pause, until the diagnostics of the last one."""
    folder, path = prepare(source)
    line = path.read_text()[: -len(STAGED)].count("\n") + STAGED[: STAGED.index("    if")].count("\n")
    rows = []
    for name, command in commands.items():
        with LanguageClient(command, folder) as client:
            client.open(path)
            for number in range(1, EDITS + 1):
                edit_line(client, line, number)
            before = resident(client)
            begin, spent = time.perf_counter(), client.seconds_so_far()
            for number in range(1, BURST + 1):
                client.replace_line(line, EDITED.format(number=number))
            messages = client.messages()
            wall, cpu = time.perf_counter() - begin, client.seconds_so_far() - spent
            assert any(f"missing_{BURST}`" in message for message in messages), (name, messages)
            after = resident(client)
        rows.append([name, f"{wall:.1f}", f"{cpu:.1f}", f"{before:.0f}", f"{after:.0f}", f"{after / before - 1:+.0%}"])
    columns = ["server", "wall s", "CPU s", "MiB before", "MiB after", "growth"]
    table.show(f"{BURST:,} edits of `{source.name}` in a burst", columns, rows)


def workspaces_by_size(commands):
    """Measures edits, start and memory in workspaces of five sizes. Each edit inserts a line in the middle of the
    file."""
    rows = []
    for workspace in workspaces.workspaces():
        text = workspace.text()
        line, indentation = workspaces.middle(text)
        for name, command in commands.items():
            begin = time.perf_counter()
            with LanguageClient(command, workspace.folder) as client:
                client.open(workspace.file, text)
                # ruff does not report undefined names in a file with star imports.
                while not any("missing" in message for message in client.messages()) and name != "ruff":
                    assert time.perf_counter() - begin < 60, (workspace.name, name)
                first = time.perf_counter() - begin
                wait_until_idle(client)
                memory = resident(client)
                samples = []
                for number in range(EDITS):
                    before = client.seconds_so_far()
                    client.insert_line(line, f"{' ' * indentation}probe_{number} = {number}\n")
                    messages = client.messages()
                    wait_until_idle(client)
                    samples.append(client.seconds_so_far() - before)
                    assert name == "ruff" or any("missing" in message for message in messages), (workspace.name, name)
                before = client.seconds_so_far()
                wait_until_idle(client, COMPLETION)
                later = client.seconds_so_far() - before
            files = f"{workspace.files():,}"
            rows.append([workspace.name, files, name, f"{statistics.median(samples) * 1e3:.1f}", f"{later * 1e3:.0f}",
                         f"{first * 1e3:.0f}", f"{memory:.0f}"])
    columns = ["workspace", "files", "server", "CPU ms an edit", "CPU ms after the last",
               "wall ms to first findings", "resident MiB"]
    table.show("Workspaces of five sizes", columns, rows)


def wait_until_idle(client, polls=3):
    """Waits until the server has used no CPU time for `polls` times 20 ms."""
    before, idle = client.seconds_so_far(), 0
    while idle < polls:
        time.sleep(0.02)
        now = client.seconds_so_far()
        idle = idle + 1 if now - before < 1e-4 else 0
        before = now


def resident(client):
    status = pathlib.Path(f"/proc/{client.process.pid}/status").read_text()
    [kibibytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(kibibytes) / 1024


def main():
    keras = installed.sources("keras") / "keras"
    layer, numpy = keras / "src" / "layers" / "layer.py", keras / "src" / "ops" / "numpy.py"
    commands = servers()
    edits(commands, [layer, numpy])
    starts(commands, layer)
    requests(commands["ag-lsp"], numpy)
    burst(commands, layer)
    workspaces_by_size(commands)


main()
