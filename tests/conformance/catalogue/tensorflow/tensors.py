"""Tensors and TensorArrays that are used as Python values: a function for each kind of error."""
import math

import numpy as np
import tensorflow as tf


@tf.function
def asserts_without_message(x):
    return bool(x > 0.0)


@tf.function
def takes_any(x):
    if any([x > 0.0, x < -1.0]):
        return x
    return -x


@tf.function
def unpacks(x):
    first, second = x
    return first + second


@tf.function
def unstacks(x):
    first, second = tf.unstack(x)
    return first + second


@tf.function
def enumerates(x):
    total = 0.0
    for i, value in enumerate(x):
        total += value
    return total


@tf.function
def lists(x):
    return list(x)


@tf.function
def casts_like_numpy(x):
    return x.astype("float32")


@tf.function
def reshapes_like_numpy(x):
    return x.reshape([-1])


@tf.function
def casts(x):
    return tf.cast(x, tf.int32)


@tf.function
def calls_numpy(x):
    return np.mean(x)


@tf.function
def converts_array(x):
    return np.asarray(x)


@tf.function
def takes_mean(x):
    return tf.reduce_mean(x)


@tf.function
def key_of_dictionary(x):
    weights = {x: 1.0}
    return x * len(weights)


@tf.function
def member_of_set(x):
    return len({x, x})


@tf.function
def key_by_reference(x):
    seen = {x.ref(): 1}
    return x


@tf.function
def length_of_scalar(x):
    total = tf.reduce_sum(x)
    return len(total)


@tf.function
def length_of_vector(x):
    return len(x)


@tf.function
def largest_of_matrix(x):
    return max(tf.zeros([2, 3]))


@tf.function
def smallest_of_matrix(x):
    return min(tf.zeros([2, 3]))


@tf.function
def larger_of_vectors(x):
    return max(tf.zeros([2]), x)


@tf.function
def smaller_of_vectors(x):
    return min(tf.zeros([2]), x)


@tf.function
def largest_with_key(x):
    return max(x, key=abs)


@tf.function
def smallest_with_key(x):
    return min(x, default=0.0)


@tf.function
def larger(x):
    return tf.maximum(tf.zeros([2]), x)


@tf.function
def integer_with_base(x):
    return int(tf.constant("ff"), 16)


@tf.function
def array_without_size(x):
    rows = tf.TensorArray(tf.float32)
    rows = rows.write(0, x)
    return rows.stack()


@tf.function
def array_of_two_shapes(x):
    rows = tf.TensorArray(tf.float32, size=2)
    rows = rows.write(0, x)
    rows = rows.write(1, tf.zeros([3]))
    return rows.stack()


@tf.function
def array(x):
    rows = tf.TensorArray(tf.float32, size=2)
    rows = rows.write(0, x)
    rows = rows.write(1, x)
    return rows.stack()


DIALECT = "tensorflow"

KINDS = {
    "asserts_without_message": "tensor: {task} is not allowed. You can attempt the following resolut",
    "takes_any": "tensor: {task} is not allowed. You can attempt the following resolut",
    "unpacks": "tensor: {task} is not allowed. You can attempt the following resolut",
    "unstacks": None,
    "enumerates": "tensor: {task} is not allowed. You can attempt the following resolut",
    "lists": "tensor: {task} is not allowed. You can attempt the following resolut",
    "casts_like_numpy": "tensor: {type(self).__name__} object has no attribute '{name}'. If y",
    "reshapes_like_numpy": "tensor: {type(self).__name__} object has no attribute '{name}'. If y",
    "casts": None,
    "calls_numpy": "tensor: Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy",
    "converts_array": "tensor: Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy",
    "takes_mean": None,
    "key_of_dictionary": "tensor: Tensor is unhashable. Instead, use tensor.ref() as the key.",
    "member_of_set": "tensor: Tensor is unhashable. Instead, use tensor.ref() as the key.",
    "key_by_reference": None,
    "length_of_scalar": "py_builtins: len requires a non-scalar tensor, got one of shape {}",
    "length_of_vector": None,
    "largest_of_matrix": "tensor: {task} is not allowed. You can attempt the following resolut",
    "smallest_of_matrix": "tensor: {task} is not allowed. You can attempt the following resolut",
    "larger_of_vectors": "tensor: {task} is not allowed. You can attempt the following resolut",
    "smaller_of_vectors": "tensor: {task} is not allowed. You can attempt the following resolut",
    "largest_with_key": "tensor: {task} is not allowed. You can attempt the following resolut",
    "smallest_with_key": "tensor: {task} is not allowed. You can attempt the following resolut",
    "larger": None,
    "integer_with_base": "py_builtins: base {} not supported for int",
    "array_without_size": "tensor_array_ops: Argument `size` must be provided if argument `flow` is not p",
    "array_of_two_shapes": "tensor_array_ops: Inconsistent shapes: saw {} but expected {}",
    "array": None,
}


def main():
    x = tf.constant([1.0, 2.0])
    asserts_without_message(tf.constant(1.0))
    takes_any(tf.constant(1.0))
    unpacks(x)
    unstacks(x)
    enumerates(x)
    lists(x)
    casts_like_numpy(x)
    reshapes_like_numpy(x)
    casts(x)
    calls_numpy(x)
    converts_array(x)
    takes_mean(x)
    key_of_dictionary(x)
    member_of_set(x)
    key_by_reference(x)
    length_of_scalar(x)
    length_of_vector(x)
    largest_of_matrix(x)
    smallest_of_matrix(x)
    larger_of_vectors(x)
    smaller_of_vectors(x)
    largest_with_key(x)
    smallest_with_key(x)
    larger(x)
    integer_with_base(x)
    array_without_size(x)
    array_of_two_shapes(x)
    array(x)


if __name__ == "__main__":
    main()
