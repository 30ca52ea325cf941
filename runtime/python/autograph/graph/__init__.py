"""The command `python -m autograph.graph`, which `ag-lsp graph` runs."""

from .command import main

__all__ = ["main"]
