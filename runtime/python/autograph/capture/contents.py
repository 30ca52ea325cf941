"""The contents of objects that are not written in Python: how they are read, compared and restored.

There is a subclass of `Kind` for each kind of object, with these attributes:

    restores    whether `restore` can restore every state
    is_drawn    whether reading a value changes the object, as for iterators and random number generators
    is_slow     whether `read` takes long
"""

import array
import contextvars
import gc
import io
import random
import sys
import types
import warnings
from operator import is_

import torch
from torch.utils._python_dispatch import _disable_current_modes


class Kind:
    """`read` returns the contents of an object, `same` compares two contents, `restore` assigns contents to an object,
    `children` returns the objects that it refers to, and `describe` names it in messages."""

    restores = True
    is_drawn = False
    is_slow = False

    def same(self, a, b):
        return a == b

    def children(self, value):
        return ()

    def memory(self, value):
        """Returns the start and the end of the memory that an object may share with tensors; None if it has no such memory."""

    def describe(self, value):
        return f"a `{type(value).__name__}`"


class Sets(Kind):
    def read(self, value):
        return set(set.__iter__(value))

    def restore(self, value, data):
        set.clear(value)
        set.update(value, data)

    def children(self, value):
        return set.__iter__(value)

    def describe(self, value):
        return "a set"


class Buffers(Kind):
    """`bytearray` and `array.array`."""

    def read(self, value):
        return value[:]

    def restore(self, value, data):
        value[:] = data

    def memory(self, value):
        return ARRAYS.memory(sys.modules["numpy"].frombuffer(value, "u1")) if len(value) else None


class Arrays(Kind):
    """NumPy arrays. The contents of arrays with more than `LARGEST` bytes are data, not state."""

    LARGEST = 1 << 24

    def read(self, value):
        if value.nbytes > self.LARGEST or value.dtype.hasobject:
            return value.dtype, value.shape, None
        return value.dtype, value.shape, value.tobytes()

    def restore(self, value, data):
        dtype, shape, content = data
        if content is not None and value.flags.writeable and (value.dtype, value.shape) == (dtype, shape):
            value[...] = sys.modules["numpy"].frombuffer(content, dtype).reshape(shape)

    def memory(self, value):
        while isinstance(value.base, type(value)):
            value = value.base
        start = value.__array_interface__["data"][0]
        return start, start + value.nbytes

    def describe(self, value):
        return "a NumPy array"


class Streams(Kind):
    """Files in memory."""

    def read(self, value):
        return None if value.closed else (value.getvalue(), value.tell())

    def restore(self, value, data):
        if data is not None and not value.closed:
            text, position = data
            value.seek(0)
            value.truncate()
            value.write(text)
            value.seek(position)


class PythonRandom(Kind):
    is_drawn = True
    is_slow = True

    def read(self, value):
        return random.Random.getstate(value)

    def restore(self, value, data):
        random.Random.setstate(value, data)

    def describe(self, value):
        return "the state of Python's random number generator"


class NumpyRandom(Kind):
    """`RandomState` and `Generator`."""

    is_drawn = True
    is_slow = True

    def read(self, value):
        state = value.get_state(legacy=False) if hasattr(value, "get_state") else value.bit_generator.state
        return _flat(state)

    def restore(self, value, data):
        state = _unflat(data)
        if hasattr(value, "set_state"):
            value.set_state(state)
        else:
            value.bit_generator.state = state

    def describe(self, value):
        return "the state of NumPy's random number generator"


class TorchRandom(Kind):
    """`torch.Generator`."""

    is_drawn = True
    is_slow = True

    def read(self, value):
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            return value.get_state().numpy().tobytes()

    def restore(self, value, data):
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            value.set_state(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def describe(self, value):
        return "the state of a `torch.Generator`"


class ContextVariables(Kind):
    """`ContextVar`. A variable that was not set gets its default."""

    def read(self, value):
        try:
            return value.get()
        except LookupError:
            return None

    def same(self, a, b):
        return a is b

    def restore(self, value, data):
        value.set(data)

    def children(self, value):
        return [self.read(value)]

    def describe(self, value):
        return f"the context variable `{value.name}`"


def _flat(state):
    """Converts a dictionary that may contain arrays into tuples and bytes, which `==` can compare."""
    if isinstance(state, dict):
        return tuple((name, _flat(value)) for name, value in state.items())
    return (state.dtype, state.tobytes()) if hasattr(state, "tobytes") else state


def _unflat(data):
    if not isinstance(data, tuple):
        return data
    if len(data) == 2 and isinstance(data[1], bytes):
        return sys.modules["numpy"].frombuffer(data[1], data[0])
    return {name: _unflat(value) for name, value in data}


class Iterators(Kind):
    """Iterators. Their contents are the data that `pickle` would store."""

    restores = False
    is_drawn = True

    def read(self, value):
        try:
            if type(value).__module__ != "itertools":
                return value.__reduce__()
            with warnings.catch_warnings():  # deprecated since Python 3.12
                warnings.simplefilter("ignore")
                return value.__reduce__()
        except (TypeError, AttributeError):
            return repr(value)

    def same(self, a, b):
        return _same_parts(a, b)

    def restore(self, value, data):
        if type(data) is tuple and len(data) > 2 and hasattr(value, "__setstate__"):
            value.__setstate__(data[2])

    def children(self, value):
        return gc.get_referents(value)

    def describe(self, value):
        return f"the position of an iterator (`{type(value).__name__}`)"


class Generators(Kind):
    restores = False
    is_drawn = True

    def read(self, value):
        frame = value.gi_frame
        return None if frame is None else (frame.f_lasti, gc.get_referents(value))

    def same(self, a, b):
        if a is None or b is None:
            return a is b
        return a[0] == b[0] and len(a[1]) == len(b[1]) and all(map(is_, a[1], b[1]))

    def restore(self, value, data):
        pass

    def children(self, value):
        return gc.get_referents(value)

    def describe(self, value):
        return f"the position of the generator `{value.__name__}`"


def _same_parts(a, b):
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(_same_parts, a, b))
    if type(a) is dict:
        return list(a) == list(b) and all(map(_same_parts, a.values(), b.values()))
    return isinstance(a, (int, float, str, bytes, range)) and a == b


SETS, BUFFERS, ARRAYS, STREAMS = Sets(), Buffers(), Arrays(), Streams()
PYTHON_RANDOM, NUMPY_RANDOM, TORCH_RANDOM = PythonRandom(), NumpyRandom(), TorchRandom()
ITERATORS, GENERATORS = Iterators(), Generators()
CONTEXT_VARIABLES = ContextVariables()


def share_memory(kind, value, tensors):
    """Returns whether one of these tensors shares memory with an object of this kind."""
    memory = kind.memory(value)
    if memory is None:
        return False
    start, end = memory
    for tensor in tensors:
        if tensor.layout is torch.strided and tensor.device.type == "cpu":
            storage = tensor.untyped_storage()
            if storage.data_ptr() < end and start < storage.data_ptr() + storage.nbytes():
                return True
    return False


def cannot_go_back(value):
    """Returns whether a value is an iterator whose position cannot be set, and that holds no other iterator."""
    is_iterator = kind_of(type(value)) is ITERATORS and not hasattr(value, "__setstate__")
    return is_iterator and not any(kind_of(type(held)) is ITERATORS for held in gc.get_referents(value))


def kind_of(cls):
    """Returns the `Kind` of the objects of a class; None if such objects have only attributes and items."""
    if issubclass(cls, set):
        return SETS
    if issubclass(cls, (bytearray, array.array)):
        return BUFFERS
    if issubclass(cls, types.GeneratorType):
        return GENERATORS
    if issubclass(cls, (io.StringIO, io.BytesIO)):
        return STREAMS
    if issubclass(cls, contextvars.ContextVar):
        return CONTEXT_VARIABLES
    if issubclass(cls, random.Random):
        return PYTHON_RANDOM
    if issubclass(cls, torch.Generator):
        return TORCH_RANDOM
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(cls, numpy.ndarray):
        return ARRAYS
    if numpy is not None and issubclass(cls, (numpy.random.RandomState, numpy.random.Generator)):
        return NUMPY_RANDOM
    is_iterator = hasattr(cls, "__next__") and "__iter__" in dir(cls)
    if is_iterator and cls.__module__ in ("builtins", "itertools", "_collections", "collections"):
        return ITERATORS
    return None


def generators():
    """Yields the random number generators that the functions of the modules `random` and `numpy.random` use."""
    yield random._inst
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        yield numpy.random.mtrand._rand
