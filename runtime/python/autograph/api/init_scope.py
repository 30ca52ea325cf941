"""Code of a staged function that runs in Python, once while tracing."""

from ..capture.pausing import Paused


def init_scope():
    """Takes the code of a `with` statement out of the trace. Python runs this code each time the function is traced, also
    below staged conditions. Its tensors are constants of the graph, and the state that it creates remains:

        if self.table is None:
            with ag.init_scope():
                self.table = torch.rand(100)

    After a call that creates state, the next call traces the function again. Staged values cannot be used in the block.
    Outside of staged functions, the statement has no effect."""
    return Paused("`ag.init_scope()`")
