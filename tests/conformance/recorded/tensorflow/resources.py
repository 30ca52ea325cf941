"""try, with, raise, finally, strings and asserts around staged code."""

import contextlib

import tensorflow as tf


@tf.function
def named_scopes(x, scope):
    with tf.name_scope(scope or "default"):
        if x > 0:
            x = x + 1
    with tf.name_scope("second") as name:
        if name.startswith("default"):
            x = x - 1
    return x


@tf.function
def try_import(x, backend):
    try:
        if backend == "missing":
            raise ImportError(backend)
        scale = 2
    except ImportError:
        scale = 1
    if x > scale:
        x = x * scale
    return x


@tf.function
def try_lookup(x, table, key):
    try:
        limit = table[key]
    except KeyError:
        limit = None
    if limit is not None and x > limit:
        x = x - limit
    return x


@tf.function
def with_finally(x, log):
    try:
        if x > 0:
            y = x
        else:
            y = -x
    finally:
        if log:
            log.append("traced")
    return y


@contextlib.contextmanager
def noise(amount):
    # Generators are not converted; the values are Python anyway.
    if amount > 1:
        amount = 1
    yield amount


@tf.function
def own_context(x, amount):
    with noise(amount) as level:
        if level == 1:
            x = x + level
        if x > 3:
            x = x - 3
    return x


@tf.function
def string_modes(x, mode, padding="valid"):
    if mode.lower() == "max":
        y = tf.reduce_max(x)
    elif mode in ("mean", "average"):
        y = tf.reduce_mean(x)
    else:
        raise ValueError(f"unknown mode {mode}")
    if padding == "same" and not mode.endswith("x"):
        y = y + 1.0
    return y if y > 0 else 0.0 * y


@tf.function
def string_tensors(word, prefix):
    if tf.strings.length(word) > 3:
        word = tf.strings.substr(word, 0, 3)
    if word == prefix:
        count = 1
    else:
        count = 0
    if prefix == "abc":
        count += 10
    return count


@tf.function
def python_raise(x, strict):
    if strict and x.shape.rank != 1:
        raise ValueError("a vector is expected")
    if x.shape[0] is None or x.shape[0] > 8:
        raise ValueError("too long")
    if tf.reduce_sum(x) > 1.0:
        x = x / tf.reduce_sum(x)
    return x


@tf.function
def checked(x, check):
    if check:
        tf.debugging.assert_positive(x)
        with tf.control_dependencies([tf.debugging.assert_less(x, 10.0)]):
            x = tf.identity(x)
    if tf.equal(x, 1.0):
        x = x + 1.0
    return x


@tf.function
def device_choice(x, gpus):
    device = "/gpu:0" if gpus else "/cpu:0"
    with tf.device(device):
        while x > 1.0:
            x = x / 2.0
    return x


@tf.function
def nested_try(x, options):
    for option in options:
        try:
            step = int(option)
        except ValueError:
            continue
        if step < 0:
            break
        if x > step:
            x = x - step
    return x


@tf.function
def printing(x, names):
    for i, name in enumerate(names):
        if i == len(names) - 1:
            tf.print(name, x, summarize=1 if len(name) < 3 else 2)
        elif x > i:
            x = x - i
    return x


@tf.function
def shape_checks(a, b):
    if a.shape != b.shape:
        raise ValueError("shapes differ")
    assert a.shape.rank == 1 and b.dtype == a.dtype
    if not a.shape.is_compatible_with([2]):
        return a
    if a[0] > b[0] or a[1] > b[1]:
        a = b
    return a


@tf.function
def deletes(x, flag):
    y = x + 1
    if flag:
        del y
        y = x
    if y > 2:
        y = y * 2
    return y


def main():
    named_scopes(tf.constant(1), "block")
    try_import(tf.constant(3), "missing")
    try_import(tf.constant(3), "numpy")
    try_lookup(tf.constant(3), {"a": 2}, "a")
    try_lookup(tf.constant(3), {"a": 2}, "b")
    with_finally(tf.constant(-3), [])
    own_context(tf.constant(3), 4)
    string_modes(tf.constant([1.0, 2.0]), "Max")
    string_modes(tf.constant([1.0, 2.0]), "mean", "same")
    string_tensors(tf.constant("abcdef"), "abc")
    python_raise(tf.constant([1.0, 2.0]), True)
    checked(tf.constant(1.0), True)
    device_choice(tf.constant(9.0), 0)
    nested_try(tf.constant(9), ["x", "2", "-1", "4"])
    printing(tf.constant(9), ["first", "second"])
    shape_checks(tf.constant([1.0, 2.0]), tf.constant([1.0, 1.0]))
    deletes(tf.constant(4), True)


EXAMPLES = {
    "named_scopes": [(tf.constant(1), "block")],
    "try_import": [(tf.constant(3), "missing"), (tf.constant(3), "numpy")],
    "try_lookup": [(tf.constant(3), {"a": 2}, "a"), (tf.constant(3), {"a": 2}, "b")],
    "with_finally": [(tf.constant(-3), [])],
    "own_context": [(tf.constant(3), 4)],
    "string_modes": [(tf.constant([1.0, 2.0]), "Max"), (tf.constant([1.0, 2.0]), "mean", "same")],
    "string_tensors": [(tf.constant("abcdef"), "abc")],
    "python_raise": [(tf.constant([1.0, 2.0]), True)],
    "checked": [(tf.constant(1.0), True)],
    "device_choice": [(tf.constant(9.0), 0)],
    "nested_try": [(tf.constant(9), ["x", "2", "-1", "4"])],
    "printing": [(tf.constant(9), ["first", "second"])],
    "shape_checks": [(tf.constant([1.0, 2.0]), tf.constant([1.0, 1.0]))],
    "deletes": [(tf.constant(4), True)],
}


if __name__ == "__main__":
    main()
