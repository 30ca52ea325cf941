"""Clocks and `time.sleep`. The graph reads clocks and sleeps when it runs."""

import functools
import time

from ..capture.staging import current
from .overloads import OVERLOADS
from .py_function import py_function

_CLOCKS = (time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time)
_CLOCKS_NS = (time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns, time.thread_time_ns)


def _read(clock, kind):
    return clock() if current() is None else py_function(clock, types=kind)


def _sleep(seconds):
    return time_sleep(seconds) if current() is None else py_function(time_sleep, [seconds], [])


time_sleep = time.sleep


OVERLOADS.update({clock: functools.partial(_read, clock, float) for clock in _CLOCKS})
OVERLOADS.update({clock: functools.partial(_read, clock, int) for clock in _CLOCKS_NS})
OVERLOADS[time.sleep] = _sleep
