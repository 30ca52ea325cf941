"""Loops over data: epochs, batches, early stopping, loops with several exits, arrays written in loops."""

import contextlib
import itertools
import random

import tensorflow as tf


def batches(values, size, shuffle=False):
    order = list(range(len(values)))
    if shuffle:
        random.shuffle(order)
    for start in range(0, len(order), size):
        yield [values[k] for k in order[start : start + size]]


@tf.function
def fit(weight, data, epochs=2, patience=None):
    best = tf.constant(1e9)
    waited = tf.constant(0)
    for epoch in range(epochs):
        loss = tf.constant(0.0)
        for x, y in data:
            error = weight * x - y
            if tf.abs(error) > 1.0:
                error = tf.sign(error)
            weight = weight - 0.1 * error * x
            loss += error * error
        if epoch > 0 and patience is not None:
            if loss >= best:
                waited += 1
        best = tf.minimum(best, loss)
    return weight, waited


@tf.function
def until_settled(x, tolerance=1e-2, limit=20):
    previous = x + 1.0
    steps = tf.constant(0)
    while tf.abs(x - previous) > tolerance and steps < limit:
        previous = x
        x = 0.5 * (x + 2.0 / x)
        steps += 1
        if tf.math.is_nan(x):
            break
    if steps == limit:
        tf.print("no convergence")
    return x, steps


@tf.function
def first_above(values, threshold):
    found = tf.constant(-1)
    for k in tf.range(len(values)):
        if values[k] > threshold:
            found = k
            break
    if found < 0:
        return tf.constant(0.0)
    return values[found]


@tf.function
def running_maximum(values):
    array = tf.TensorArray(values.dtype, size=0, dynamic_size=True, clear_after_read=False)
    top = values[0]
    for k, value in enumerate(tf.unstack(values)):
        if value > top:
            top = value
        array = array.write(k, top)
    last = array.read(array.size() - 1)
    if last > top:
        return array.stack()
    return tf.reverse(array.stack(), [0])


@tf.function
def host_batches(values):
    seen = tf.constant(0.0)
    rounds = 0
    for batch in batches(values, 2):
        rounds += 1
        if len(batch) < 2:
            break
        mean = tf.add_n(batch) / float(len(batch))
        if mean > 1.0:
            seen += mean
    if rounds % 2 == 0:
        seen = -seen
    return seen


@tf.function
def zipped(names, values):
    totals = {}
    for name, value in zip(names, values):
        if name not in totals:
            totals[name] = value
        elif value > totals[name]:
            totals[name] = value
    ordered = [totals[name] for name in sorted(totals) if name != "skip"]
    while len(ordered) > 1:
        ordered[-2:] = [ordered[-2] + ordered[-1]]
    return ordered[0] if ordered else tf.constant(0.0)


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    if steps > 5:
        n = n + steps
    return n


@tf.function
def guarded(x, scope=None):
    total = x
    with tf.name_scope(scope) if scope else contextlib.nullcontext():
        try:
            if x > 0:
                total = total * 2
        finally:
            total = total + 1
    for a, b in itertools.product([0, 1], repeat=2):
        if a and not b:
            total = total + 1
    return total


@tf.function
def dataset_until(limit: int, size=3):
    total = tf.constant(0, tf.int64)
    data = tf.data.Dataset.range(limit).batch(size)
    for index, batch in data.enumerate():
        if index == 2:
            break
        if tf.shape(batch)[0] < size:
            continue
        total += tf.reduce_sum(batch)
    return total


@tf.function
def two_counters(values, stride=2):
    i, j = 0, len(values) - 1
    swaps = tf.constant(0)
    while i < j:
        if values[i] > values[j]:
            swaps += 1
        i += stride
        j -= 1
    k = tf.constant(0)
    while k < j:
        k += stride
    done = not k < j
    return swaps + k if done else swaps


@tf.function
def greedy_decode(logits, end, max_length=None):
    length = max_length or logits.shape[0]
    tokens = tf.TensorArray(tf.int32, size=length)
    finished = tf.constant(False)
    token = tf.constant(0)
    for step in tf.range(length):
        token = tf.argmax(logits[step], output_type=tf.int32)
        if finished:
            token = end
        tokens = tokens.write(step, token)
        finished = finished or token == end
        if not finished and step == length - 1:
            tokens = tokens.write(step, end)
    return tokens.stack()


@tf.function
def best_of(candidates, score):
    best, best_score = None, None
    for candidate in candidates:
        current = score(candidate)
        if best is None:
            best, best_score = candidate, current
        elif current > best_score:
            best, best_score = candidate, current
    return best


DATA = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]))
PAIRS = [(tf.constant(1.0), tf.constant(2.0)), (tf.constant(2.0), tf.constant(3.0))]


def main():
    fit(tf.constant(0.5), DATA)
    fit(tf.constant(0.5), DATA, epochs=3, patience=1)
    fit(tf.constant(0.5), PAIRS, 2, 1)
    until_settled(tf.constant(1.0))
    first_above(tf.constant([0.1, 0.6, 0.9]), 0.5)
    running_maximum(tf.constant([1.0, 3.0, 2.0]))
    host_batches([tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)])
    zipped(["a", "b", "a", "skip"], [tf.constant(1.0), tf.constant(2.0), tf.constant(3.0), tf.constant(4.0)])
    collatz(tf.constant(6))
    guarded(tf.constant(1))
    guarded(tf.constant(1), scope="named")
    dataset_until(10)
    two_counters([tf.constant(3), tf.constant(2), tf.constant(1)])
    greedy_decode(tf.eye(3), tf.constant(1))
    greedy_decode(tf.eye(3), tf.constant(1), max_length=2)
    best_of([tf.constant([1.0]), tf.constant([2.0])], tf.reduce_sum)


EXAMPLES = {
    "fit": [(tf.constant(0.5), DATA), (tf.constant(0.5), DATA, 3, 1), (tf.constant(0.5), PAIRS, 2, 1)],
    "until_settled": [(tf.constant(1.0),)],
    "first_above": [(tf.constant([0.1, 0.6, 0.9]), 0.5)],
    "running_maximum": [(tf.constant([1.0, 3.0, 2.0]),)],
    "host_batches": [([tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)],)],
    "zipped": [
        (["a", "b", "a", "skip"], [tf.constant(1.0), tf.constant(2.0), tf.constant(3.0), tf.constant(4.0)])
    ],
    "collatz": [(tf.constant(6),)],
    "guarded": [(tf.constant(1),), (tf.constant(1), "named")],
    "dataset_until": [(10,)],
    "two_counters": [([tf.constant(3), tf.constant(2), tf.constant(1)],)],
    "greedy_decode": [(tf.eye(3), tf.constant(1)), (tf.eye(3), tf.constant(1), 2)],
    "best_of": [([tf.constant([1.0]), tf.constant([2.0])], tf.reduce_sum)],
}


if __name__ == "__main__":
    main()
