"""A plugin of pytest (`-p observer.spread`) for runs with a limit on time: the tests of all files take turns, and of a
parametrized test one variant comes before the other variants of any test. `AG_OBSERVE_SECONDS` limits the time of the CPU
that the tests take, without that of collecting them."""
import collections
import os
import re
import time

VARIANT = re.compile(r"\[.*\]$|(__\w+)?_?\d+(_\w+|\W.*)?$", re.DOTALL)


def pytest_collection_modifyitems(items):
    variants = collections.Counter()
    in_file = collections.Counter()

    def turn(item):
        file, _, test = item.nodeid.partition("::")
        base = file, VARIANT.sub("", test)
        variants[base] += 1
        rank = file, variants[base]
        in_file[rank] += 1
        return variants[base], in_file[rank]

    turns = {item: turn(item) for item in items}
    items.sort(key=turns.get)


def pytest_runtestloop(session):
    session.config.observer_end = time.process_time() + float(os.environ.get("AG_OBSERVE_SECONDS", "inf"))


def pytest_runtest_setup(item):
    if time.process_time() > item.config.observer_end:
        item.session.shouldstop = "the time is over"
