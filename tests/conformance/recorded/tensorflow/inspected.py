"""Shapes, ranks, dtypes, names: values that are known while a graph is built, and similar ones that are not."""

import math
import numbers

import numpy as np
import tensorflow as tf


@tf.function
def pad_to(x, length):
    size = x.shape[0]
    if size is None or size < length:
        x = tf.pad(x, [[0, length - tf.shape(x)[0]]])
    if tf.shape(x)[0] > length:
        x = x[:length]
    return x


@tf.function
def by_rank(x):
    if x.shape.rank == 0:
        return tf.reshape(x, (1, 1))
    if x.shape.ndims == 1:
        x = x[None]
    while len(x.shape) < 3:
        x = x[..., None]
    if tf.rank(x) > 3:
        x = x[0]
    return x


@tf.function
def by_dtype(x):
    if x.dtype.is_integer:
        x = tf.cast(x, tf.float32)
    elif x.dtype == tf.bool:
        x = tf.where(x, 1.0, 0.0)
    if x.dtype in (tf.float16, tf.bfloat16) or x.dtype.size > 4:
        x = tf.cast(x, tf.float32)
    return x if tf.reduce_sum(x) > 0.0 else -x


@tf.function
def broadcast_pairs(a, b):
    rows, columns = a.shape
    pairs = []
    for i in range(rows):
        for j in range(columns):
            if i == j:
                continue
            pair = a[i, j]
            if pair < b:
                pair = b
            pairs.append(pair)
    assert len(pairs) == rows * (columns - 1)
    return tf.add_n(pairs)


@tf.function
def sized(x):
    total = tf.size(x)
    known = x.shape.num_elements()
    if known and known > 3:
        x = x * 2
    if total > 3:
        x = x - 1
    if x.shape.is_fully_defined() and not x.shape.as_list():
        x = x + 1
    return x


@tf.function
def numbers_and_arrays(x, weight):
    if isinstance(weight, numbers.Number):
        weight = np.full(3, weight, dtype=np.float32)
    if isinstance(weight, np.ndarray) and weight.ndim > 1:
        weight = weight.reshape(-1)
    if np.all(weight > 0):
        x = x * weight
    for w in weight:
        if w > 1.0:
            x = x + w
    if math.isclose(float(weight[0]), 1.0):
        x = x - 1.0
    return x


@tf.function
def arrays_become_tensors(x, weight):
    if isinstance(weight, np.ndarray):
        weight = weight.tolist()
    if tf.is_tensor(weight) and weight[0] > 0.0:
        x = x + weight
    return x


@tf.function
def ragged_lengths(words, limit=2):
    lengths = words.row_lengths()
    longest = tf.constant(0, tf.int64)
    for row in words:
        if tf.size(row) == 0:
            continue
        longest = longest + 1
    if tf.reduce_max(lengths) > limit:
        words = words[:, :limit]
    if isinstance(words, tf.RaggedTensor):
        words = words.to_tensor()
    return tf.cast(words, tf.int64) + longest


@tf.function
def sparse_or_dense(x, dense=True):
    if isinstance(x, tf.SparseTensor):
        if dense:
            x = tf.sparse.to_dense(x)
        else:
            return tf.sparse.reduce_sum(x)
    if len(x.shape) > 1 and tf.reduce_all(x[0] == x[1]):
        x = x[:1]
    return x


@tf.function
def string_modes(text, mode):
    if mode.lower() == "upper":
        text = tf.strings.upper(text)
    elif mode.startswith("strip") and len(mode) > 5:
        text = tf.strings.strip(text)
    if tf.strings.length(text) > 3:
        text = tf.strings.substr(text, 0, 3)
    if text == "abc":
        return tf.constant("match")
    return text


@tf.function
def nested_structure(inputs):
    flat = tf.nest.flatten(inputs)
    total = tf.constant(0.0)
    for leaf in flat:
        if leaf.shape.rank == 0:
            total += leaf
        elif tf.reduce_any(leaf < 0.0):
            total -= 1.0
    if isinstance(inputs, dict) and "extra" in inputs:
        total += 1.0
    if flat and total > 0.0:
        total = total * len(flat)
    return total


@tf.function
def variables_and_tensors(x, weight):
    if isinstance(weight, tf.Variable) and weight.trainable:
        weight.assign_add(1.0)
    if hasattr(weight, "name") and weight.shape == x.shape:
        x = x + weight
    if weight.name.startswith("scale") and x > weight:
        x = x - weight
    return x


@tf.function
def chained(x, low=0.0, high=1.0):
    if 0 < x.shape[0] <= 4:
        x = x + 1.0
    if low < tf.reduce_mean(x) < high:
        x = x * 2.0
    inside = low <= high <= 2.0
    if inside:
        x = x - 1.0
    assert low < high, "empty interval"
    return x if not inside else x + 1.0


SCALE = tf.Variable(2.0, name="scale")
RAGGED = tf.ragged.constant([[1, 2, 3], [], [4]])
SPARSE = tf.sparse.from_dense([[1, 0], [1, 0]])


def main():
    pad_to(tf.constant([1, 2]), 4)
    pad_to(tf.constant([1, 2, 3]), 2)
    by_rank(tf.constant(1.0))
    by_rank(tf.constant([1.0, 2.0]))
    by_rank(tf.ones((1, 1, 1, 1)))
    by_dtype(tf.constant([1, 2]))
    by_dtype(tf.constant([True, False]))
    by_dtype(tf.constant([1.0], tf.float64))
    broadcast_pairs(tf.ones((2, 2)), tf.constant(0.5))
    sized(tf.constant([1, 2, 3, 4]))
    sized(tf.constant(1))
    numbers_and_arrays(tf.ones(3), 1.0)
    numbers_and_arrays(tf.ones(3), 2)
    arrays_become_tensors(tf.ones(3), np.ones(3, np.float32))
    ragged_lengths(RAGGED)
    sparse_or_dense(SPARSE)
    sparse_or_dense(SPARSE, dense=False)
    sparse_or_dense(tf.constant([[1, 2], [1, 2]]))
    string_modes(tf.constant("abcd"), "upper")
    string_modes(tf.constant(" ab"), "strip-left")
    nested_structure({"a": tf.constant(1.0), "extra": (tf.constant([1.0, -1.0]), tf.constant(2.0))})
    nested_structure([tf.constant(1.0)])
    variables_and_tensors(tf.constant(1.0), SCALE)
    chained(tf.constant([1.0, 2.0]))
    chained(tf.constant([0.1, 0.2]), high=3.0)


EXAMPLES = {
    "pad_to": [(tf.constant([1, 2]), 4), (tf.constant([1, 2, 3]), 2)],
    "by_rank": [(tf.constant(1.0),), (tf.constant([1.0, 2.0]),), (tf.ones((1, 1, 1, 1)),)],
    "by_dtype": [(tf.constant([1, 2]),), (tf.constant([True, False]),), (tf.constant([1.0], tf.float64),)],
    "broadcast_pairs": [(tf.ones((2, 2)), tf.constant(0.5))],
    "sized": [(tf.constant([1, 2, 3, 4]),), (tf.constant(1),)],
    "numbers_and_arrays": [(tf.ones(3), 1.0), (tf.ones(3), 2)],
    "arrays_become_tensors": [(tf.ones(3), np.ones(3, np.float32))],
    "ragged_lengths": [(RAGGED,)],
    "sparse_or_dense": [(SPARSE,), (SPARSE, False), (tf.constant([[1, 2], [1, 2]]),)],
    "string_modes": [(tf.constant("abcd"), "upper"), (tf.constant(" ab"), "strip-left")],
    "nested_structure": [
        ({"a": tf.constant(1.0), "extra": (tf.constant([1.0, -1.0]), tf.constant(2.0))},),
        ([tf.constant(1.0)],),
    ],
    "variables_and_tensors": [(tf.constant(1.0), SCALE)],
    "chained": [(tf.constant([1.0, 2.0]),), (tf.constant([0.1, 0.2]), 0.0, 3.0)],
}


if __name__ == "__main__":
    main()
