"""Functions that TensorFlow does not convert or miscompiles. Converted by ag-lsp, they behave as in Python."""

import tensorflow as tf
from cases import T, case, deviates

FOR_ELSE = "`for … else` is not converted"
WHILE_ELSE = "`while … else` is not converted"
WALRUS = "assignment expressions are not supported"
MATCH = "`match` is not supported"
NESTED_TERNARY = "a nested conditional expression is not converted"
TWICE = "the middle of a chained comparison is evaluated twice"
MANGLED = "private names (`self.__x`) are not supported"
SAME_LAMBDAS = "lambdas with the same parameters on one line are ambiguous"
WITH_ITEMS = "calls in the items of `with` are not converted"
LATE_BINDING = "names in a loop body are local to an iteration, so closures do not read the last value"
ANNOTATION_ONLY = "`y: int` without a value is treated as an assignment"
CLASS_ANNOTATION = "annotations are evaluated again in a scope without the names of the class"
UNBOUND = "`x += …` reads `x` without a check that it is bound"
TRY_ELSE = "the `else` of a `try` runs after `return`, `break` or `continue`"
UNBOUND_TEXT = "the message of UnboundLocalError differs from Python's"
ELIF_RETURNS = "an `elif` that returns, followed by a plain `return`, is reported as a missing return"
NAMES = "generated names clash with user names"
STALE_LAMBDA = "a lambda created before a loop does not read names that the loop binds"
OPTIONS_PLACE = "`set_loop_options` must be the first statement of a loop"
ASYNC = "`async def` is not supported"


@case(T(4), T(2))
@case(T(4), T(9))
@deviates(FOR_ELSE)
def for_else(n, wanted):
    r = -1
    for i in tf.range(n):
        if i == wanted:
            r = i
            break
    else:
        r = 100
    return r


@case([1, 2, 3], T(5))
@deviates(FOR_ELSE)
def for_else_in_python(items, x):
    for item in items:
        if item > 5:
            break
    else:
        if x > 2:
            x = x * 2
    return x


@case(T(10))
@case(T(3))
@deviates(WHILE_ELSE)
def while_else(n):
    i = 0
    while i < n:
        i += 1
        if i > 5:
            break
    else:
        i = -i
    return i


@case(T(5))
@case(T(-5))
@deviates(WALRUS)
def walrus_in_condition(x):
    if (y := x * 2) > 0:
        return y
    return x


@case(T(5))
@deviates(WALRUS)
def walrus_in_while(n):
    total = 0
    while (rest := n - total) > 0:
        total += 1
    return total, rest


@case(1, T(5))
@case([2, 3], T(5))
@case("other", T(5))
@deviates(MATCH)
def match_python(shape, x):
    match shape:
        case 1:
            x = x + 1
        case [a, b]:
            x = x * a + b
        case _:
            x = -x
    if x > 0:
        x = x + 100
    return x


@case({"op": "add", "by": 3}, T(5))
@case({"op": "scale", "by": 3}, T(5))
@deviates(MATCH)
def match_mapping(command, x):
    match command:
        case {"op": "add", "by": n}:
            if x > 2:
                x = x + n
        case {"op": "scale", "by": n} if n > 1:
            x = x * n
    return x if x > 0 else -x


@case(T(5))
@case(T(0))
@case(T(-5))
@deviates(NESTED_TERNARY)
def nested_ternary(x):
    return 1 if x > 0 else -1 if x < 0 else 0


@case(T(5))
@case(T(-5))
@deviates(NESTED_TERNARY)
def ternary_in_ternary_condition(x):
    return x if (x > 3 if x > 0 else x < -10) else T(0)


@case(T(5))
@deviates(TWICE)
def chained_comparison_with_effect(x):
    log = []

    def middle():
        log.append("called")
        return x

    inside = 0 < middle() < 10
    return inside, len(log)


class Private:
    def __init__(self, value):
        self.__value = value

    def grow(self, x):
        if x > 0:
            self.__value = self.__value + x
        return self.__value

    def __twice(self, x):
        return x * 2 if x > 0 else x

    def through_private_method(self, x):
        return self.__twice(x)


@case(T(5))
@case(T(-5))
@deviates(MANGLED)
def private_attribute(x):
    return Private(T(1)).grow(x)


@case(T(5))
@case(T(-5))
@deviates(MANGLED)
def private_method(x):
    return Private(T(1)).through_private_method(x)


positive, negative = (lambda x: x if x > 0 else -x), (lambda x: -x if x > 0 else x)


@case(T(5))
@case(T(-5))
@deviates(SAME_LAMBDAS)
def lambdas_with_the_same_parameters(x):
    return positive(x), negative(x)


class Opened:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *details):
        return None


def opened(x):
    return Opened(x if x > 0 else -x)


@case(T(5))
@case(T(-5))
@deviates(WITH_ITEMS)
def call_in_with_item(x):
    with opened(x) as y:
        return y + 1


@case(T(4))
@deviates(LATE_BINDING)
def late_binding_of_target(x):
    functions = []
    for n in range(3):
        functions.append(lambda v: v + n if v > 0 else v)
    return [f(x) for f in functions]


@case(T(4))
@deviates(LATE_BINDING)
def late_binding_of_name_in_body(x):
    functions = []
    n = 0
    while n < 3:
        n += 1
        scaled = n * 10
        functions.append(lambda v: v + scaled)
    return [f(x) for f in functions]


@case(T(4))
@case(T(-4))
@deviates(ANNOTATION_ONLY)
def annotation_without_value(x):
    y: int
    if x > 2:
        y = x
    else:
        y = -x
    return y


class Annotated:
    Number = int

    def absolute(self, x: Number) -> Number:
        if x > 0:
            return x
        return -x


@case(T(4))
@case(T(-4))
@deviates(CLASS_ANNOTATION)
def annotation_of_class_scope(x):
    return Annotated().absolute(x)


@case(3)
@deviates(UNBOUND)
def augmented_by_unbound(n):
    if n > 5:
        k = 1
    try:
        n += k
    except UnboundLocalError:
        n = 0
    return n


@case(T(4))
@case(T(-4))
@deviates(ASYNC)
def coroutine(x):
    async def positive(v):
        if v < 0:
            v = -v
        return v

    try:
        positive(x).send(None)
    except StopIteration as finished:
        return finished.value


@case(T(3))
@deviates(TRY_ELSE)
def return_leaves_out_else(x):
    log = []

    def f(v):
        try:
            return v
        except ValueError:
            log.append("except")
        else:
            log.append("else")

    return f(x), log


@case([1, 2, 3])
@deviates(TRY_ELSE)
def continue_leaves_out_else(items):
    log = []
    for item in items:
        try:
            if item == 1:
                continue
            if item == 3:
                break
        except ValueError:
            log.append("except")
        else:
            log.append(f"else {item}")
    return log


@case(T(10), T(3))
@deviates(ELIF_RETURNS)
def elif_returns_before_return(n, m):
    if n > m:
        return n - m
    elif n == m:
        return n
    return m - n


@case(T(3))
@case(T(-3))
@deviates(NAMES)
def names_of_generated_code(x):
    get_state = T(1)
    if_body = T(2)
    vars_ = T(3)
    if x > 0:
        get_state = get_state + x
        vars_ = if_body
    return get_state, if_body, vars_


@case(T(3))
@deviates(UNBOUND_TEXT)
def unbound(x):
    if x is None:
        y = 1
    return y + x


@case(T(3))
@deviates(UNBOUND_TEXT)
def deleted(x):
    y = x
    del y
    return y


@case(T(3))
@deviates(STALE_LAMBDA)
def lambda_reads_loop_variable(n):
    last = 0
    read = lambda: last
    for i in tf.range(n):
        last = i
    return read()


@case(T(3))
@deviates(OPTIONS_PLACE)
def loop_options_after_statement(n):
    v = tf.zeros([0])
    for i in tf.range(n):
        one = tf.ones([1])
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
        v = tf.concat([v, one], 0)
    return v
