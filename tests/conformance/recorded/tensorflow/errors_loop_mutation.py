"""Distributed loops, lists and keys mutated in staged loops. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


strategy = tf.distribute.MirroredStrategy(["cpu:0"])
distributed = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices([1, 2, 3]).batch(1))


@tf.function
def break_distributed(dataset):
    total = tf.constant(0)
    for v in dataset:
        if total > 1:
            break
        total += tf.reduce_sum(v)
    return total


@tf.function
def return_distributed(dataset):
    total = tf.constant(0)
    for v in dataset:
        total += tf.reduce_sum(v)
        if total > 1:
            return total
    return total


@tf.function
def whole_distributed(dataset):
    total = tf.constant(0)
    for v in dataset:
        if tf.reduce_sum(v) > 1:
            total += tf.reduce_sum(v)
    return total


@tf.function
def break_iterator(dataset):
    total = tf.constant(0)
    for v in iter(dataset):
        if total > 1:
            break
        total += tf.reduce_sum(v)
    return total


@tf.function
def list_append(n):
    items = []
    for i in tf.range(n):
        items.append(i)
    return tf.stack(items)


@tf.function
def append_in_while(x):
    history = []
    while x > 1.0:
        x = x / 2.0
        history.append(x)
    return history


@tf.function
def dictionary_update(values):
    table = {}
    for v in values:
        table["last"] = v
    return table["last"]


@tf.function
def list_extended(values):
    seen = []
    for v in values:
        if v > 1:
            seen += [v]
    return seen


@tf.function
def append_unrolled(x, n):
    items = []
    for i in range(n):
        items.append(x + i)
    return tf.stack(items)


@tf.function
def append_before_loop(values):
    items = []
    items.append(values[0])
    total = items[0]
    for v in values:
        total += v + items[0]
    return total


@tf.function
def variable_key(values):
    totals = {"even": 0, "odd": 0}
    for v in values:
        for name in ("even", "odd"):
            totals[name] += v
    return totals


@tf.function
def variable_slot(values, heads):
    totals = [0] * heads
    for v in values:
        for h in range(heads):
            totals[h] = totals[h] + v
    return totals


@tf.function
def literal_key(values):
    totals = {"even": 0, "odd": 0}
    for v in values:
        totals["even"] += v
        totals["odd"] -= v
    return totals


@tf.function
def rebuilt_slot(values, heads):
    totals = [0] * heads
    for v in values:
        totals = [t + v for t in totals]
    return totals


def main():
    break_distributed(distributed)
    return_distributed(distributed)
    whole_distributed(distributed)
    break_iterator(tf.data.Dataset.from_tensor_slices([1, 2]))
    list_append(tf.constant(3))
    append_in_while(tf.constant(8.0))
    dictionary_update(tf.constant([1, 2]))
    list_extended(tf.constant([1, 2]))
    append_unrolled(tf.constant(3), 2)
    append_before_loop(tf.constant([1, 2]))
    variable_key(tf.constant([1, 2]))
    variable_slot(tf.constant([1, 2]), 2)
    literal_key(tf.constant([1, 2]))
    rebuilt_slot(tf.constant([1, 2]), 2)


EXAMPLES = {
    "break_distributed": [(distributed,)],
    "return_distributed": [(distributed,)],
    "whole_distributed": [(distributed,)],
    "break_iterator": [(tf.data.Dataset.from_tensor_slices([1, 2]),)],
    "list_append": [(tf.constant(3),)],
    "append_in_while": [(tf.constant(8.0),)],
    "dictionary_update": [(tf.constant([1, 2]),)],
    "list_extended": [(tf.constant([1, 2]),)],
    "append_unrolled": [(tf.constant(3), 2)],
    "append_before_loop": [(tf.constant([1, 2]),)],
    "variable_key": [(tf.constant([1, 2]),)],
    "variable_slot": [(tf.constant([1, 2]), 2)],
    "literal_key": [(tf.constant([1, 2]),)],
    "rebuilt_slot": [(tf.constant([1, 2]), 2)],
}


RULES = {
    "break_distributed": "AG209",
    "return_distributed": "AG209",
    "whole_distributed": None,
    "break_iterator": None,
    "list_append": "AG210",
    "append_in_while": "AG210",
    "dictionary_update": None,
    "list_extended": "AG206",
    "append_unrolled": None,
    "append_before_loop": None,
    "variable_key": "AG211",
    "variable_slot": "AG211",
    "literal_key": None,
    "rebuilt_slot": None,
}


if __name__ == "__main__":
    main()
