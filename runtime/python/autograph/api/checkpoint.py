"""`ag.Checkpoint`: saves and restores the state of a program."""

import os
import warnings

from ..capture.staging import current
from ..checkpoint import files, interchange
from ..checkpoint.objects import collect
from ..checkpoint.random_state import RandomState
from ..checkpoint.restoring import Restoring
from ..checkpoint.status import RestoreStatus
from ..conversion import spans
from ..errors import StagingError


class Checkpoint:
    """Saves and restores the state of all objects that are reachable from its attributes:

        checkpoint = ag.Checkpoint(model=model, optimizer=optimizer, step=0)
        checkpoint.step += 1
        checkpoint.save("run/last.ckpt")
        checkpoint.restore("run/last.ckpt").assert_consumed()

    A checkpoint contains modules, optimizers, schedulers, random number generators, objects with attributes, containers,
    tensors, and plain values. A restore matches the objects by the names of attributes and the keys of containers, and
    changes them in place."""

    __slots__ = ("__dict__", "__weakref__", "_ag_restoring")

    def __init__(self, /, **roots):
        for name in roots:
            if hasattr(Checkpoint, name):
                raise TypeError(f"`{name}` cannot be the name of an object: `Checkpoint` has such a method")
        self._ag_restoring = None
        self.__dict__.update(sorted(roots.items()))  # the order does not matter, as in TensorFlow

    def save(self, path):
        """Writes a checkpoint file, and returns its path. A complete new file replaces an existing file atomically: if the
        process is killed, one of the two files remains."""
        _refuse_staging("save")
        graph = collect(self, reads_states=True)
        if graph.unsaved:
            shown = ", ".join(f"`{place}` ({kind})" for place, kind in graph.unsaved[:10])
            warnings.warn(f"not saved, because a checkpoint cannot hold it: {shown}", stacklevel=2)
        files.write(path, graph)
        return os.fspath(path)

    def restore(self, path):
        """Restores the state from a file, and returns a status that lists what did not match. If this method raises an
        exception, nothing has changed."""
        _refuse_staging("restore")
        restoring = Restoring(self, path)
        if self._ag_restoring is not None:
            self._ag_restoring.stop()
        self._ag_restoring = restoring
        return RestoreStatus(restoring)

    @staticmethod
    def state_dict(path, name):
        """Returns what `state_dict()` of a saved module, optimizer or scheduler returned. `name` is its path, such as
        `"model.encoder"`. Programs without this package can load the result."""
        return interchange.state_dict(files.read(path), name)

    def __repr__(self):
        return f"Checkpoint({', '.join(vars(self))})"


def _refuse_staging(method):
    if current() is not None:
        message = f"`Checkpoint.{method}` cannot be part of a graph\nhelp: call it outside of the staged function"
        raise StagingError(message, spans.current())


__all__ = ["Checkpoint", "RandomState", "RestoreStatus"]
