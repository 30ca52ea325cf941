"""Keras 3: layers, models and train steps; Keras itself does not convert user code."""

import keras
import tensorflow as tf


class Gate(keras.layers.Layer):
    def __init__(self, threshold, residual=False):
        super().__init__()
        self.threshold = threshold
        self.residual = residual

    def call(self, x):
        mean = tf.reduce_mean(x)
        if mean > self.threshold:
            y = x * 0.5
        else:
            y = x
        if self.residual:
            y = y + x
        return y


class Scale(keras.layers.Layer):
    def __init__(self, units, use_bias=True, activation=None):
        super().__init__()
        self.units = units
        self.use_bias = use_bias
        self.activation = keras.activations.get(activation) if activation else None

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones")
        if self.use_bias:
            self.bias = self.add_weight(shape=(self.units,), initializer="zeros")
        else:
            self.bias = None

    def call(self, x, training=False, mask=None):
        y = tf.matmul(x, self.kernel)
        if self.bias is not None:
            y = y + self.bias
        if self.activation is not None:
            y = self.activation(y)
        if training and mask is None:
            y = y * 2.0
        return y


class Stack(keras.Model):
    def __init__(self, depth, units):
        super().__init__()
        self.blocks = [Scale(units, use_bias=bool(k % 2)) for k in range(depth)]
        self.head = Scale(1, activation="relu")

    def call(self, x, training=False):
        for index, block in enumerate(self.blocks):
            y = block(x)
            x = y if index == 0 else x + y
        if not training:
            x = tf.stop_gradient(x)
        return self.head(x)

    def train(self, x, y, clip=None):
        with tf.GradientTape() as tape:
            prediction = self(x, training=True)
            loss = tf.reduce_mean((prediction - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        if clip is not None:
            gradients, norm = tf.clip_by_global_norm(gradients, clip)
            if norm > clip:
                loss = loss * 1.0
        for gradient, variable in zip(gradients, self.trainable_variables):
            if gradient is not None:
                variable.assign_sub(0.01 * gradient)
        return loss


class Noise(keras.layers.Layer):
    def __init__(self, stddev=0.1):
        super().__init__()
        self.stddev = stddev

    def call(self, x, training=None):
        if training is None:
            training = False
        if not training or self.stddev == 0:
            return x
        noise = tf.random.stateless_normal(tf.shape(x), [1, 2], stddev=self.stddev)
        if tf.reduce_max(tf.abs(noise)) > 1.0:
            noise = tf.clip_by_value(noise, -1.0, 1.0)
        return x + noise


class Ponder(keras.layers.Layer):
    """Applies its cell until the state is small."""

    def __init__(self, max_steps):
        super().__init__()
        self.max_steps = max_steps

    def call(self, state):
        steps = 0
        while tf.reduce_max(state) > 0.5 and steps < self.max_steps:
            state = state * 0.5
            steps += 1
        return state, steps


class Momentum:
    def __init__(self, rate, momentum=0.0, nesterov=False):
        self.rate = rate
        self.momentum = momentum
        self.nesterov = nesterov
        self.velocity = tf.Variable([0.0, 0.0])
        self.weights = tf.Variable([1.0, 2.0])

    def apply(self, gradient):
        if self.momentum == 0.0:
            self.weights.assign_sub(self.rate * gradient)
            return self.weights.read_value()
        self.velocity.assign(self.momentum * self.velocity - self.rate * gradient)
        step = self.velocity.read_value()
        if self.nesterov:
            step = self.momentum * step - self.rate * gradient
        if tf.norm(step) > 1.0:
            step = step / tf.norm(step)
        self.weights.assign_add(step)
        return self.weights.read_value()


class Streak(keras.metrics.Metric):
    def __init__(self, name="streak"):
        super().__init__(name=name)
        self.length = self.add_variable(shape=(), initializer="zeros", name="length")
        self.longest = self.add_variable(shape=(), initializer="zeros", name="longest")

    def update_state(self, correct, sample_weight=None):
        if sample_weight is not None:
            correct = correct * sample_weight
        if correct > 0.5:
            self.length.assign(self.length + 1.0)
        else:
            self.length.assign(0.0)
        if self.length > self.longest:
            self.longest.assign(self.length)
        return self.longest.value

    def result(self):
        return self.longest.value


def train_loop(model, x, y, steps):
    loss = tf.constant(0.0)
    for _ in tf.range(steps):
        loss = model.train(x, y)
        if loss < 1e-3:
            break
    return loss


small = Stack(2, 2)
small(tf.ones([1, 2]))
converted = tf.function(train_loop)


@tf.function
def predict(x, threshold):
    y = small(x)
    if threshold is None:
        return y
    if tf.reduce_mean(y) > threshold:
        y = tf.ones_like(y)
    return y


def main():
    tf.function(Gate(0.5).call)(tf.constant([[1.0, 2.0]]))
    tf.function(Gate(0.5, True).call)(tf.constant([[1.0, 2.0]]))
    tf.function(Noise().call)(tf.constant([[1.0, 2.0]]), True)
    tf.function(Noise().call)(tf.constant([[1.0, 2.0]]))
    tf.function(Ponder(5).call)(tf.constant([[1.0, 2.0]]))
    tf.function(Momentum(0.1, 0.9, True).apply)(tf.constant([1.0, 2.0]))
    tf.function(Momentum(0.1).apply)(tf.constant([1.0, 2.0]))
    tf.function(Streak().update_state)(tf.constant(1.0))
    tf.function(small.train)(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 1.0)
    tf.function(small.call)(tf.constant([[1.0, 2.0]]), True)
    tf.function(small.blocks[0].call)(tf.constant([[1.0, 2.0]]), True)
    converted(small, tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(3))
    predict(tf.constant([[1.0, 2.0]]), 0.5)


EXAMPLES = {
    "Gate(0.5).call": [(tf.constant([[1.0, 2.0]]),)],
    "Gate(0.5, True).call": [(tf.constant([[1.0, 2.0]]),)],
    "Noise().call": [(tf.constant([[1.0, 2.0]]), True), (tf.constant([[1.0, 2.0]]),)],
    "Ponder(5).call": [(tf.constant([[1.0, 2.0]]),)],
    "Momentum(0.1, 0.9, True).apply": [(tf.constant([1.0, 2.0]),)],
    "Momentum(0.1).apply": [(tf.constant([1.0, 2.0]),)],
    "Streak().update_state": [(tf.constant(1.0),)],
    "small.train": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 1.0)],
    "small.call": [(tf.constant([[1.0, 2.0]]), True)],
    "small.blocks[0].call": [(tf.constant([[1.0, 2.0]]), True)],
    "converted": [(small, tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(3))],
    "predict": [(tf.constant([[1.0, 2.0]]), 0.5)],
}


if __name__ == "__main__":
    main()
