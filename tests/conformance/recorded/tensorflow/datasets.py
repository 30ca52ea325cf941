"""tf.data pipelines, their callbacks, and loops over datasets and iterators."""

import tensorflow as tf


@tf.function
def sum_dataset(n):
    total = tf.constant(0, tf.int64)
    for v in tf.data.Dataset.range(n):
        if v % 2 == 0:
            total += v
    return total


@tf.function
def take_until(dataset, limit):
    total = 0.0
    for x in dataset:
        if total + x > limit:
            break
        total += x
    return total


@tf.function
def batches(dataset, verbose):
    count = 0
    for features, label in dataset:
        if verbose:
            tf.print(features)
        if label > 0:
            count += 1
    return count


@tf.function
def enumerated(dataset):
    last = tf.constant(-1, tf.int64)
    for index, x in dataset.enumerate():
        if x > 1.0:
            last = index
    return last


@tf.function
def enumerate_builtin(dataset):
    total = tf.constant(0.0)
    for index, x in enumerate(dataset):
        if index > 0:
            total += x
    return total


@tf.function
def zipped_datasets(left, right):
    hits = 0
    for a, b in tf.data.Dataset.zip((left, right)):
        if a == b:
            hits += 1
    return hits


@tf.function
def from_iterator(iterator, steps):
    total = tf.constant(0.0)
    for _ in tf.range(steps):
        x = next(iterator)
        if x > 0:
            total += x
    return total


def only_positive(x):
    if x > 0:
        return True
    return False


def scale(x):
    if x > 10.0:
        x = x / 10.0
    return x


@tf.function
def filtered(dataset):
    total = 0.0
    for x in dataset.filter(only_positive).map(scale):
        total += x
    return total


def build(values, training, shuffle=False):
    # A plain function: only the callbacks are staged.
    dataset = tf.data.Dataset.from_tensor_slices(values)
    if training:
        dataset = dataset.map(scale)
    if shuffle:
        dataset = dataset.shuffle(8)
    return dataset.filter(only_positive).batch(2)


@tf.function
def over_built(values, training):
    total = tf.constant(0.0)
    for batch in build(values, training):
        if tf.size(batch) > 1:
            total += tf.reduce_sum(batch)
    return total


def running_maximum(state, x):
    if x > state:
        state = x
    return state


@tf.function
def maximum(dataset):
    return dataset.reduce(tf.constant(-1.0), running_maximum)


def scan_step(state, x):
    previous, count = state
    if x > previous:
        count += 1
    return (x, count), count


@tf.function
def rises(dataset):
    last = 0
    for count in dataset.scan((tf.constant(0.0), 0), scan_step):
        last = count
    return last


@tf.function
def epochs(dataset, number):
    total = tf.constant(0.0)
    for epoch in range(number):
        for x in dataset:
            if epoch == 0 and x < 0:
                x = tf.constant(0.0)
            total += x
    return total


@tf.function
def dictionary_elements(dataset):
    total = 0.0
    for example in dataset:
        if example["weight"] > 0.5:
            total += example["x"]
    return total


@tf.function
def skip_bad(dataset):
    good = 0
    for x in dataset:
        if tf.math.is_nan(x):
            continue
        good += 1
    return good


def pad_or_crop(length):
    def mapper(x):
        size = tf.size(x)
        if size < length:
            x = tf.pad(x, [[0, length - size]])
        else:
            x = x[:length]
        return x

    return mapper


@tf.function
def padded(values, length):
    dataset = tf.data.Dataset.from_tensors(values).map(pad_or_crop(length))
    total = tf.constant(0)
    for x in dataset:
        total += tf.reduce_sum(x)
    return total


@tf.function
def any_all(dataset):
    if any(dataset):
        if all(dataset):
            return 2
        else:
            return 1
    else:
        return 0


def main():
    sum_dataset(6)
    take_until(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]), 4.0)
    batches(tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [0, 1])), False)
    enumerated(tf.data.Dataset.from_tensor_slices([1.0, 2.0]))
    enumerate_builtin(tf.data.Dataset.from_tensor_slices([1.0, 2.0]))
    zipped_datasets(tf.data.Dataset.range(3), tf.data.Dataset.range(3))
    from_iterator(iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).repeat()), tf.constant(2))
    filtered(tf.data.Dataset.from_tensor_slices([1.0, -2.0, 30.0]))
    over_built(tf.constant([1.0, 20.0, -3.0]), True)
    maximum(tf.data.Dataset.from_tensor_slices([1.0, 20.0]))
    rises(tf.data.Dataset.from_tensor_slices([1.0, 20.0]))
    epochs(tf.data.Dataset.from_tensor_slices([1.0, -20.0]), 2)
    dictionary_elements(tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0], "weight": [0.0, 1.0]}))
    skip_bad(tf.data.Dataset.from_tensor_slices([1.0, float("nan")]))
    padded(tf.constant([1, 2, 3]), 2)
    any_all(tf.data.Dataset.from_tensor_slices([True, False]))


EXAMPLES = {
    "sum_dataset": [(6,)],
    "take_until": [(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]), 4.0)],
    "batches": [(tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [0, 1])), False)],
    "enumerated": [(tf.data.Dataset.from_tensor_slices([1.0, 2.0]),)],
    "enumerate_builtin": [(tf.data.Dataset.from_tensor_slices([1.0, 2.0]),)],
    "zipped_datasets": [(tf.data.Dataset.range(3), tf.data.Dataset.range(3))],
    "from_iterator": [(iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).repeat()), tf.constant(2))],
    "filtered": [(tf.data.Dataset.from_tensor_slices([1.0, -2.0, 30.0]),)],
    "over_built": [(tf.constant([1.0, 20.0, -3.0]), True)],
    "maximum": [(tf.data.Dataset.from_tensor_slices([1.0, 20.0]),)],
    "rises": [(tf.data.Dataset.from_tensor_slices([1.0, 20.0]),)],
    "epochs": [(tf.data.Dataset.from_tensor_slices([1.0, -20.0]), 2)],
    "dictionary_elements": [(tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0], "weight": [0.0, 1.0]}),)],
    "skip_bad": [(tf.data.Dataset.from_tensor_slices([1.0, float("nan")]),)],
    "padded": [(tf.constant([1, 2, 3]), 2)],
    "any_all": [(tf.data.Dataset.from_tensor_slices([True, False]),)],
}


if __name__ == "__main__":
    main()
