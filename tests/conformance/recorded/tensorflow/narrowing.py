"""isinstance, `is None`, hasattr, callable and other tests that narrow a type."""

import numbers
from typing import Optional, Union

import tensorflow as tf


@tf.function
def number_or_tensor(x, limit):
    if isinstance(limit, tf.Tensor):
        if x > limit:
            x = limit
    elif isinstance(limit, (int, float)):
        if limit > 0:
            x = tf.minimum(x, float(limit))
    return x


@tf.function
def maybe_mask(x, mask: Optional[tf.Tensor] = None):
    if mask is not None:
        if tf.reduce_any(mask):
            x = tf.where(mask, x, 0.0)
    return x


@tf.function
def none_then_value(x, start=None):
    if start is None:
        start = tf.zeros_like(x)
    if x > start:
        start = x
    return start


@tf.function
def is_tensor_test(x, y):
    if tf.is_tensor(y) and y > 0:
        x = x + y
    if not tf.is_tensor(y):
        x = x - y
    return x


def length(values: Union[list, tf.Tensor]):
    if isinstance(values, (list, tuple)):
        n = len(values)
        if n > 10:
            n = 10
        return n
    n = tf.shape(values)[0]
    if n > 10:
        n = tf.constant(10)
    return n


@tf.function
def two_lengths(x):
    return length(x) + length([x, x])


@tf.function
def callable_or_value(x, rate):
    value = rate() if callable(rate) else rate
    if value > 0.5:
        x = x * value
    return x


class Linear:
    def __init__(self, slope):
        self.slope = slope

    def __call__(self, x):
        return x * self.slope


class Affine(Linear):
    def __init__(self, slope, offset):
        super().__init__(slope)
        self.offset = offset

    def __call__(self, x):
        y = super().__call__(x)
        if self.offset is not None and y > 0:
            y = y + self.offset
        return y


LAYERS = [Linear(2.0), Affine(1.0, None), Affine(0.5, 3.0)]


@tf.function
def dispatch_on_class(x):
    for layer in LAYERS:
        x = layer(x)
        if isinstance(layer, Affine) and layer.offset:
            if x > 4.0:
                x = x - layer.offset
    return x


@tf.function
def has_attribute(x, layer):
    if hasattr(layer, "offset"):
        if layer.offset is None or layer.offset < 1.0:
            x = x + 1.0
    elif getattr(layer, "slope", 0) > 1:
        x = x if x > 0 else -x
    return x


@tf.function
def early_none(x, y):
    if x is None or y is None:
        return tf.constant(0.0)
    if x > y:
        return x
    return y


@tf.function
def type_equality(x, kind):
    if type(kind) == str:
        kind = {"sum": 0, "mean": 1}[kind]
    if kind == 0:
        return tf.reduce_sum(x)
    elif kind == 1:
        return tf.reduce_mean(x)
    return x


@tf.function
def numbers_abc(x, k):
    if isinstance(k, numbers.Number) and not isinstance(k, bool):
        x = x * k
    if isinstance(k, bool):
        x = x + 1 if k else x - 1
    return x


@tf.function
def variable_or_tensor(v):
    if isinstance(v, tf.Variable):
        v.assign_add(1.0)
        v = v.read_value()
    if v > 3.0:
        v = v - 3.0
    return v


@tf.function
def walrus_free(x, table):
    entry = table.get("scale")
    if entry is None:
        entry = 1.0
    if entry != 1.0:
        x = x * entry
    other = table.get("tensor")
    if other is not None and other > x:
        x = other
    return x


def first_not_none(*values):
    for value in values:
        if value is not None:
            return value
    return None


@tf.function
def choose_first(x, override):
    y = first_not_none(override, x)
    if y is None:
        return tf.constant(-1)
    if y > 0:
        y = y + 1
    return y


@tf.function
def identity_tests(x, reduction):
    same = reduction is tf.reduce_sum
    if same:
        return reduction(x)
    if reduction is not None:
        y = reduction(x)
        if y > 0:
            return y
        return -y
    return tf.constant(0.0)


bias = tf.Variable(4.0)


def main():
    number_or_tensor(tf.constant(2.0), tf.constant(1.0))
    number_or_tensor(tf.constant(2.0), 1.5)
    maybe_mask(tf.constant([1.0, 2.0]))
    maybe_mask(tf.constant([1.0, 2.0]), tf.constant([True, False]))
    none_then_value(tf.constant(2.0))
    is_tensor_test(tf.constant(2), tf.constant(1))
    is_tensor_test(tf.constant(2), 1)
    two_lengths(tf.constant([1, 2]))
    callable_or_value(tf.constant(2.0), 0.7)
    callable_or_value(tf.constant(2.0), tf.constant(0.7))
    dispatch_on_class(tf.constant(2.0))
    has_attribute(tf.constant(2.0), LAYERS[0])
    has_attribute(tf.constant(2.0), LAYERS[1])
    early_none(tf.constant(2.0), tf.constant(1.0))
    early_none(tf.constant(2.0), None)
    type_equality(tf.constant([2.0]), "mean")
    numbers_abc(tf.constant(2), 3)
    numbers_abc(tf.constant(2), True)
    variable_or_tensor(bias)
    walrus_free(tf.constant(2.0), {"scale": 2.0, "tensor": tf.constant(9.0)})
    choose_first(tf.constant(2), None)
    identity_tests(tf.constant([2.0]), tf.reduce_mean)
    identity_tests(tf.constant([2.0]), tf.reduce_sum)


EXAMPLES = {
    "number_or_tensor": [(tf.constant(2.0), tf.constant(1.0)), (tf.constant(2.0), 1.5)],
    "maybe_mask": [(tf.constant([1.0, 2.0]),), (tf.constant([1.0, 2.0]), tf.constant([True, False]))],
    "none_then_value": [(tf.constant(2.0),)],
    "is_tensor_test": [(tf.constant(2), tf.constant(1)), (tf.constant(2), 1)],
    "two_lengths": [(tf.constant([1, 2]),)],
    "callable_or_value": [(tf.constant(2.0), 0.7), (tf.constant(2.0), tf.constant(0.7))],
    "dispatch_on_class": [(tf.constant(2.0),)],
    "has_attribute": [(tf.constant(2.0), LAYERS[0]), (tf.constant(2.0), LAYERS[1])],
    "early_none": [(tf.constant(2.0), tf.constant(1.0)), (tf.constant(2.0), None)],
    "type_equality": [(tf.constant([2.0]), "mean")],
    "numbers_abc": [(tf.constant(2), 3), (tf.constant(2), True)],
    "variable_or_tensor": [(bias,)],
    "walrus_free": [(tf.constant(2.0), {"scale": 2.0, "tensor": tf.constant(9.0)})],
    "choose_first": [(tf.constant(2), None)],
    "identity_tests": [(tf.constant([2.0]), tf.reduce_mean), (tf.constant([2.0]), tf.reduce_sum)],
}


if __name__ == "__main__":
    main()
