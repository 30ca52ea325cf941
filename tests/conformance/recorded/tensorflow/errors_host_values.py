"""Tensors as arguments of NumPy and `math`, and as operands of `or`. The recorder runs each call in main() separately, because most raise."""

import math

import numpy as np
import tensorflow as tf


@tf.function
def numpy_of_tensor(x):
    return np.sin(x)


@tf.function
def numpy_array(x):
    return np.array(x) + 1


@tf.function
def math_of_tensor(x):
    return math.sqrt(x)


@tf.function
def numpy_method(x):
    if x.numpy() > 0:
        x = -x
    return x


@tf.function
def item_method(x):
    return x.item()


@tf.function
def tolist_method(x):
    return x.tolist()


@tf.function
def numpy_of_shape(x):
    size = int(np.prod(x.shape))
    return x * size if size > 1 else x


@tf.function
def tensor_functions(x):
    y = tf.sin(x) + np.pi
    return y if y > np.float32(3.0) else -y


@tf.function
def math_of_number(x, k):
    return x * int(math.sqrt(k))


@tf.function
def default_or(x, y=None):
    y = y or x
    return y + x


@tf.function
def or_of_vectors(x, mask):
    weights = mask or x
    return weights * x


@tf.function
def not_mask(x, mask=None):
    if not mask:
        return x
    return x * 2.0


@tf.function
def default_is_none(x, y=None):
    y = x if y is None else y
    return y + x


@tf.function
def default_or_number(x, scale=None):
    scale = scale or 2
    return x * scale if x > 0 else x


def main():
    numpy_of_tensor(tf.constant(1.0))
    numpy_array(tf.constant(1.0))
    math_of_tensor(tf.constant(1.0))
    numpy_method(tf.constant(1.0))
    item_method(tf.constant(1.0))
    tolist_method(tf.constant([1.0]))
    numpy_of_shape(tf.constant([1.0, 2.0]))
    tensor_functions(tf.constant(1.0))
    math_of_number(tf.constant(1), 9)
    default_or(tf.constant(1.0), tf.constant(2.0))
    or_of_vectors(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0]))
    not_mask(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0]))
    default_is_none(tf.constant(1.0), tf.constant(2.0))
    default_or_number(tf.constant(1))


EXAMPLES = {
    "numpy_of_tensor": [(tf.constant(1.0),)],
    "numpy_array": [(tf.constant(1.0),)],
    "math_of_tensor": [(tf.constant(1.0),)],
    "numpy_method": [(tf.constant(1.0),)],
    "item_method": [(tf.constant(1.0),)],
    "tolist_method": [(tf.constant([1.0]),)],
    "numpy_of_shape": [(tf.constant([1.0, 2.0]),)],
    "tensor_functions": [(tf.constant(1.0),)],
    "math_of_number": [(tf.constant(1), 9)],
    "default_or": [(tf.constant(1.0), tf.constant(2.0))],
    "or_of_vectors": [(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0]))],
    "not_mask": [(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0]))],
    "default_is_none": [(tf.constant(1.0), tf.constant(2.0))],
    "default_or_number": [(tf.constant(1),)],
}


RULES = {
    "numpy_of_tensor": "AG307",
    "numpy_array": "AG307",
    "math_of_tensor": "AG307",
    "numpy_method": "AG307",
    "item_method": "AG307",
    "tolist_method": "AG307",
    "numpy_of_shape": None,
    "tensor_functions": None,
    "math_of_number": None,
    "default_or": "AG308",
    "or_of_vectors": "AG308",
    "not_mask": "AG308",
    "default_is_none": None,
    "default_or_number": None,
}


if __name__ == "__main__":
    main()
