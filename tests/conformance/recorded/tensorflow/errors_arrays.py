"""Item assignment and TensorArrays in staged code. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def assign_item(x):
    x[0] = 5
    return x


@tf.function
def assign_in_loop(x):
    for i in tf.range(3):
        if x[i] < 0:
            x[i] = 0
    return x


@tf.function
def assign_slice(x, n):
    y = tf.zeros([4])
    if n > 0:
        y[1:3] = x
    return y


@tf.function
def scatter_item(x):
    return tf.tensor_scatter_nd_update(x, [[0]], [5])


@tf.function
def assign_list_item(x, k):
    parts = [x, x, x]
    parts[k] = x * 2
    if parts[k] > 3:
        parts[0] = x + 1
    return parts


state = tf.Variable([1, -2, 3])


@tf.function
def assign_variable_item(i):
    if i > 0:
        state[i].assign(0)
    return state.read_value()


@tf.function
def dropped_writes(n):
    out = tf.TensorArray(tf.int32, size=3)
    for i in tf.range(n):
        out.write(i, i)
    return out.stack()


@tf.function
def dropped_write_then_read(x):
    out = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    out.write(0, x)
    return out.read(0)


@tf.function
def kept_writes(n):
    out = tf.TensorArray(tf.int32, size=3)
    for i in tf.range(n):
        out = out.write(i, i)
    return out.stack()


@tf.function
def kept_write_then_read(x):
    out = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    out = out.write(0, x)
    return out.read(0)


def main():
    assign_item(tf.constant([1, -2, 3]))
    assign_in_loop(tf.constant([1, -2, 3]))
    assign_slice(tf.constant([1.0, 2.0]), tf.constant(1))
    scatter_item(tf.constant([1, -2, 3]))
    assign_list_item(tf.constant(3), 1)
    assign_variable_item(tf.constant(1))
    dropped_writes(tf.constant(3))
    dropped_write_then_read(tf.constant(3))
    kept_writes(tf.constant(3))
    kept_write_then_read(tf.constant(3))


EXAMPLES = {
    "assign_item": [(tf.constant([1, -2, 3]),)],
    "assign_in_loop": [(tf.constant([1, -2, 3]),)],
    "assign_slice": [(tf.constant([1.0, 2.0]), tf.constant(1))],
    "scatter_item": [(tf.constant([1, -2, 3]),)],
    "assign_list_item": [(tf.constant(3), 1)],
    "assign_variable_item": [(tf.constant(1),)],
    "dropped_writes": [(tf.constant(3),)],
    "dropped_write_then_read": [(tf.constant(3),)],
    "kept_writes": [(tf.constant(3),)],
    "kept_write_then_read": [(tf.constant(3),)],
}


RULES = {
    "assign_item": "AG215",
    "assign_in_loop": "AG215",
    "assign_slice": "AG215",
    "scatter_item": None,
    "assign_list_item": None,
    "assign_variable_item": None,
    "dropped_writes": "AG214",
    "dropped_write_then_read": "AG214",
    "kept_writes": None,
    "kept_write_then_read": None,
}


if __name__ == "__main__":
    main()
