"""Walrus, match, async, lambdas and loop options, which are not converted. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def walrus(x):
    if (y := x * 2) > 4:
        return y
    return x


@tf.function
def walrus_in_loop(x, names):
    while (n := len(names)) > 1:
        names = names[1:]
        x = x + n if x > n else x
    return x


@tf.function
def assigned_before(x):
    y = x * 2
    if y > 4:
        return y
    return x


@tf.function
def assigned_in_loop(x, names):
    n = len(names)
    while n > 1:
        names = names[1:]
        n = len(names)
        x = x + n if x > n else x
    return x


@tf.function
def match_number(x, kind):
    match kind:
        case 0:
            return x
        case 1:
            if x > 0:
                return -x
            return x
    return x + 1


@tf.function
def match_pair(x, point):
    match point:
        case (0, b):
            x = x + b
        case (a, _):
            x = x * a
    return x


@tf.function
def elif_number(x, kind):
    if kind == 0:
        return x
    elif kind == 1:
        return -x if x > 0 else x
    return x + 1


@tf.function
def elif_pair(x, point):
    a, b = point
    if a == 0:
        x = x + b
    else:
        x = x * a
    return x


@tf.function
async def coroutine(x):
    if x > 0:
        x = x + 1
    return x


@tf.function
def nested_coroutine(x):
    async def later():
        return x

    pending = later()
    pending.close()
    return x if x > 0 else -x


@tf.function
def plain(x):
    if x > 0:
        x = x + 1
    return x


two_lambdas = [lambda x: x + 1 if x > 0 else x, lambda x: x - 1 if x > 0 else x]
one_lambda = lambda x: x + 1 if x > 0 else x
named_parameters = (lambda a: a if a > 0 else -a, lambda b: b if b > 1 else -b)
# fmt: off
same_line = (lambda x: x if x > 0 else -x, lambda x: x if x > 1 else -x)
# fmt: on


@tf.function
def options_after_statement(n):
    v = tf.zeros([0])
    for i in tf.range(n):
        i = i + 1
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
        v = tf.concat([v, [1.0]], 0)
    return v


@tf.function
def options_outside_loop(n):
    tf.autograph.experimental.set_loop_options(parallel_iterations=1)
    total = 0
    for i in tf.range(n):
        total += i
    return total


@tf.function
def options_first(n):
    v = tf.zeros([0])
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
        v = tf.concat([v, [1.0]], 0)
    return v


def main():
    walrus(tf.constant(3))
    walrus_in_loop(tf.constant(3), ["a", "b"])
    assigned_before(tf.constant(3))
    assigned_in_loop(tf.constant(3), ["a", "b"])
    match_number(tf.constant(3), 1)
    match_pair(tf.constant(3), (0, 1))
    elif_number(tf.constant(3), 1)
    elif_pair(tf.constant(3), (0, 1))
    coroutine(tf.constant(3))
    nested_coroutine(tf.constant(3))
    plain(tf.constant(3))
    tf.function(two_lambdas[0])(tf.constant(3))
    tf.function(same_line[1])(tf.constant(3))
    tf.function(one_lambda)(tf.constant(3))
    tf.function(named_parameters[0])(tf.constant(3))
    options_after_statement(tf.constant(3))
    options_outside_loop(tf.constant(3))
    options_first(tf.constant(3))


EXAMPLES = {
    "walrus": [(tf.constant(3),)],
    "walrus_in_loop": [(tf.constant(3), ["a", "b"])],
    "assigned_before": [(tf.constant(3),)],
    "assigned_in_loop": [(tf.constant(3), ["a", "b"])],
    "match_number": [(tf.constant(3), 1)],
    "match_pair": [(tf.constant(3), (0, 1))],
    "elif_number": [(tf.constant(3), 1)],
    "elif_pair": [(tf.constant(3), (0, 1))],
    "coroutine": [(tf.constant(3),)],
    "nested_coroutine": [(tf.constant(3),)],
    "plain": [(tf.constant(3),)],
    "two_lambdas[0]": [(tf.constant(3),)],
    "same_line[1]": [(tf.constant(3),)],
    "one_lambda": [(tf.constant(3),)],
    "named_parameters[0]": [(tf.constant(3),)],
    "options_after_statement": [(tf.constant(3),)],
    "options_outside_loop": [(tf.constant(3),)],
    "options_first": [(tf.constant(3),)],
}


RULES = {
    "walrus": "AG005",
    "walrus_in_loop": "AG005",
    "assigned_before": None,
    "assigned_in_loop": None,
    "match_number": "AG006",
    "match_pair": "AG006",
    "elif_number": None,
    "elif_pair": None,
    "coroutine": "AG007",
    "nested_coroutine": "AG007",
    "plain": None,
    "two_lambdas[0]": "AG008",
    "same_line[1]": "AG008",
    "one_lambda": None,
    "named_parameters[0]": None,
    "options_after_statement": "AG011",
    "options_outside_loop": "AG011",
    "options_first": None,
}


if __name__ == "__main__":
    main()
