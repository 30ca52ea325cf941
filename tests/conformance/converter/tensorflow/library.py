"""Datasets, TensorArrays, ragged tensors, nested tf.functions and other parts of TensorFlow that call back."""

import tensorflow as tf
from cases import T, case


@case(T(5))
def dataset_loop(n):
    total = T(0, tf.int64)
    for x in tf.data.Dataset.range(5):
        total += x
    return total


@case(T(3))
def dataset_break(n):
    total = T(0, tf.int64)
    for x in tf.data.Dataset.range(10):
        if x == 3:
            break
        total += x
    return total


@case(T(3))
def dataset_continue(n):
    total = T(0, tf.int64)
    for x in tf.data.Dataset.range(10):
        if x % 2 == 0:
            continue
        total += x
    return total


def tripled_if_odd(x):
    if x % 2 == 1:
        x = x * 3
    return x


@case(T(3))
def dataset_map(n):
    total = T(0, tf.int64)
    for x in tf.data.Dataset.range(5).map(tripled_if_odd):
        total += x
    return total


@case(T(3))
def dataset_tuples(n):
    total = T(0, tf.int64)
    for i, x in tf.data.Dataset.range(5).enumerate():
        total += i * x
    return total


@case(T(3))
def dataset_iterator(n):
    iterator = iter(tf.data.Dataset.range(5))
    total = T(0, tf.int64)
    for x in iterator:
        total += x
    return total


@case(T(3))
def dataset_enumerate_builtin(n):
    total = T(0, tf.int64)
    for i, x in enumerate(tf.data.Dataset.range(5)):
        total += i * x
    return total


@case(T(3))
def dataset_zip_builtin(n):
    total = T(0, tf.int64)
    for x, y in zip(tf.data.Dataset.range(5), tf.data.Dataset.range(5, 10)):
        total += x * y
    return total


@case(T([[1, 2, 0], [3, 0, 0]]))
def ragged_loop(m):
    total = T(0)
    for row in tf.RaggedTensor.from_tensor(m, padding=0):
        total += tf.reduce_sum(row)
    return total


@case(T([1.0, 2.0, 3.0]))
def array_in_while(v):
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    i = 0
    while i < tf.shape(v)[0]:
        if v[i] > 1.5:
            out = out.write(out.size(), v[i])
        i += 1
    return out.stack()


@case(T([1, 2, 3]))
def scan(v):
    def step(total, x):
        if x % 2 == 1:
            return total + x
        return total

    return tf.scan(step, v)


@case(T([1, 2, 3]))
def vectorized(v):
    return tf.vectorized_map(lambda x: x * 2, v)


@case(T(3))
def switch(x):
    return tf.switch_case(x % 3, [lambda: x + 1, lambda: x + 2, lambda: x + 3])


@case(T(3.0))
def custom_gradient(x):
    @tf.custom_gradient
    def f(v):
        def grad(upstream):
            return upstream * 10.0

        return v * v, grad

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@case(T([3.0, -1.0]))
def where(v):
    return tf.where(v > 0, v, tf.zeros_like(v))


@case(T([1, 2, 3]))
def shape_invariants(v):
    out = tf.zeros([0], tf.int32)
    for x in v:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(out, tf.TensorShape([None]))])
        out = tf.concat([out, [x]], 0)
    return out


@case(T(5))
def loop_options_in_while(n):
    total = T(0)
    while n > 0:
        tf.autograph.experimental.set_loop_options(parallel_iterations=1, maximum_iterations=3)
        total += n
        n -= 1
    return total


@case(T([1.0, 2.0]))
def keras_activation(v):
    if tf.reduce_sum(v) > 0:
        v = tf.keras.activations.relu(v)
    return v


@case(T([1, 2, 3, 4]))
def numpy_free_function(v):
    return tf.numpy_function(lambda a: a * 2, [v], tf.int32)


@case(T(3))
def python_side_effects(x):
    trace = []
    for n in range(3):
        trace.append(n)
    if x > 0:
        x = x + len(trace)
    return x, trace


@case(T(3), T(4))
def graph_mode_only(x, y):
    if tf.executing_eagerly():
        return x + y
    return x + y


@case(T(10))
def random_is_seeded(n):
    generator = tf.random.stateless_uniform([3], seed=[1, 2])
    total = 0.0
    for x in generator:
        if x > 0.1:
            total += x
    return total
