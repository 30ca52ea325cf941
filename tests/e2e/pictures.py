"""Draws `tests/examples/check.svg`, the picture of a finding in the README, from the output of the binary.

tests/e2e/run --pictures
"""

import io
import os
import re
import subprocess
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = REPOSITORY / "tests" / "e2e" / "project"
PICTURE = REPOSITORY / "tests" / "examples" / "check.svg"
COMMAND = ["check", "model.py"]


def draw(binary: Path) -> str:
    """Returns the command and its output, as a terminal shows them."""
    run = [binary, *COMMAND, "--color", "always"]
    output = subprocess.run(run, cwd=PROJECT, capture_output=True, text=True)
    if output.returncode != 1:
        raise RuntimeError(f"`ag-lsp {' '.join(COMMAND)}` must exit with 1:\n{output.stdout}{output.stderr}")
    text = Text.assemble((f"$ ag-lsp {' '.join(COMMAND)}\n", "bold"), Text.from_ansi(output.stdout.rstrip()))
    width = max(line.cell_len for line in text.split("\n"))
    console = Console(file=io.StringIO(), record=True, width=width, color_system="truecolor", force_terminal=True)
    console.print(text)
    svg = console.export_svg(title="ag-lsp", theme=MONOKAI, unique_id="check")
    # Remove the fonts from the network: viewers of an SVG image do not load them.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(Path(os.environ["AG_LSP"])))
    print(f"wrote {PICTURE}")
