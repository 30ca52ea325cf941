"""Staged lists, with the optional feature LISTS. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf

FEATURE = "LISTS"
WITH_LISTS = tf.autograph.experimental.Feature.LISTS


@tf.function(experimental_autograph_options=WITH_LISTS)
def untyped_push(x):
    items = []
    items.append(x)
    return tf.stack(items)


@tf.function(experimental_autograph_options=WITH_LISTS)
def untyped_pop(x):
    items = [x, x + 1]
    last = items.pop()
    return last


@tf.function(experimental_autograph_options=WITH_LISTS)
def pop_front(x):
    items = [x, x + 1]
    first = items.pop(0)
    return first


@tf.function(experimental_autograph_options=WITH_LISTS)
def pop_empty(x):
    items = []
    return items.pop() + x


@tf.function(experimental_autograph_options=WITH_LISTS)
def pop_front_empty(x):
    items = []
    first = items.pop(0)
    return first + x


@tf.function(experimental_autograph_options=WITH_LISTS)
def item_of_empty(x):
    items = []
    return items[0] + x


@tf.function(experimental_autograph_options=WITH_LISTS)
def untyped_item(x):
    items = [x, x + 1]
    return items[0] + x


@tf.function(experimental_autograph_options=WITH_LISTS)
def pop_array(x):
    items = tf.TensorArray(tf.int32, size=1)
    items.append(x)
    return items.pop()


@tf.function(experimental_autograph_options=WITH_LISTS)
def chained_assignment(x):
    a = b = x
    if a > 0:
        b = b + 1
    return b


@tf.function(experimental_autograph_options=WITH_LISTS)
def two_assignments(x):
    a = x
    b = x
    if a > 0:
        b = b + 1
    return b


@tf.function(experimental_autograph_options=WITH_LISTS)
def set_tensor_item(x):
    x[0] = 5
    return x


@tf.function(experimental_autograph_options=WITH_LISTS)
def array_append(n):
    items = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    for i in tf.range(n):
        items.append(i)
    return items.stack()


@tf.function(experimental_autograph_options=WITH_LISTS)
def python_tuple_item(x):
    items = (x, x + 1)
    return items[0] if x > 0 else items[1]


def main():
    untyped_push(tf.constant(3))
    untyped_pop(tf.constant(3))
    pop_front(tf.constant(3))
    pop_empty(tf.constant(3))
    pop_front_empty(tf.constant(3))
    item_of_empty(tf.constant(3))
    untyped_item(tf.constant(3))
    pop_array(tf.constant(3))
    chained_assignment(tf.constant(3))
    two_assignments(tf.constant(3))
    set_tensor_item(tf.constant([3, 4]))
    array_append(tf.constant(3))
    python_tuple_item(tf.constant(3))


EXAMPLES = {
    "untyped_push": [(tf.constant(3),)],
    "untyped_pop": [(tf.constant(3),)],
    "pop_front": [(tf.constant(3),)],
    "pop_empty": [(tf.constant(3),)],
    "pop_front_empty": [(tf.constant(3),)],
    "item_of_empty": [(tf.constant(3),)],
    "untyped_item": [(tf.constant(3),)],
    "pop_array": [(tf.constant(3),)],
    "chained_assignment": [(tf.constant(3),)],
    "two_assignments": [(tf.constant(3),)],
    "set_tensor_item": [(tf.constant([3, 4]),)],
    "array_append": [(tf.constant(3),)],
    "python_tuple_item": [(tf.constant(3),)],
}


RULES = {
    "untyped_push": "AG216",
    "untyped_pop": None,
    "pop_front": None,
    "pop_empty": "AG216",
    "pop_front_empty": "AG216",
    "item_of_empty": "AG216",
    "untyped_item": None,
    "pop_array": "AG216",
    "chained_assignment": "AG012",
    "two_assignments": None,
    "set_tensor_item": None,
    "array_append": None,
    "python_tuple_item": None,
}


if __name__ == "__main__":
    main()
