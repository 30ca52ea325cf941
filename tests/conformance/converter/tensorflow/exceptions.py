"""`try`, `raise`, `with`, `assert` around staged code."""

import contextlib

import tensorflow as tf
from cases import T, case, kept


@case(T(3), 1)
@case(T(3), 0)
def try_except(x, n):
    try:
        y = x * (10 // n)
    except ZeroDivisionError:
        y = x
    if y > 5:
        y = y - 5
    return y


@case(T(3), "1")
@case(T(3), "one")
def try_else(x, text):
    try:
        n = int(text)
    except ValueError:
        x = x - 1
    else:
        x = x + n
    return x


@case(T(3))
def try_finally(x):
    log = []
    try:
        if x > 0:
            x = x + 1
    finally:
        log.append("done")
    return x, len(log)


@case(T(3))
def return_in_try(x):
    log = []

    def f(v):
        try:
            return v + 1
        finally:
            log.append("finally")

    return f(x), len(log)


@case(T(3), 0)
@case(T(3), 1)
def return_in_except(x, n):
    try:
        return x * (1 // n)
    except ZeroDivisionError:
        return x


@case(T(3), "k")
@case(T(3), "other")
def exception_bound(x, key):
    try:
        value = {"k": x}[key]
    except KeyError as error:
        value = x * len(error.args)
    return value


@case(T(3), True)
@case(T(3), False)
def raises_python(x, flag):
    if flag:
        raise ValueError("flag is set")
    return x


@case(T(3))
def raise_from(x):
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("inner") from error
    except ValueError as error:
        return x + len(str(error.args[0]))
    return x


@case(T(3))
def staged_inside_try(x):
    try:
        while x > 0:
            x = x - 2
    except ValueError:
        x = T(100)
    return x


@contextlib.contextmanager
def recorded(log, name):
    log.append("enter " + name)
    yield len(log)
    log.append("leave " + name)


@case(T(3))
def with_statement(x):
    log = []
    with recorded(log, "a") as n:
        if x > 0:
            x = x + n
    return x, log


@case(T(3))
def with_several_items(x):
    log = []
    with recorded(log, "a") as n, recorded(log, "b") as m:
        for i in tf.range(3):
            x = x + i * n + m
    return x, log


@case(T(3))
def return_in_with(x):
    log = []

    def f(v):
        with recorded(log, "a"):
            return v * 2

    return f(x), log


@case(T(3))
def name_scope(x):
    with tf.name_scope("scope"):
        if x > 0:
            x = x + 1
    return x


@case(T(3.0))
def gradient_tape(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        if y > 5:
            y = y * 2
    return tape.gradient(y, x)


@case(T(3))
def control_dependencies(x):
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        if x > 1:
            x = x + 1
    return x


@case(T(3), 1)
def assert_python(x, n):
    assert n == 1, "n must be one"
    return x


@case(T(3), 2)
def assert_python_fails(x, n):
    assert n == 1, "n must be one"
    return x


@case([1, 0, 2])
def try_in_loop(items):
    log = []
    for item in items:
        try:
            log.append(10 // item)
        except ZeroDivisionError:
            log.append(-1)
            continue
        finally:
            log.append("f")
    return [str(entry) for entry in log]


@case(T(3), [1, 2, 3])
def break_in_try(x, items):
    for item in items:
        try:
            if item == 2:
                break
            x = x + item
        finally:
            x = x * 2
    return x


@case(T(3))
def suppressed(x):
    with contextlib.suppress(KeyError):
        x = x + 1
        {}["missing"]
        x = x + 100
    return x


@case(T(3))
def exit_swallows(x):
    class Swallows:
        def __enter__(self):
            return self

        def __exit__(self, *details):
            return True

    with Swallows():
        if x.dtype == tf.int32:
            raise ValueError
        return x
    return x + 1


@case(T(3))
@kept("a jump out of `finally` discards the active exception")
def finally_overrides(x):
    try:
        return x
    finally:
        return x + 1


class Refused(Exception):
    pass


@case(T(3))
def own_exception(x):
    if x.dtype == tf.int32:
        raise Refused("not this type")
    return x


def fails_below(x):
    y = x + 1
    return y.no_such_attribute


@case(T(3))
def fails_in_callee(x):
    if x > 0:
        x = x + 1
    return fails_below(x)
