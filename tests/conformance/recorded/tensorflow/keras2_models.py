"""Keras 2 (tf_keras) converts the layers, losses and metrics that it calls."""

import tensorflow as tf
import tf_keras as keras


class Sparsify(keras.layers.Layer):
    def __init__(self, threshold=0.1, enabled=True, **kwargs):
        super().__init__(**kwargs)
        self.threshold = threshold
        self.enabled = enabled

    def call(self, inputs, training=None):
        if not self.enabled:
            return inputs
        if training is None:
            training = True
        level = tf.reduce_mean(tf.abs(inputs))
        if training and level > self.threshold:
            outputs = tf.where(tf.abs(inputs) > self.threshold, inputs, 0.0)
        else:
            outputs = inputs
        return outputs


class Iterated(keras.layers.Layer):
    def __init__(self, units, steps):
        super().__init__()
        self.cell = keras.layers.Dense(units)
        self.steps = steps

    def call(self, x):
        for k in range(self.steps):
            y = self.cell(x)
            x = y if k % 2 == 0 else x + y
        for _ in tf.range(2):
            if tf.norm(x) > 1.0:
                x = x * 0.5
        return x


class Head(keras.layers.Layer):
    def __init__(self, pooling=None):
        super().__init__()
        self.pooling = pooling

    def build(self, input_shape):
        if input_shape[-1] > 4:
            raise ValueError("too wide")
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, x):
        if self.pooling == "max":
            x = tf.reduce_max(x, -1)
        elif self.pooling is not None:
            x = tf.reduce_mean(x, -1)
        return x * self.scale if self.scale > 0 else x


class Classifier(keras.Model):
    def __init__(self, depth, augment=False):
        super().__init__()
        self.layers_in_order = [keras.layers.Dense(2) for _ in range(depth)]
        self.sparsify = Sparsify()
        self.augment = augment

    def call(self, x, training=False):
        if self.augment and training:
            x = x + 0.1
        for layer in self.layers_in_order:
            x = layer(x)
        return self.sparsify(x, training=training)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            prediction = self(x, training=True)
            loss = tf.reduce_mean((prediction - y) ** 2)
            if self.losses:
                loss += tf.add_n(self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        norm = tf.linalg.global_norm(gradients)
        if norm > 1.0:
            gradients = [g / norm for g in gradients]
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss, "norm": norm}


class Margin(keras.losses.Loss):
    def __init__(self, margin, squared=False):
        super().__init__()
        self.margin = margin
        self.squared = squared

    def call(self, y_true, y_pred):
        gap = tf.maximum(0.0, self.margin - y_true * y_pred)
        if self.squared:
            gap = gap**2
        if tf.reduce_max(gap) > 10.0:
            gap = gap / 10.0
        return tf.reduce_mean(gap, -1)


class Peak(keras.metrics.Metric):
    def __init__(self, absolute=False, **kwargs):
        super().__init__(**kwargs)
        self.absolute = absolute
        self.peak = self.add_weight(name="peak", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        error = y_pred - y_true
        if self.absolute:
            error = tf.abs(error)
        highest = tf.reduce_max(error)
        if highest > self.peak:
            self.peak.assign(highest)

    def result(self):
        return self.peak


sparsify = Sparsify()
disabled = Sparsify(enabled=False)
iterated = Iterated(2, 3)
iterated(tf.ones([1, 2]))
pooled = Head("max")
plain = Head()
classifier = Classifier(2, augment=True)
classifier(tf.ones([1, 2]))
classifier.compile(optimizer="sgd", loss="mse")
margin = Margin(1.0, squared=True)
peak = Peak(absolute=True)


@tf.function
def run_sparsify(x):
    return sparsify(x)


@tf.function
def run_disabled(x):
    y = disabled(x, training=False)
    if tf.reduce_sum(y) > 0:
        y = -y
    return y


@tf.function
def run_iterated(x):
    return iterated(x)


@tf.function
def run_heads(x):
    return tf.reduce_sum(pooled(x)) + tf.reduce_sum(plain(x))


@tf.function
def run_classifier(x, training):
    y = classifier(x, training=training)
    if training:
        return y
    return tf.nn.softmax(y)


@tf.function
def run_train_step(x, y):
    logs = classifier.train_step((x, y))
    if logs["loss"] > 100.0:
        tf.print("diverging")
    return logs["loss"]


@tf.function
def run_margin(y_true, y_pred):
    return margin(y_true, y_pred)


@tf.function
def run_peak(y_true, y_pred):
    peak.update_state(y_true, y_pred)
    value = peak.result()
    return value if value > 0.5 else 0.0


def main():
    run_sparsify(tf.constant([[1.0, 0.01]]))
    run_disabled(tf.constant([[1.0, 0.01]]))
    run_iterated(tf.constant([[1.0, 2.0]]))
    run_heads(tf.constant([[1.0, 2.0]]))
    run_classifier(tf.constant([[1.0, 2.0]]), True)
    run_classifier(tf.constant([[1.0, 2.0]]), False)
    run_train_step(tf.constant([[1.0, 2.0]]), tf.constant([[1.0, 0.0]]))
    run_margin(tf.constant([[1.0, -1.0]]), tf.constant([[0.3, 0.2]]))
    run_peak(tf.constant([[1.0, -1.0]]), tf.constant([[0.3, 0.2]]))


EXAMPLES = {
    "run_sparsify": [(tf.constant([[1.0, 0.01]]),)],
    "run_disabled": [(tf.constant([[1.0, 0.01]]),)],
    "run_iterated": [(tf.constant([[1.0, 2.0]]),)],
    "run_heads": [(tf.constant([[1.0, 2.0]]),)],
    "run_classifier": [(tf.constant([[1.0, 2.0]]), True), (tf.constant([[1.0, 2.0]]), False)],
    "run_train_step": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0, 0.0]]))],
    "run_margin": [(tf.constant([[1.0, -1.0]]), tf.constant([[0.3, 0.2]]))],
    "run_peak": [(tf.constant([[1.0, -1.0]]), tf.constant([[0.3, 0.2]]))],
}


if __name__ == "__main__":
    main()
