"""Structures, objects and returns in staged loops. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


class Box:
    def __init__(self, value):
        self.value = value


@tf.function
def pair_becomes_triple(n):
    state = (0, 1)
    for i in tf.range(n):
        state = (i, i, i)
    return state


@tf.function
def key_appears(n):
    state = {"a": 0}
    for i in tf.range(n):
        state = {"a": i, "b": i}
    return state


@tf.function
def list_grows(n):
    items = [0]
    for i in tf.range(n):
        items = items + [i]
    return items


@tf.function
def pair_stays(n):
    state = (0, 1)
    for i in tf.range(n):
        state = (state[1], i)
    return state


@tf.function
def unrolled_list_grows(x, n):
    items = [x]
    for _ in range(n):
        items = items + [items[-1] + 1]
    return items


@tf.function
def object_carried(n):
    box = Box(0)
    for i in tf.range(n):
        box = Box(i)
    return box.value


@tf.function
def set_carried(n):
    seen = {1}
    for i in tf.range(n):
        seen = {2}
    return len(seen)


@tf.function
def function_carried(x):
    f = tf.sin
    while x > 1.0:
        x = f(x)
        f = tf.cos
    return x


@tf.function
def attribute_carried(n):
    box = Box(0)
    for i in tf.range(n):
        box.value = box.value + i
    return box.value


@tf.function
def string_read(x, mode):
    while x > 1.0:
        if mode == "fast":
            x = x / 4.0
        else:
            x = x / 2.0
    return x


@tf.function
def return_in_for(values):
    for v in values:
        if v > 1:
            return v
    return tf.constant(0)


@tf.function
def return_in_while(x):
    while x > 0:
        x = x - 3
        if x < 2:
            return x
    return x


@tf.function
def return_in_dataset(dataset):
    for v in dataset:
        if v > 1:
            return v
    return tf.constant(0)


@tf.function
def break_with_flag(values):
    found = tf.constant(0)
    for v in values:
        if v > 1:
            found = v
            break
    return found


@tf.function
def return_in_python_loop(x, names):
    for name in names:
        if name == "stop":
            return x
        x = x - 1
    return x


def first_large(v):
    if v > 1:
        return v
    return tf.constant(0)


@tf.function
def return_in_callee(values):
    total = tf.constant(0)
    for v in values:
        total += first_large(v)
    return total


def main():
    pair_becomes_triple(tf.constant(3))
    key_appears(tf.constant(3))
    list_grows(tf.constant(3))
    pair_stays(tf.constant(3))
    unrolled_list_grows(tf.constant(3), 2)
    object_carried(tf.constant(3))
    set_carried(tf.constant(3))
    function_carried(tf.constant(3.0))
    attribute_carried(tf.constant(3))
    string_read(tf.constant(3.0), "fast")
    return_in_for(tf.constant([1, 2]))
    return_in_while(tf.constant(9))
    return_in_dataset(tf.data.Dataset.from_tensor_slices([1, 2]))
    break_with_flag(tf.constant([1, 2]))
    return_in_python_loop(tf.constant(1), ["a", "stop"])
    return_in_callee(tf.constant([1, 2]))


EXAMPLES = {
    "pair_becomes_triple": [(tf.constant(3),)],
    "key_appears": [(tf.constant(3),)],
    "list_grows": [(tf.constant(3),)],
    "pair_stays": [(tf.constant(3),)],
    "unrolled_list_grows": [(tf.constant(3), 2)],
    "object_carried": [(tf.constant(3),)],
    "set_carried": [(tf.constant(3),)],
    "function_carried": [(tf.constant(3.0),)],
    "attribute_carried": [(tf.constant(3),)],
    "string_read": [(tf.constant(3.0), "fast")],
    "return_in_for": [(tf.constant([1, 2]),)],
    "return_in_while": [(tf.constant(9),)],
    "return_in_dataset": [(tf.data.Dataset.from_tensor_slices([1, 2]),)],
    "break_with_flag": [(tf.constant([1, 2]),)],
    "return_in_python_loop": [(tf.constant(1), ["a", "stop"])],
    "return_in_callee": [(tf.constant([1, 2]),)],
}


RULES = {
    "pair_becomes_triple": "AG206",
    "key_appears": "AG206",
    "list_grows": "AG206",
    "pair_stays": None,
    "unrolled_list_grows": None,
    "object_carried": "AG207",
    "set_carried": "AG207",
    "function_carried": "AG207",
    "attribute_carried": None,
    "string_read": None,
    "return_in_for": "AG208",
    "return_in_while": "AG208",
    "return_in_dataset": "AG208",
    "break_with_flag": None,
    "return_in_python_loop": None,
    "return_in_callee": None,
}


if __name__ == "__main__":
    main()
