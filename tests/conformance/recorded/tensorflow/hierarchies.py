"""Classes that inherit: modules, Keras layers and models, metrics, estimators with `super()` and properties."""

import abc

import keras
import tensorflow as tf


class Estimator(tf.Module, abc.ABC):
    warm_start = False

    def __init__(self, width, regularizer=None, name=None):
        super().__init__(name=name)
        self.width = width
        self.regularizer = regularizer
        self.steps = tf.Variable(0, trainable=False)
        self.history = []

    @property
    def regularized(self):
        return self.regularizer is not None

    @property
    def step(self):
        return self.steps

    @abc.abstractmethod
    def predict(self, x):
        ...

    def penalty(self, x):
        if not self.regularized:
            return 0.0
        return self.regularizer * tf.reduce_sum(x * x)

    @tf.function
    def evaluate(self, x, y, sample_weight=None):
        error = tf.reduce_mean(tf.square(self.predict(x) - y))
        if sample_weight is not None:
            error = error * sample_weight
        error += self.penalty(x)
        if self.step > 0 and not self.warm_start:
            error = error / 2.0
        self.steps.assign_add(1)
        return error


class Linear(Estimator):
    def __init__(self, width, bias=True, **kwargs):
        super().__init__(width, **kwargs)
        self.kernel = tf.Variable(tf.ones((width, 1)))
        self.bias = tf.Variable(0.5) if bias else None

    def predict(self, x):
        y = tf.matmul(x, self.kernel)
        if self.bias is not None:
            y = y + self.bias
        return y


class Positive(Linear):
    warm_start = True

    def predict(self, x):
        y = super().predict(x)
        if tf.reduce_min(y) < 0.0:
            y = tf.nn.relu(y)
        return y


class Residual(keras.layers.Layer):
    def __init__(self, inner, scale=1.0, norm=None, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner
        self.scale = scale
        self.norm = norm
        self.supports_masking = True

    def call(self, inputs, mask=None, training=None):
        x = inputs
        if self.norm is not None:
            x = self.norm(x, training=training)
        x = self.inner(x)
        if training is None:
            training = False
        if training:
            x = tf.nn.dropout(x, 0.1)
        if mask is not None:
            x = tf.where(mask[..., None], x, 0.0)
        if x.shape[-1] != inputs.shape[-1]:
            raise ValueError("shapes differ")
        return inputs + self.scale * x if self.scale != 1.0 else inputs + x


class Encoder(keras.Model):
    def __init__(self, depth=2, width=4, tied=False):
        super().__init__()
        if tied:
            block = Residual(keras.layers.Dense(width))
            self.blocks = [block] * depth
        else:
            self.blocks = [Residual(keras.layers.Dense(width), scale=0.5 * (k + 1)) for k in range(depth)]
        self.head = keras.layers.Dense(1)
        self.threshold = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs, training=None, return_all=False):
        if isinstance(inputs, dict):
            x = inputs["x"]
            mask = inputs.get("mask")
        else:
            x, mask = inputs, None
        outputs = []
        for block in self.blocks:
            x = block(x, mask=mask, training=training)
            outputs.append(x)
        y = self.head(x)
        if tf.reduce_max(y) > self.threshold:
            y = y - self.threshold
        if return_all and len(outputs) > 1:
            return y, outputs
        return y


class Streak(keras.metrics.Metric):
    def __init__(self, limit=None, name="streak"):
        super().__init__(name=name)
        self.limit = limit
        self.best = self.add_weight(name="best", initializer="zeros")
        self.current = self.add_weight(name="current", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        for k in tf.range(tf.shape(y_true)[0]):
            if tf.equal(y_true[k], y_pred[k]):
                self.current.assign_add(1.0)
            else:
                self.current.assign(0.0)
            if self.current > self.best:
                self.best.assign(self.current)
        if self.limit and self.best > self.limit:
            self.best.assign(self.limit)

    def result(self):
        return self.best if not self.limit else self.best / self.limit


class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right

    @property
    def leaf(self):
        return self.left is None and self.right is None

    def sum(self):
        if self.leaf:
            return self.value
        total = self.value
        for child in (self.left, self.right):
            if child is not None:
                total = total + child.sum()
        return total

    def deepest(self, depth=0):
        if self.leaf:
            return depth
        return max(child.deepest(depth + 1) for child in (self.left, self.right) if child)


@tf.function
def tree_score(x, tree):
    total = tree.sum() * x
    if tree.deepest() > 1:
        total = total / 2.0
    if total > 10.0:
        total = tf.constant(10.0)
    return total


class Buffer(tf.Module):
    """Keeps the last values that were above the mean."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.values = tf.Variable(tf.zeros(size))
        self.index = tf.Variable(0)

    def __len__(self):
        return self.size

    def __getitem__(self, k):
        return self.values[k]

    @property
    def full(self):
        return self.index >= self.size

    @tf.function
    def push(self, value):
        if self.full:
            self.index.assign(0)
        if len(self) == 1 or value > tf.reduce_mean(self.values):
            self.values.scatter_nd_update([[self.index]], [value])
            self.index.assign_add(1)
        best = self[0]
        for k in range(1, len(self)):
            best = tf.maximum(best, self[k])
        return best if best > 0.0 else -best


class Trainer:
    DEFAULTS = {"clip": None, "accumulate": 1}

    def __init__(self, model, **options):
        self.model = model
        self.options = {**self.DEFAULTS, **options}
        self.clip = self.options["clip"]

    @staticmethod
    def norm(values):
        return tf.sqrt(tf.add_n([tf.reduce_sum(v * v) for v in values]))

    @classmethod
    def clipped(cls, values, limit):
        norm = cls.norm(values)
        if norm > limit:
            return [v * (limit / norm) for v in values]
        return [v * 1.0 for v in values]

    @tf.function
    def train(self, x, y):
        weights = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model.predict(x) - y))
        gradients = tape.gradient(loss, weights)
        if self.clip:
            gradients = self.clipped(gradients, self.clip)
        for gradient, weight in zip(gradients, weights):
            if gradient is None:
                continue
            weight.assign_sub(0.1 * gradient)
        if self.options["accumulate"] > 1 and loss < 1.0:
            loss = loss * self.options["accumulate"]
        return loss


linear = Linear(2, regularizer=0.1)
positive = Positive(2, bias=False)
encoder = Encoder()
tied = Encoder(depth=1, tied=True)
streak = Streak()
limited = Streak(limit=2.0)
tree = Node(1.0, Node(2.0, Node(0.5), None), Node(tf.constant(3.0)))
trainer = Trainer(Linear(2), clip=1.0)
accumulating = Trainer(Linear(2, bias=False), accumulate=2)
buffer = Buffer(3)
X = tf.constant([[1.0, -2.0], [3.0, 4.0]])
WIDE = tf.ones((2, 4))


def main():
    linear.evaluate(X, 1.0)
    linear.evaluate(X, 1.0, sample_weight=tf.constant(0.5))
    positive.evaluate(X, 1.0)
    encoder.call(WIDE)
    encoder.call({"x": WIDE, "mask": tf.constant([True, False])}, training=True)
    tied.call(WIDE, return_all=True)
    streak.update_state(tf.constant([1, 2]), tf.constant([1, 3]))
    limited.update_state(tf.constant([1, 2]), tf.constant([1, 3]))
    streak.result()
    limited.result()
    tree_score(tf.constant(2.0), tree)
    trainer.train(X, 1.0)
    accumulating.train(X, 1.0)
    buffer.push(tf.constant(2.0))


EXAMPLES = {
    "linear.evaluate": [(X, 1.0), (X, 1.0, tf.constant(0.5))],
    "positive.evaluate": [(X, 1.0)],
    "encoder.call": [(WIDE,), ({"x": WIDE, "mask": tf.constant([True, False])}, True)],
    "Residual(keras.layers.Dense(4)).call": [(WIDE, None, True), (WIDE, tf.constant([True, False]))],
    "tied.call": [(WIDE, None, True)],
    "streak.update_state": [(tf.constant([1, 2]), tf.constant([1, 3]))],
    "limited.update_state": [(tf.constant([1, 2]), tf.constant([1, 3]))],
    "streak.result": [()],
    "limited.result": [()],
    "tree_score": [(tf.constant(2.0), tree)],
    "trainer.train": [(X, 1.0)],
    "accumulating.train": [(X, 1.0)],
    "buffer.push": [(tf.constant(2.0),)],
}


if __name__ == "__main__":
    main()
