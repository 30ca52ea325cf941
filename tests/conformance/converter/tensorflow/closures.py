"""Nested functions, lambdas, free variables, default values, partials, decorators."""

import functools

import tensorflow as tf
from cases import T, case

OFFSET = 10
SCALE = T(2)


@case(T(1))
def reads_globals(x):
    if x > 0:
        return x * SCALE + OFFSET
    return x


@case(T(3))
@case(T(-3))
def nested_function(x):
    def absolute(v):
        if v < 0:
            v = -v
        return v

    return absolute(x) + absolute(x - 4)


@case(T(3))
def closure_reads(x):
    y = x * 2

    def add(v):
        if v > 0:
            return v + y
        return v

    return add(x)


@case(T(3))
@case(T(-3))
def closure_writes(x):
    count = 0

    def bump(v):
        nonlocal count
        if v > 0:
            count += v
        return count

    bump(x)
    bump(x)
    return count


@case(T(2))
def two_levels(x):
    def outer(a):
        def inner(b):
            if b > 1:
                return a + b
            return x

        return inner(a)

    return outer(x)


def make_adder(n):
    def adder(x):
        if x > 0:
            return x + n
        return x

    return adder


@case(T(2))
def made_by_factory(x):
    return make_adder(5)(x), make_adder(T(7))(x)


@case(T(2))
def one_code_two_cells(x):
    adders = [make_adder(n) for n in (1, 10, 100)]
    total = T(0)
    for adder in adders:
        total += adder(x)
    return total


def with_defaults(x, n=3, *, scale=2):
    if x > n:
        return x * scale
    return x


@case(T(4))
@case(T(2))
def default_values(x):
    return with_defaults(x), with_defaults(x, 1), with_defaults(x, scale=10)


@case(T(4))
def default_bound_early(x):
    limit = 3

    def f(v, bound=limit):
        if v > bound:
            v = v - bound
        return v

    limit = 100
    return f(x), limit


@case(T(4))
def lambda_defaults(x):
    functions = [lambda v, n=n: v + n if v > 0 else v for n in range(3)]
    return [f(x) for f in functions]


@case(T(4))
def partial(x):
    f = functools.partial(with_defaults, n=1, scale=5)
    return f(x)


@case(T(4))
@case(T(-4))
def higher_order(x):
    def apply(f, v):
        return f(v)

    return apply(lambda v: v * 2 if v > 0 else v, x)


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args) * 2

    return wrapper


@doubled
def decorated(x):
    if x > 0:
        return x + 1
    return x


@case(T(4))
@case(T(-4))
def calls_decorated(x):
    return decorated(x)


@case(T(4))
def decorated_inside(x):
    @doubled
    def f(v):
        if v > 0:
            v = v + 1
        return v

    return f(x)


def plain_helper(x):
    if x > 0:
        x = x * 3
    return x


@case(T(4))
@case(T(-4))
def calls_module_function(x):
    return plain_helper(plain_helper(x))


@case(T(5))
def recursion_on_python(x):
    def power(v, n):
        if n == 0:
            return 1
        return v * power(v, n - 1)

    return power(x, 4)


@case(T(3))
def cond_with_lambdas(x):
    return tf.cond(x > 2, lambda: x + 1, lambda: x - 1)


@case(T(3))
def while_loop_with_functions(x):
    def test(i, s):
        return i < x

    def body(i, s):
        if i % 2 == 0:
            s = s + i
        return i + 1, s

    return tf.while_loop(test, body, (0, 0))


@case(T([1, -2, 3]))
def map_fn(v):
    def f(x):
        if x > 0:
            return x * 2
        return x

    return tf.map_fn(f, v)


@case(T(3))
def already_tf_function(x):
    @tf.function
    def inner(v):
        if v > 0:
            v = v + 100
        return v

    return inner(x)


@case(T(3))
def excluded_from_conversion(x):
    @tf.autograph.experimental.do_not_convert
    def inner(v):
        return v + 1

    return inner(x)


shifted, negated = (lambda x: x + 1 if x > 0 else x), (lambda y: -y if y > 0 else y)


@case(T(3))
@case(T(-3))
def lambdas_of_one_line(x):
    return shifted(x), negated(x)


long_lambda = lambda x: (
    x * 2
    if x > 0
    else x * 3
)


@case(T(3))
@case(T(-3))
def lambda_of_several_lines(x):
    return long_lambda(x)


COUNTER = {"calls": 0}


@case(T(3))
def writes_global_container(x):
    COUNTER["calls"] = 0
    if x.dtype == tf.int32:
        COUNTER["calls"] += 1
    return x + COUNTER["calls"]


TOTAL = 0


@case(T(3), 5)
def writes_global(x, n):
    global TOTAL
    TOTAL = 1
    for _ in range(n):
        TOTAL += 1
    if TOTAL > 3:
        TOTAL = TOTAL * 2
    return x + TOTAL


@case(T(3))
def shadowed_builtin(x):
    abs = lambda v: v + 1000
    len = 3
    return abs(x) + len


@case(T(3))
def function_defined_in_branch(x):
    if x.shape.rank == 0:

        def f(v):
            return v + 1 if v > 0 else v
    else:

        def f(v):
            return v

    return f(x)


@case(T(3))
def function_in_loop(x):
    for n in range(3):

        def add(v):
            if v > 0:
                return v + n
            return v

        x = add(x)
    return x


@case(T(4))
def mutual_recursion(x):
    def even(n):
        return T(True) if n == 0 else odd(n - 1)

    def odd(n):
        return T(False) if n == 0 else even(n - 1)

    return x, even(4)
