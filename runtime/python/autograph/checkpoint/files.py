"""The file of a checkpoint: safetensors, with the graph of objects in its metadata. Reading it executes no code."""

import contextlib
import math
import os
import secrets

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ..errors import CheckpointError
from . import document, tensors
from .kinds import TENSOR
from .objects import Graph

#: The name of the graph in the metadata.
_OBJECTS = "autograph.objects"


def write(path, graph):
    """Writes a graph to a temporary file, which then replaces the file with this path."""
    file, entries = tensors.store(graph)
    metadata = {_OBJECTS: document.encode(graph, entries), "format": "pt"}
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp")
    try:
        save_file(file, temporary, metadata)
        with open(temporary, "rb") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except SafetensorError as error:
        raise CheckpointError(f"`{path}` cannot be written: {error}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    with contextlib.suppress(OSError):  # not all systems can synchronize a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Saved:
    """A checkpoint that was read: its graph, and the values of its tensors."""

    def __init__(self, graph: Graph, values):
        self.graph = graph
        self.values = values


def read(path):
    """Reads a checkpoint and validates all of it."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no checkpoint `{path}`")
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(_OBJECTS)
            if text is None:
                raise document.Invalid("it has tensors, but no objects")
            loaded = {name: file.get_tensor(name) for name in file.keys()}
        loader = tensors.Loader(loaded)
        graph = document.decode(text, lambda *entry: _array(loaded, *entry))
        return Saved(graph, {node.id: loader.value(node.object) for node in graph.nodes if node.kind == TENSOR})
    except (SafetensorError, ValueError, OverflowError, RuntimeError) as error:
        message = f"`{path}` is not a checkpoint of this package, or it is damaged: {error}"
        raise CheckpointError(f"{message}\nhelp: restore another checkpoint, or save this one again") from None


def _array(loaded, name, dtype, shape, is_scalar):
    import numpy

    try:
        dtype = numpy.dtype(dtype)
    except TypeError:
        raise document.Invalid(f"{dtype!r} is not a dtype of an array") from None
    data = loaded.get(name)
    if data is None or data.dtype is not torch.uint8 or dtype.kind not in "biufcSUmM":
        raise document.Invalid(f"there is no array `{name}`")
    if dtype.itemsize * math.prod(shape) != data.numel() or not dtype.itemsize:
        raise document.Invalid(f"the array `{name}` does not have {list(shape)} elements of {dtype}")
    array = numpy.frombuffer(data.numpy().tobytes(), dtype).reshape(shape).copy()
    return array[()] if is_scalar else array
