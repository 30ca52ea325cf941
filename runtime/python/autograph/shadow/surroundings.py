"""Effects of a function other than changes of objects: random number generators, and the printed output."""

import contextlib
import io
import random
import sys

import torch

from ..tracing.tracebacks import line_outside


def random_state():
    """Returns the state of all global random number generators."""
    numpy = sys.modules.get("numpy")
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
        "random": random.getstate(),
        "numpy.random": None if numpy is None else numpy.random.get_state(legacy=False),
    }


def set_random_state(state):
    torch.set_rng_state(state["torch"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    random.setstate(state["random"])
    if state["numpy.random"] is not None:
        sys.modules["numpy"].random.set_state(state["numpy.random"])


class Output(io.TextIOBase):
    """Records the written text with the lines that wrote it, and also writes it to another file if there is one."""

    def __init__(self, file=None):
        super().__init__()
        self.chunks = []  # (text, line of the user's code)
        self._file = file

    def write(self, text):
        self.chunks.append((text, line_outside(sys._getframe(1))))
        if self._file is not None:
            self._file.write(text)
        return len(text)

    def flush(self):
        if self._file is not None:
            self._file.flush()

    def __getattr__(self, name):
        return getattr(self._file if self._file is not None else sys.__stdout__, name)

    @property
    def text(self):
        return "".join(text for text, _ in self.chunks)


@contextlib.contextmanager
def printing(passes_on):
    """Records the output of this block to `sys.stdout` and `sys.stderr`. If `passes_on`, the output is also written."""
    out, error = (Output(file if passes_on else None) for file in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        yield out, error
