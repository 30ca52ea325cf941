"""`with`: entry, exit, suppressed exceptions."""

import contextlib

from environment import *


def enters_and_leaves(name):
    with Guard(name) as size:
        note("inside", size)
    return size


def two_at_once():
    with Guard("a") as a, Guard("bb") as b:
        note("inside", (a, b))


def second_fails_to_enter():
    with Guard("a"), Guard("b", fail="enter"):
        note("never")


def second_fails_and_first_swallows():
    with Guard("a", swallow=True), Guard("b", fail="enter"):
        note("never")
    return "here"


def parenthesized():
    with (
        Guard("a") as a,
        Guard("b"),
    ):
        return a


def item_uses_the_one_before():
    with Guard("a") as n, Guard("x" * (n + 1)) as m:
        return n, m


def swallows(value):
    result = "unset"
    with Guard("g", swallow=True):
        result = 1 // value
        note("not reached on zero", result)
    return result


def possibly_unbound_after(value):
    with Guard("g", swallow=True):
        result = 1 // value
    return result


def break_inside(items):
    for item in items:
        with Guard(f"g{item}"):
            if item == 2:
                break
            note("item", item)
    else:
        note("else")
    return item


def continue_inside(items):
    seen = []
    for item in items:
        with Guard("g", swallow=True):
            if item == 0:
                continue
            seen.append(6 // (item - 1))
        seen.append("after")
    return seen


def with_in_condition(flag):
    if flag:
        with Guard("then") as n:
            n += 1
    else:
        n = 0
    return n


def conditional_guard(flag):
    with Guard("yes") if flag else Guard("not") as size:
        return size


def target_is_attribute(box):
    with Guard("abc") as box.x:
        box.x += 1
    return box


def target_unpacks():
    with contextlib.nullcontext((1, [2, 3])) as (a, (b, *rest)):
        return a, b, rest


def exit_replaces_error():
    with Guard("g", fail="exit"):
        raise Fault("inside")


def not_a_manager(value):
    with value:
        return 1


def loop_of_nested(n):
    if n == 0:
        raise Oops("bottom")
    with Guard(f"level {n}", swallow=n == 2):
        loop_of_nested(n - 1)
        note("after the call", n)
    return n


@contextlib.contextmanager
def section(name):
    note(f"<{name}>")
    try:
        yield name.upper()
    except Oops as error:
        note("section caught", error)
    finally:
        note(f"</{name}>")


def uses_generator_manager(flag):
    with section("a") as title:
        if flag:
            raise Oops("in section")
        note("title", title)
    return title


def returns_through_two(flag):
    with section("outer"):
        with section("inner"):
            if flag:
                return "returned"
        note("between")
    return "fell"


def exit_stack(names):
    with contextlib.ExitStack() as stack:
        sizes = [stack.enter_context(Guard(name)) for name in names]
        if sum(sizes) > 4:
            raise Oops("too many")
        return sizes


def suppress(keys, table):
    found = []
    for key in keys:
        with contextlib.suppress(KeyError):
            found.append(table[key])
    return found


def while_with(limit):
    n = 0
    while True:
        with Guard("g"):
            n += 1
            if n > limit:
                return n
            if n % 2:
                continue
            note("even", n)


class Transaction:
    def __init__(self, store):
        self.store = store

    def __enter__(self):
        self.before = dict(self.store)
        return self

    def __exit__(self, kind, value, traceback):
        if kind is not None:
            self.store.clear()
            self.store.update(self.before)
            return issubclass(kind, Oops)


def transfer(store, amount):
    with Transaction(store):
        store["a"] -= amount
        if store["a"] < 0:
            raise Oops("not enough")
        store["b"] += amount
    return store


CALLS = [
    "enters_and_leaves('abc')", "two_at_once()", "second_fails_to_enter()", "second_fails_and_first_swallows()",
    "parenthesized()", "item_uses_the_one_before()", "swallows(1)", "swallows(0)",
    "possibly_unbound_after(1)", "possibly_unbound_after(0)", "break_inside([1, 2, 3])", "break_inside([1])",
    "continue_inside([0, 1, 2])", "with_in_condition(True)", "with_in_condition(False)",
    "conditional_guard(True)", "conditional_guard(Truth('t', False))", "target_is_attribute(Bag())",
    "target_is_attribute(Probe('p'))", "target_unpacks()", "exit_replaces_error()", "not_a_manager(3)",
    "loop_of_nested(3)", "loop_of_nested(1)", "uses_generator_manager(True)", "uses_generator_manager(False)",
    "returns_through_two(True)", "returns_through_two(False)", "exit_stack(['a', 'b'])", "exit_stack(['abc', 'de'])",
    "suppress('ab', {'a': 1})", "while_with(3)", "transfer({'a': 5, 'b': 0}, 3)", "transfer({'a': 5, 'b': 0}, 7)",
    "transfer({'a': 5}, 3)",
]
