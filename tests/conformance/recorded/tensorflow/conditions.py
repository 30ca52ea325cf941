"""Conditions: Tensors, Python values, and expressions that combine both."""

import tensorflow as tf

LEAK = 0.1
DEBUG = False
TEMPERATURE = tf.constant(0.5)


@tf.function
def leaky(x, slope=LEAK):
    if slope == 0.0:
        return tf.nn.relu(x)
    if x > 0:
        y = x
    else:
        y = slope * x
    return y


@tf.function
def clip_by_flag(gradient, limit, enabled):
    if enabled and limit > 0:
        norm = tf.norm(gradient)
        if norm > limit:
            gradient = gradient * (limit / norm)
    elif not enabled:
        gradient = tf.identity(gradient)
    return gradient


@tf.function
def huber(error, delta):
    size = tf.abs(error)
    return 0.5 * size**2 if size <= delta else delta * (size - 0.5 * delta)


@tf.function
def signum(x):
    if x > 0:
        s = 1
    elif x < 0:
        s = -1
    else:
        s = 0
    return s


@tf.function
def bucket(age, limits):
    if age < limits[0]:
        label = 0
    elif limits[0] <= age < limits[1]:
        label = 1
    else:
        label = 2
    if len(limits) > 2 and age >= limits[2]:
        label = 3
    return label


@tf.function
def rank_dispatch(x):
    if x.shape.rank == 0:
        return x
    if x.shape.rank == 1 or x.shape[0] == 1:
        return tf.reduce_sum(x)
    total = tf.reduce_sum(x)
    return total if total > 0 else -total


@tf.function
def any_negative(x, strict):
    if tf.reduce_any(x < 0):
        found = True
    else:
        found = False
    if strict and not tf.reduce_any(x < -1.0):
        found = False
    return found


@tf.function
def reject_nans(loss, previous):
    bad = tf.math.is_nan(loss) or tf.math.is_inf(loss)
    if bad:
        loss = previous
    return loss


@tf.function
def between(x, low, high):
    inside = low < x < high
    ordered = low < high
    if not ordered:
        raise ValueError("low must be below high")
    return inside


@tf.function
def anneal(step):
    if DEBUG:
        tf.print("step", step)
    if TEMPERATURE > 0.1 and step > 100:
        t = TEMPERATURE * 0.9
    else:
        t = TEMPERATURE
    return t


@tf.function
def equality(x, y, mode):
    if mode == "exact":
        same = x == y
    elif mode != "loose":
        same = tf.constant(False)
    else:
        same = tf.abs(x - y) < 1e-3
    if same:
        return 1
    else:
        return 0


@tf.function
def dtype_policy(x):
    if x.dtype == tf.float16:
        x = tf.cast(x, tf.float32)
    if x.dtype.is_integer:
        x = tf.cast(x, tf.float32)
    if x != 0.0:
        x = 1.0 / x
    return x


@tf.function
def nested(x, y, verbose):
    if x > 0:
        if y > 0:
            q = 1
        else:
            q = 4
        if verbose:
            tf.print("right half plane", q)
    else:
        q = 2 if y > 0 else 3
    return q


def magnitude(x):
    # Called with a Tensor and with a number.
    if x < 0:
        return -x
    return x


@tf.function
def distances(a):
    return magnitude(a - 3.0) + magnitude(-2.0)


@tf.function
def step_or_flag(step, resume):
    ready = resume or step > 10
    both = resume and step > 10
    return ready, both


@tf.function
def guarded_division(a, b):
    assert a.shape == b.shape
    if tf.reduce_all(b != 0.0):
        return a / b
    return tf.zeros_like(a)


@tf.function
def cast_condition(count, flags):
    if tf.cast(count, tf.bool):
        count -= 1
    if flags & 1:
        count += 10
    return count


@tf.function
def python_number_from_shape(x):
    n = x.shape[0]
    half = n // 2
    if n % 2 == 0 and half > 0:
        left, right = x[:half], x[half:]
        if tf.reduce_sum(left) > tf.reduce_sum(right):
            x = tf.concat([right, left], 0)
    return x


@tf.function
def dynamic_number_from_shape(x):
    n = tf.shape(x)[0]
    if n % 2 == 0:
        n = n // 2
    if x.shape.is_fully_defined():
        n += 0
    return n


@tf.function
def assert_reached(x):
    assert x is not None, "an input is required"
    if not tf.executing_eagerly():
        x = x + 1
    return x


def main():
    leaky(tf.constant(-2.0))
    leaky(tf.constant(2.0), 0.0)
    clip_by_flag(tf.constant([3.0, 4.0]), 1.0, True)
    clip_by_flag(tf.constant([3.0, 4.0]), 1.0, False)
    huber(tf.constant(3.0), 1.0)
    signum(tf.constant(-4))
    bucket(tf.constant(30), [18, 65, 100])
    rank_dispatch(tf.constant(1.0))
    rank_dispatch(tf.constant([1.0, 2.0]))
    rank_dispatch(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    any_negative(tf.constant([1.0, -2.0]), True)
    reject_nans(tf.constant(1.0), tf.constant(2.0))
    between(tf.constant(0.5), 0.0, 1.0)
    anneal(tf.constant(200))
    equality(tf.constant(1.0), tf.constant(1.0), "loose")
    equality(tf.constant(1.0), tf.constant(1.0), "exact")
    dtype_policy(tf.constant(2, tf.int32))
    nested(tf.constant(1), tf.constant(-1), True)
    distances(tf.constant(1.0))
    step_or_flag(tf.constant(12), False)
    step_or_flag(tf.constant(12), True)
    guarded_division(tf.constant([1.0]), tf.constant([2.0]))
    cast_condition(tf.constant(3), 1)
    python_number_from_shape(tf.constant([4.0, 3.0, 2.0, 1.0]))
    dynamic_number_from_shape(tf.constant([4.0, 3.0]))
    assert_reached(tf.constant(1))


EXAMPLES = {
    "leaky": [(tf.constant(-2.0),), (tf.constant(2.0), 0.0)],
    "clip_by_flag": [(tf.constant([3.0, 4.0]), 1.0, True), (tf.constant([3.0, 4.0]), 1.0, False)],
    "huber": [(tf.constant(3.0), 1.0)],
    "signum": [(tf.constant(-4),)],
    "bucket": [(tf.constant(30), [18, 65, 100])],
    "rank_dispatch": [
        (tf.constant(1.0),),
        (tf.constant([1.0, 2.0]),),
        (tf.constant([[1.0, 2.0], [3.0, 4.0]]),),
    ],
    "any_negative": [(tf.constant([1.0, -2.0]), True)],
    "reject_nans": [(tf.constant(1.0), tf.constant(2.0))],
    "between": [(tf.constant(0.5), 0.0, 1.0)],
    "anneal": [(tf.constant(200),)],
    "equality": [
        (tf.constant(1.0), tf.constant(1.0), "loose"),
        (tf.constant(1.0), tf.constant(1.0), "exact"),
    ],
    "dtype_policy": [(tf.constant(2, tf.int32),)],
    "nested": [(tf.constant(1), tf.constant(-1), True)],
    "distances": [(tf.constant(1.0),)],
    "step_or_flag": [(tf.constant(12), False), (tf.constant(12), True)],
    "guarded_division": [(tf.constant([1.0]), tf.constant([2.0]))],
    "cast_condition": [(tf.constant(3), 1)],
    "python_number_from_shape": [(tf.constant([4.0, 3.0, 2.0, 1.0]),)],
    "dynamic_number_from_shape": [(tf.constant([4.0, 3.0]),)],
    "assert_reached": [(tf.constant(1),)],
}


if __name__ == "__main__":
    main()
