"""Model-agnostic meta-learning of sine waves: gradients through the inner updates."""
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Settings:
    inner_rate: float = 0.05
    outer_rate: float = 0.02
    inner_steps: int = 2
    first_order: bool = False
    clip: float = 5.0


def init(widths):
    weights = []
    for inputs, outputs in zip(widths, widths[1:]):
        weights.append(tf.Variable(tf.random.normal((inputs, outputs)) / inputs ** 0.5))
        weights.append(tf.Variable(tf.zeros(outputs)))
    return weights


def predict(weights, x):
    layers = list(zip(weights[::2], weights[1::2]))
    for i, (w, b) in enumerate(layers):
        x = x @ w + b
        if i < len(layers) - 1:
            x = tf.nn.relu(x)
    return x


def loss_fn(weights, x, y):
    return tf.reduce_mean((predict(weights, x) - y) ** 2)


def adapt(weights, x, y, settings):
    fast = [tf.identity(w) for w in weights]
    for _ in range(settings.inner_steps):
        with tf.GradientTape() as tape:
            for w in fast:
                tape.watch(w)
            loss = loss_fn(fast, x, y)
        gradients = tape.gradient(loss, fast)
        if settings.first_order:
            gradients = [tf.stop_gradient(g) for g in gradients]
        fast = [w - settings.inner_rate * g for w, g in zip(fast, gradients)]
    return fast


def sample_task(points):
    amplitude, phase = tf.random.uniform((), 0.5, 2.0), tf.random.uniform((), 0.0, 3.0)
    x = tf.random.uniform((2, points, 1), -3.0, 3.0)
    y = amplitude * tf.sin(x + phase)
    return x[0], y[0], x[1], y[1]


@tf.function
def meta_train(weights, rounds, tasks=3, settings=Settings()):
    """`rounds` is a tensor: the outer loop is part of the graph."""
    smooth = tf.constant(0.0)
    for step in tf.range(rounds):
        with tf.GradientTape() as tape:
            total = tf.constant(0.0)
            for _ in tf.range(tasks):
                x, y, x_query, y_query = sample_task(8)
                total += loss_fn(adapt(weights, x, y, settings), x_query, y_query)
            total = total / tasks
        gradients = tape.gradient(total, weights)
        norm = tf.linalg.global_norm(gradients)
        if norm > settings.clip:
            gradients = [g * settings.clip / norm for g in gradients]
        for w, g in zip(weights, gradients):
            w.assign_sub(settings.outer_rate * g)
        smooth = total if step == 0 else 0.9 * smooth + 0.1 * total
    return smooth


def main():
    tf.random.set_seed(1)
    weights = init([1, 16, 1])
    print("second order", float(meta_train(weights, tf.constant(20))))
    quick = Settings(first_order=True, inner_steps=1)
    print("first order", float(meta_train(weights, tf.constant(20), settings=quick)))


if __name__ == "__main__":
    main()
