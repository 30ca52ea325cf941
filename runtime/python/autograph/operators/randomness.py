"""The state of torch's random number generator: read and set when the graph runs, in program order."""

from contextlib import contextmanager

import torch

from ..capture.staging import current
from .overloads import OVERLOADS
from .py_function import py_function

_seed, _get, _set, _fork = torch.manual_seed, torch.get_rng_state, torch.set_rng_state, torch.random.fork_rng


def manual_seed(seed):
    if current() is None:
        return _seed(seed)
    py_function(_seed, [seed])
    return torch.default_generator


def get_rng_state():
    if current() is None:
        return _get()
    state = _get()
    return py_function(_get, types=state)


def set_rng_state(state):
    if current() is None:
        return _set(state)
    py_function(_set, [state])


def fork_rng(*args, **kwargs):
    return _fork(*args, **kwargs) if current() is None else _forked(*args, **kwargs)


@contextmanager
def _forked(devices=None, enabled=True, *_, **__):
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


OVERLOADS.update({
    _seed: manual_seed, torch.random.manual_seed: manual_seed, _get: get_rng_state, _set: set_rng_state,
    _fork: fork_rng,
})  # fmt: skip
