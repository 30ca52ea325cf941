"""Clocks, `time.sleep`, and sources of unique values. The graph reads clocks and sleeps when it runs. The sources of
unique values cannot be part of a graph."""

import builtins
import datetime
import functools
import os
import secrets
import time
import uuid

from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from .overloads import OVERLOADS
from .py_function import py_function

_CLOCKS = (time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time)
_CLOCKS_NS = (time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns, time.thread_time_ns)
_UNIQUE = (
    datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today, uuid.uuid1,
    uuid.uuid4, os.urandom, secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow,
    secrets.randbits, secrets.choice, builtins.input,
)  # fmt: skip


def _read(clock, kind):
    return clock() if current() is None else py_function(clock, types=kind)


def _sleep(seconds):
    return time_sleep(seconds) if current() is None else py_function(time_sleep, [seconds], [])


time_sleep = time.sleep


def _unique(function, *args, **keywords):
    if current() is None:
        return function(*args, **keywords)
    message = f"`{function.__qualname__}` has a different result in each call, which a graph cannot repeat"
    raise StagingError(f"{message}; pass the result as an argument, or call it in `ag.py_function`", spans.current())


OVERLOADS.update({clock: functools.partial(_read, clock, float) for clock in _CLOCKS})
OVERLOADS.update({clock: functools.partial(_read, clock, int) for clock in _CLOCKS_NS})
OVERLOADS.update({function: functools.partial(_unique, function) for function in _UNIQUE})
OVERLOADS[time.sleep] = _sleep
