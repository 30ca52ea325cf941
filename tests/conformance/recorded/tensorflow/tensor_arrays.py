"""TensorArray as the list of a staged loop."""

import tensorflow as tf


@tf.function
def squares(n):
    out = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        out = out.write(i, i * i)
    return out.stack()


@tf.function
def positive_only(values):
    kept = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    count = 0
    for v in values:
        if v > 0:
            kept = kept.write(count, v)
            count += 1
    return kept.stack()


@tf.function
def cumulative(values, exclusive):
    total = tf.constant(0.0)
    out = tf.TensorArray(tf.float32, size=tf.size(values))
    for i in tf.range(tf.size(values)):
        if exclusive:
            out = out.write(i, total)
        total += values[i]
        if not exclusive:
            out = out.write(i, total)
    return out.stack()


@tf.function
def fibonacci(n):
    ta = tf.TensorArray(tf.int64, size=0, dynamic_size=True, clear_after_read=False)
    ta = ta.write(0, tf.constant(0, tf.int64)).write(1, tf.constant(1, tf.int64))
    i = 2
    while i < n:
        ta = ta.write(i, ta.read(i - 1) + ta.read(i - 2))
        i += 1
    return ta.stack()


@tf.function
def reversed_sequence(x, axis=0):
    if axis == 1:
        x = tf.transpose(x)
    length = tf.shape(x)[0]
    source = tf.TensorArray(x.dtype, size=length).unstack(x)
    target = tf.TensorArray(x.dtype, size=length)
    for i in tf.range(length):
        target = target.write(length - 1 - i, source.read(i))
    y = target.stack()
    return tf.transpose(y) if axis == 1 else y


@tf.function
def python_list(xs):
    parts = []
    for i in range(3):
        if i != 1:
            parts.append(xs[i] * 2.0)
    if len(parts) == 2:
        return tf.stack(parts)
    return tf.zeros([2])


@tf.function
def two_arrays(values, threshold):
    small = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    large = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for v in values:
        if v < threshold:
            small = small.write(small.size(), v)
        else:
            large = large.write(large.size(), v)
    if small.size() > large.size():
        result = small.stack()
    else:
        result = large.stack()
    return result


@tf.function
def list_of_arrays(values, heads):
    rows = []
    for h in range(heads):
        array = tf.TensorArray(tf.float32, size=tf.size(values))
        scale = 2.0 if h % 2 else 1.0
        for i in tf.range(tf.size(values)):
            array = array.write(i, values[i] * scale)
        rows.append(array.stack())
    return tf.stack(rows)


@tf.function
def moving_window(x, width):
    n = tf.shape(x)[0] - width + 1
    out = tf.TensorArray(tf.float32, size=n, element_shape=[])
    if n > 0:
        for i in tf.range(n):
            window = x[i : i + width]
            peak = tf.reduce_max(window)
            out = out.write(i, peak if peak > 0 else 0.0)
    return out.stack()


@tf.function
def run_length(values):
    starts = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    lengths = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    current = values[0]
    length = 0
    for v in values:
        if v == current:
            length += 1
        else:
            starts = starts.write(starts.size(), current)
            lengths = lengths.write(lengths.size(), length)
            current = v
            length = 1
    return starts.stack(), lengths.stack()


@tf.function
def tile_until(x, limit):
    history = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    k = 0
    while tf.reduce_sum(x) < limit and k < 4:
        history = history.write(k, tf.reduce_sum(x))
        x = x * 2.0
        k += 1
    return history.concat() if limit is None else history.stack()


def main():
    squares(tf.constant(4))
    positive_only(tf.constant([1.0, -1.0, 2.0]))
    cumulative(tf.constant([1.0, 2.0]), True)
    cumulative(tf.constant([1.0, 2.0]), False)
    fibonacci(tf.constant(7))
    reversed_sequence(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    reversed_sequence(tf.constant([[1.0, 2.0], [3.0, 4.0]]), 1)
    python_list(tf.constant([1.0, 2.0, 3.0]))
    two_arrays(tf.constant([1.0, 2.0, 3.0]), 1.5)
    list_of_arrays(tf.constant([1.0, 2.0, 3.0]), 2)
    moving_window(tf.constant([1.0, 2.0, 3.0]), 2)
    run_length(tf.constant([1, 1, 3]))
    tile_until(tf.constant([1.0, 1.0]), 10.0)


EXAMPLES = {
    "squares": [(tf.constant(4),)],
    "positive_only": [(tf.constant([1.0, -1.0, 2.0]),)],
    "cumulative": [(tf.constant([1.0, 2.0]), True), (tf.constant([1.0, 2.0]), False)],
    "fibonacci": [(tf.constant(7),)],
    "reversed_sequence": [
        (tf.constant([[1.0, 2.0], [3.0, 4.0]]),),
        (tf.constant([[1.0, 2.0], [3.0, 4.0]]), 1),
    ],
    "python_list": [(tf.constant([1.0, 2.0, 3.0]),)],
    "two_arrays": [(tf.constant([1.0, 2.0, 3.0]), 1.5)],
    "list_of_arrays": [(tf.constant([1.0, 2.0, 3.0]), 2)],
    "moving_window": [(tf.constant([1.0, 2.0, 3.0]), 2)],
    "run_length": [(tf.constant([1, 1, 3]),)],
    "tile_until": [(tf.constant([1.0, 1.0]), 10.0)],
}


if __name__ == "__main__":
    main()
