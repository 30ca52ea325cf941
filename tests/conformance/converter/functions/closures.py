"""Closures, and names of enclosing scopes."""

from environment import *

level = 0
history = []


def counter():
    count = 0

    def step(by=1):
        nonlocal count
        count += by
        return count

    return step


def late_binding(n):
    readers = []
    for i in range(n):
        readers.append(lambda: i)
    return [read() for read in readers]


def early_binding(n):
    readers = []
    for i in range(n):
        readers.append(lambda i=i: i)
    return [read() for read in readers]


def closure_sees_later_value():
    x = 1
    read = lambda: x
    x = 2
    return read()


def closure_of_branch(flag):
    if flag:
        x = "then"

        def read():
            return x
    else:
        x = "else"

        def read():
            return x, x
    x += "!"
    return read()


def closure_reads_unbound(flag):
    def read():
        return value

    if flag:
        value = 1
    return read()


def closure_reads_deleted():
    value = 1

    def read():
        return value

    note("before", read())
    del value
    return read()


def closure_writes_in_loop(items):
    best = None

    def offer(item):
        nonlocal best
        if best is None or item > best:
            best = item

    for item in items:
        offer(item)
    return best


def closure_writes_loop_condition(n):
    going = True
    passes = 0

    def stop():
        nonlocal going
        if passes >= n:
            going = False

    while going:
        passes += 1
        stop()
    return passes


def global_counter():
    global level
    level += 1
    if level > 2:
        level = 0
    return level


def global_in_nested():
    def write(value):
        global level
        level = value

    write(10)
    return level


def shadowed_global():
    level = "local"
    if level:
        level += "!"
    return level


def global_list():
    history.append(len(history))
    for entry in history:
        if entry > 1:
            history.clear()
            break
    return list(history)


def two_levels():
    x = "outer"

    def middle():
        def inner():
            nonlocal x
            x += " changed"
            return x

        if x:
            return inner()

    return middle(), x


def makes_adders(values):
    return [lambda y, x=x: x + y for x in values]


def compose(*functions):
    def composed(value):
        for function in reversed(functions):
            value = function(value)
        return value

    return composed


def memo(function):
    known = {}

    def wrapped(n):
        if n not in known:
            note("compute", n)
            known[n] = function(n)
        return known[n]

    return wrapped


def fibonacci(n):
    @memo
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


def parameter_in_closure(x):
    def read():
        return x

    x = x + 1
    if x > 1:
        x *= 10
    return read(), x


def recursion_inside(n):
    def factorial(k):
        if k <= 1:
            return 1
        return k * factorial(k - 1)

    return factorial(n)


def default_is_evaluated_once():
    calls = []

    def f(x=calls.append(1)):
        return len(calls)

    f()
    f()
    return calls


def default_reads_rebound():
    base = 1

    def f(x=base):
        return x, base

    base = 2
    return f()


def lambda_in_branch(flag):
    act = None
    if flag:
        act = lambda v: v * 2
    else:
        act = lambda v: v + 2 if v else flag
    return act(5), act(0)


def captured_by_comprehension(n):
    offset = n

    def shift(values):
        return [v + offset for v in values if v < offset]

    offset += 1
    return shift(range(n + 2))


def nonlocal_deleted():
    value = 1

    def drop():
        nonlocal value
        del value

    drop()
    try:
        return value
    except NameError as error:
        return type(error).__name__


def nonlocal_deleted_inside(flag):
    value = 1

    def drop():
        nonlocal value
        if flag:
            del value
        return value

    return drop()


def own_name():
    return own_name.__name__, (lambda: 0).__name__


def closure_cells(n):
    total = 0

    def add():
        nonlocal total
        for i in range(n):
            total += i
        return total

    def show():
        return f"total {total}"

    add()
    return show()


def accumulate_functions(n):
    stages = []
    for i in range(n):
        def stage(v, k=i):
            return v * k + i

        stages.append(stage)
    return [stage(1) for stage in stages]


def uses_converter_names(get_state, if_body=2, fscope=3, ag__x=4):
    do_return = get_state
    if do_return > 0:
        retval_ = if_body
        break_ = fscope
    else:
        retval_ = continue_ = 0
        break_ = itr = ag__x
    for itr in range(2):
        loop_body = itr
        if loop_body:
            break
    return do_return, retval_, break_, itr


CALLS = [
    "(lambda s: (s(), s(), s(5)))(counter())", "late_binding(3)", "late_binding(0)", "early_binding(3)",
    "closure_sees_later_value()", "closure_of_branch(True)", "closure_of_branch(False)",
    "closure_reads_unbound(True)", "closure_reads_unbound(False)", "closure_reads_deleted()",
    "closure_writes_in_loop([3, 1, 4, 1, 5])", "closure_writes_in_loop([])", "closure_writes_loop_condition(3)",
    "[global_counter() for _ in range(4)]", "(global_in_nested(), level)", "shadowed_global()",
    "[global_list() for _ in range(4)]", "two_levels()", "[f(10) for f in makes_adders([1, 2])]",
    "compose(str, abs, int)('-5')", "compose()(1)", "fibonacci(8)", "parameter_in_closure(0)", "parameter_in_closure(3)",
    "recursion_inside(5)", "default_is_evaluated_once()", "default_reads_rebound()",
    "lambda_in_branch(True)", "lambda_in_branch(False)", "captured_by_comprehension(3)", "nonlocal_deleted()",
    "nonlocal_deleted_inside(True)", "nonlocal_deleted_inside(False)", "own_name()", "closure_cells(4)",
    "accumulate_functions(3)", "uses_converter_names(1)", "uses_converter_names(0)", "uses_converter_names(get_state=2)",
]
