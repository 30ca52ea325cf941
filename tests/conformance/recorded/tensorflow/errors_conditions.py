"""Values that a staged condition may have. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def number_as_condition(x):
    if x:
        x = x - 1
    return x


@tf.function
def number_as_loop_condition(x):
    while x:
        x = x - 1
    return x


@tf.function
def count_as_condition(values):
    found = tf.math.count_nonzero(values)
    if found:
        values = values * 2
    return values


@tf.function
def string_as_condition(word):
    return 1 if word else 0


@tf.function
def compared_number(x):
    if x != 0:
        x = x - 1
    return x


@tf.function
def cast_condition(x):
    while tf.cast(x, tf.bool):
        x = x - 1
    return x


@tf.function
def bool_tensor(x, flag):
    if flag:
        x = x * 2
    return x


@tf.function
def vector_condition(x):
    if x > 0:
        x = -x
    return x


@tf.function
def vector_loop_condition(x):
    while x < 10.0:
        x = x * 2.0
    return x


@tf.function
def vector_ternary(x, y):
    return x if x == y else y


@tf.function
def vector_and(x):
    if x > 0 and x < 10:
        return x
    return -x


@tf.function
def vector_chain(x):
    inside = 0 < x < 10
    return inside


@tf.function
def reduced_vector(x):
    if tf.reduce_all(x > 0):
        x = -x
    return x


@tf.function
def one_element(x):
    if x > 0:
        x = -x
    return x


@tf.function
def elementwise_and(x):
    inside = tf.logical_and(x > 0, x < 10)
    return tf.where(inside, x, -x)


@tf.function
def not_of_number(x):
    if not x:
        x = x + 1
    return x


@tf.function
def not_of_float(x, scale):
    empty = not tf.reduce_sum(x)
    return scale if empty else x


@tf.function
def not_of_bool(x):
    if not x > 0:
        x = x + 1
    return x


@tf.function
def not_of_vector(x):
    mask = not x > 0
    return tf.where(mask, 0, x)


@tf.function
def shape_guard(x):
    if tf.shape(x)[0] > 4:
        y = x[4]
    else:
        y = x[0]
    return y


@tf.function
def matmul_guard(a, b):
    if tf.shape(a)[1] == tf.shape(b)[0]:
        c = tf.matmul(a, b)
    else:
        c = a
    return c


@tf.function
def static_guard(x):
    if x.shape[0] > 4:
        y = x[4]
    else:
        y = x[0]
    return y


@tf.function
def dynamic_index(x, i):
    if tf.shape(x)[0] > i:
        y = x[i]
    else:
        y = x[0]
    return y


@tf.function
def nested_ternary(x):
    return 1 if x > 0 else (-1 if x < 0 else 0)


@tf.function
def ternary_in_branch(x, y):
    best = (x if x > 5 else x + 1) if x > y else y
    return best


@tf.function
def nested_python_ternary(x, mode):
    scale = 1 if mode == "a" else (2 if mode == "b" else 3)
    return x * scale if x > 0 else x


@tf.function
def nested_if(x):
    if x > 0:
        s = 1
    else:
        s = -1 if x < 0 else 0
    return s


@tf.function
def python_outside(x, flag):
    return (x if flag else -x) if x > 0 else x + 1


def main():
    number_as_condition(tf.constant(3))
    number_as_loop_condition(tf.constant(3))
    count_as_condition(tf.constant([1, 0]))
    string_as_condition(tf.constant("a"))
    compared_number(tf.constant(3))
    cast_condition(tf.constant(3))
    bool_tensor(tf.constant(3), tf.constant(True))
    vector_condition(tf.constant([1, -2]))
    vector_loop_condition(tf.constant([1.0, 2.0]))
    vector_ternary(tf.constant([1, -2]), tf.constant([1, 2]))
    vector_and(tf.constant([1, -2]))
    vector_chain(tf.constant([1, -2]))
    reduced_vector(tf.constant([1, -2]))
    one_element(tf.constant([1]))
    elementwise_and(tf.constant([1, -2]))
    not_of_number(tf.constant(3))
    not_of_float(tf.constant(3.0), 2.0)
    not_of_bool(tf.constant(3))
    not_of_vector(tf.constant([1, -2]))
    shape_guard(tf.constant([1, 2]))
    matmul_guard(tf.ones([2, 3]), tf.ones([2, 3]))
    static_guard(tf.constant([1, 2]))
    dynamic_index(tf.constant([1, 2]), tf.constant(4))
    nested_ternary(tf.constant(-3))
    ternary_in_branch(tf.constant(3), tf.constant(1))
    nested_python_ternary(tf.constant(3), "b")
    nested_if(tf.constant(3))
    python_outside(tf.constant(3), True)


EXAMPLES = {
    "number_as_condition": [(tf.constant(3),)],
    "number_as_loop_condition": [(tf.constant(3),)],
    "count_as_condition": [(tf.constant([1, 0]),)],
    "string_as_condition": [(tf.constant("a"),)],
    "compared_number": [(tf.constant(3),)],
    "cast_condition": [(tf.constant(3),)],
    "bool_tensor": [(tf.constant(3), tf.constant(True))],
    "vector_condition": [(tf.constant([1, -2]),)],
    "vector_loop_condition": [(tf.constant([1.0, 2.0]),)],
    "vector_ternary": [(tf.constant([1, -2]), tf.constant([1, 2]))],
    "vector_and": [(tf.constant([1, -2]),)],
    "vector_chain": [(tf.constant([1, -2]),)],
    "reduced_vector": [(tf.constant([1, -2]),)],
    "one_element": [(tf.constant([1]),)],
    "elementwise_and": [(tf.constant([1, -2]),)],
    "not_of_number": [(tf.constant(3),)],
    "not_of_float": [(tf.constant(3.0), 2.0)],
    "not_of_bool": [(tf.constant(3),)],
    "not_of_vector": [(tf.constant([1, -2]),)],
    "shape_guard": [(tf.constant([1, 2]),)],
    "matmul_guard": [(tf.ones([2, 3]), tf.ones([2, 3]))],
    "static_guard": [(tf.constant([1, 2]),)],
    "dynamic_index": [(tf.constant([1, 2]), tf.constant(4))],
    "nested_ternary": [(tf.constant(-3),)],
    "ternary_in_branch": [(tf.constant(3), tf.constant(1))],
    "nested_python_ternary": [(tf.constant(3), "b")],
    "nested_if": [(tf.constant(3),)],
    "python_outside": [(tf.constant(3), True)],
}


RULES = {
    "number_as_condition": "AG107",
    "number_as_loop_condition": "AG107",
    "count_as_condition": "AG107",
    "string_as_condition": "AG107",
    "compared_number": None,
    "cast_condition": None,
    "bool_tensor": None,
    "vector_condition": "AG108",
    "vector_loop_condition": "AG108",
    "vector_ternary": "AG108",
    "vector_and": "AG108",
    "vector_chain": "AG108",
    "reduced_vector": None,
    "one_element": None,
    "elementwise_and": None,
    "not_of_number": "AG109",
    "not_of_float": "AG109",
    "not_of_bool": None,
    "not_of_vector": None,
    "shape_guard": "AG112",
    "matmul_guard": "AG112",
    "static_guard": None,
    "dynamic_index": None,
    "nested_ternary": "AG113",
    "ternary_in_branch": "AG113",
    "nested_python_ternary": None,
    "nested_if": None,
    "python_outside": None,
}


if __name__ == "__main__":
    main()
