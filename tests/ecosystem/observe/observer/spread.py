"""A pytest plugin (`-p observer.spread`) for runs with a time limit. It reorders tests: the tests of different files
alternate, and the first variants of all parametrized tests run before further variants. `AG_OBSERVE_SECONDS` limits the
CPU time of the tests, without that of their collection."""
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
        item.session.shouldstop = "the time limit was reached"
