"""Functions that make functions: closures, decorators, partial application, dispatch tables."""

import functools
import operator

import tensorflow as tf


def make_step(rate, momentum=None, verbose=False):
    velocity = tf.Variable(0.0)

    @tf.function
    def step(weight, gradient):
        if momentum is not None:
            velocity.assign(momentum * velocity + gradient)
            update = velocity.read_value()
        else:
            update = gradient
        if verbose:
            tf.print("update", update)
        if tf.abs(update) > 1.0:
            update = tf.sign(update)
        return weight - rate * update

    return step


plain_step = make_step(0.1)
heavy_step = make_step(0.1, momentum=0.9, verbose=True)


def traced(message):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if message:
                args = tuple(args)
            result = function(*args, **kwargs)
            if result is None:
                return tf.constant(0.0)
            return result

        return wrapper

    return decorate


@traced("soft")
def soften(x, amount=1.0):
    if amount == 0.0:
        return None
    if tf.reduce_max(x) > amount:
        x = x / amount
    return x


@tf.function
def softened_twice(x):
    first = soften(x)
    second = soften(x, amount=0.0)
    if first[0] > second:
        return first
    return first + second


def rectify(x, slope):
    if slope:
        return tf.maximum(x, slope * x)
    return tf.maximum(x, 0.0)


ACTIVATIONS = {
    "relu": functools.partial(rectify, slope=0.0),
    "leaky": functools.partial(rectify, slope=0.1),
    "square": lambda x: x * x if tf.reduce_min(x) < 0.0 else x,
}


@tf.function
def activated(x, name):
    activation = ACTIVATIONS.get(name)
    if activation is None:
        raise ValueError(f"no activation {name}")
    y = activation(x)
    return y if y[0] > 0.0 else -y


def compose(*functions):
    def composed(x):
        for function in functions:
            x = function(x)
            if x is None:
                break
        return x

    return composed


halve_and_shift = compose(
    lambda x: x / 2.0,
    lambda value: value + 1.0,
)


@tf.function
def pipelined(x):
    y = halve_and_shift(x)
    while tf.reduce_sum(y) > 2.0:
        y = halve_and_shift(y) - 1.0
    return y


@tf.function
def folded(tensors, combine=operator.add):
    total = functools.reduce(combine, tensors)
    if len(tensors) > 2:
        total = total / float(len(tensors))
    if combine is operator.add and total > 2.0:
        total = total - 1.0
    return total


def counter(limit):
    calls = 0

    def allowed():
        nonlocal calls
        calls += 1
        return calls <= limit

    return allowed


@tf.function
def limited(x, limit=2):
    allowed = counter(limit)
    while allowed():
        x = x + 1.0
    if not allowed():
        x = -x
    return x


def variadic(first, *rest, scale=None, **named):
    total = first
    for value in rest:
        total = total + value
        if value is first:
            total = total + 1.0
    if "offset" in named:
        total = total + named["offset"]
    for key, value in named.items():
        if key != "offset" and value > 0.0:
            total = total + value
    return total * scale if scale else total


@tf.function
def variadic_sum(x):
    small = variadic(x)
    large = variadic(x, x, 2.0, scale=0.5, offset=1.0, bonus=x)
    if small > large:
        return small
    return large


class retry:
    def __init__(self, times):
        self.times = times

    def __call__(self, function):
        def run(x):
            for attempt in range(self.times):
                y = function(x)
                if attempt == 0 and self.times > 1:
                    x = y
                if y < 0.0:
                    x = x + 1.0
            return x

        return run


@tf.function
@retry(2)
def shrink(x):
    return x * 0.5 if x > 1.0 else x - 0.5


@tf.function
def branches_of_functions(x, training=False):
    def train():
        noise = tf.random.uniform(tf.shape(x))
        return x + noise if tf.reduce_any(noise > 0.5) else x

    def infer():
        return x

    run = train if training else infer
    y = run()
    if callable(run) and run is train:
        y = y * 2.0
    return y


def main():
    plain_step(tf.constant(1.0), tf.constant(3.0))
    heavy_step(tf.constant(1.0), tf.constant(3.0))
    softened_twice(tf.constant([1.0, 2.0]))
    activated(tf.constant([1.0, -2.0]), "relu")
    activated(tf.constant([1.0, -2.0]), "leaky")
    activated(tf.constant([1.0, -2.0]), "square")
    pipelined(tf.constant([4.0, 5.0]))
    folded([tf.constant(1.0), tf.constant(2.0)])
    folded([tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)], combine=operator.mul)
    limited(tf.constant(1.0))
    limited(tf.constant(1.0), limit=3)
    variadic_sum(tf.constant(2.0))
    shrink(tf.constant(3.0))
    branches_of_functions(tf.constant([1.0, 2.0]))
    branches_of_functions(tf.constant([1.0, 2.0]), training=True)


EXAMPLES = {
    "plain_step": [(tf.constant(1.0), tf.constant(3.0))],
    "heavy_step": [(tf.constant(1.0), tf.constant(3.0))],
    "softened_twice": [(tf.constant([1.0, 2.0]),)],
    "activated": [
        (tf.constant([1.0, -2.0]), "relu"),
        (tf.constant([1.0, -2.0]), "leaky"),
        (tf.constant([1.0, -2.0]), "square"),
    ],
    "pipelined": [(tf.constant([4.0, 5.0]),)],
    "folded": [
        ([tf.constant(1.0), tf.constant(2.0)],),
        ([tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)], operator.mul),
    ],
    "limited": [(tf.constant(1.0),), (tf.constant(1.0), 3)],
    "variadic_sum": [(tf.constant(2.0),)],
    "shrink": [(tf.constant(3.0),)],
    "branches_of_functions": [(tf.constant([1.0, 2.0]),), (tf.constant([1.0, 2.0]), True)],
}


if __name__ == "__main__":
    main()
