"""Jumps that a context manager or a handler affects, and the scopes of names in unreachable or nested code."""

from environment import *


def return_replaced_by_an_error():
    with Guard("g", True), Guard("g", fail="exit"):
        return 5


def continue_replaced_by_an_error(items):
    for a in items:
        with Guard("g", True), Guard("g", fail="exit"):
            done = 1
            continue
        done = None
    return done


def break_swallowed_by_a_handler():
    for j in [4, 1]:
        try:
            with Guard("g", fail="exit"):
                break
        except Exception:
            note("go on", j)


def break_swallowed_by_a_manager():
    for n in "it":
        with Guard("g", True), Guard("g", fail="exit"):
            break
    return n


def unreached_walrus_makes_local(i):
    if flag:
        for a in i:
            for b in a:
                pass
            else:
                continue
            return (flag := b)


def unreached_pattern_makes_local():
    with Guard("g", True):
        while True:
            for b in range(4):
                del total(y=b).y
            else:
                break
            match 1:
                case {"k": total}:
                    b


def target_reads_deleted(xs, box):
    c = 1
    for n in xs:
        with Guard("g", True) as box.x:
            del c, box
    return n


def match_binds_in_its_blocks(x):
    match x:
        case int(a):
            if a:
                b = a
            while True:
                break
    return b


def local_function_needs_argument(flag):
    if flag:
        def inner(p0):
            pass

        inner()


async def awaits_in_a_default(flag):
    if flag:
        def inner(p0=await pause(1)):
            return p0

        return inner()


CALLS = [
    "return_replaced_by_an_error()", "continue_replaced_by_an_error([1, 2])", "break_swallowed_by_a_handler()",
    "break_swallowed_by_a_manager()", "unreached_walrus_makes_local([1])", "unreached_pattern_makes_local()",
    "target_reads_deleted([1, 2], Bag())", "match_binds_in_its_blocks(1)", "match_binds_in_its_blocks(0)",
    "match_binds_in_its_blocks('a')", "local_function_needs_argument(1)", "drive(awaits_in_a_default(1))",
]
