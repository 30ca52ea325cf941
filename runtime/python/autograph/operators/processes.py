"""The processes of a group: an error of a collective names the rank whose process has ended.

Gloo reports only that a connection was closed. Each process that executes collectives in a graph, or averages gradients,
writes its host and process id to the store of torch.distributed. When a collective fails, a process looks for ranks on its
own host whose process has ended. `torchrun` ends all processes when one has failed."""

import os
import socket
import time
import weakref
from contextlib import contextmanager

import torch

#: How long a process that closes its connections may take to end, in seconds.
PATIENCE = 2.0

_REGISTERED = []  # a weak reference to the default group in which this process is registered


def register():
    """Writes this process to the store, unless that has been done already."""
    group = torch.distributed.group.WORLD
    if group is None or _REGISTERED and _REGISTERED[0]() is group:
        return
    _REGISTERED[:] = [weakref.ref(group)]
    try:
        _store().set(_key(group.rank()), f"{os.getpid()} {socket.gethostname()}")
    except RuntimeError:  # the store no longer exists: a collective fails too, and reports it
        pass


@contextmanager
def named():
    """In this block, the error of a collective names the ranks whose process has ended."""
    try:
        yield
    except RuntimeError as error:
        ended = _ended() if _is_of_connection(error) else ""
        if not ended:
            raise
        raise RuntimeError(f"{ended}, so that this collective cannot complete\n{error}") from None


def _is_of_connection(error):
    """Returns whether another process may have caused an error."""
    kinds = (torch.distributed.DistBackendError, torch.distributed.DistNetworkError)
    return isinstance(error, kinds) or any(word in str(error) for word in ("gloo", "onnection", "NCCL"))


def _ended():
    """Returns a text that names the ranks on this host whose process has ended; an empty text if there are none."""
    deadline = time.monotonic() + PATIENCE
    try:
        group, store = torch.distributed.group.WORLD, _store()
        processes = _processes(group, store)
    except (RuntimeError, ValueError, AttributeError):  # the group or its store no longer exists
        return ""
    while True:
        found = [f"rank {rank} (process {process})" for rank, process in processes if _has_ended(process)]
        if found:
            return f"{' and '.join(found)} {'has' if len(found) == 1 else 'have'} ended"
        if time.monotonic() > deadline:
            return ""
        time.sleep(0.05)


def _processes(group, store):
    """Returns pairs of rank and process id for the other processes on this host."""
    found = []
    for rank in range(group.size()):
        if rank != group.rank() and store.check([_key(rank)]):
            process, host = store.get(_key(rank)).decode().split(" ", 1)
            if host == socket.gethostname():
                found.append((rank, int(process)))
    return found


def _has_ended(process):
    """Returns whether a process does not exist, or is a zombie, for whose exit its parent has not waited yet."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return False


def _store():
    return torch.distributed.distributed_c10d._get_default_store()


def _key(rank):
    return f"autograph/process/{rank}"
