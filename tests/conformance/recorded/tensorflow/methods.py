"""Methods, attributes and inheritance: hyper-parameters and state."""

import tensorflow as tf


class Counter:
    def __init__(self, limit):
        self.limit = limit
        self.count = tf.Variable(0)

    def step(self, x):
        if self.limit > 0 and self.count >= self.limit:
            self.count.assign(0)
        if x > 0:
            self.count.assign_add(1)
        return self.count.read_value()


class ExponentialAverage(tf.Module):
    def __init__(self, decay, debias=True):
        super().__init__()
        self.decay = decay
        self.debias = debias
        self.value = tf.Variable(0.0)
        self.steps = tf.Variable(0)

    def update(self, x):
        if self.steps == 0 and not self.debias:
            self.value.assign(x)
        else:
            self.value.assign(self.decay * self.value + (1.0 - self.decay) * x)
        self.steps.assign_add(1)
        return self.result()

    def result(self):
        average = self.value.read_value()
        if self.debias:
            correction = 1.0 - self.decay ** tf.cast(self.steps, tf.float32)
            if correction > 0.0:
                average = average / correction
        return average


class Dense(tf.Module):
    def __init__(self, units, activation=None, use_bias=True):
        super().__init__()
        self.units = units
        self.activation = activation
        self.use_bias = use_bias
        self.w = None
        self.b = None

    def __call__(self, x):
        if self.w is None:
            self.w = tf.Variable(tf.ones([x.shape[-1], self.units]))
            if self.use_bias:
                self.b = tf.Variable(tf.zeros([self.units]))
        y = x @ self.w
        if self.b is not None:
            y = y + self.b
        if self.activation:
            y = self.activation(y)
        return y


class GatedDense(Dense):
    def __init__(self, units, threshold):
        super().__init__(units, activation=tf.nn.relu)
        self.threshold = threshold

    def __call__(self, x):
        y = super().__call__(x)
        if tf.reduce_mean(y) > self.threshold:
            y = y / 2.0
        if self.units == 1:
            y = tf.squeeze(y, -1)
        return y


class Accumulator:
    def __init__(self):
        self.total = tf.constant(0.0)
        self.best = tf.constant(-1.0)

    def run(self, values):
        for v in values:
            self.total += v
            if v > self.best:
                self.best = v
        return self.total, self.best


class Clipper:
    MODES = ("norm", "value", "off")

    def __init__(self, mode, limit):
        if mode not in self.MODES:
            raise ValueError(mode)
        self.mode = mode
        self.limit = limit

    @property
    def active(self):
        return self.mode != "off"

    @property
    def ceiling(self):
        return tf.constant(self.limit)

    def clip(self, g):
        if not self.active:
            return g
        if self.mode == "norm":
            if tf.norm(g) > self.ceiling:
                g = g * (self.ceiling / tf.norm(g))
        else:
            g = tf.clip_by_value(g, -self.limit, self.limit)
        return g

    @staticmethod
    def is_small(g, epsilon=1e-6):
        if tf.reduce_max(tf.abs(g)) < epsilon:
            return 1
        return 0

    @classmethod
    def by_norm(cls, g, limit):
        clipper = cls("norm", limit)
        return clipper.clip(g)


class Pipeline:
    def __init__(self, stages, repeat=1):
        self.stages = stages
        self.repeat = repeat

    def apply(self, x):
        for _ in range(self.repeat):
            for stage in self.stages:
                x = stage(x)
        if self.repeat > 1 and x > 100.0:
            x = tf.constant(100.0)
        return x


def halve(x):
    return x / 2.0 if x > 1.0 else x


class Particle:
    def __init__(self):
        self.position = tf.constant(0.0)
        self.velocity = tf.constant(1.0)
        self.bounces = 0

    def move(self, dt, steps):
        for _ in tf.range(steps):
            self.position += self.velocity * dt
            if self.position > 1.0 or self.position < 0.0:
                self.velocity = -self.velocity
                self.bounces += 1
        return self.position


class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right

    def maximum(self):
        best = self.value
        for child in (self.left, self.right):
            if child is not None:
                other = child.maximum()
                if other > best:
                    best = other
        return best


class Schedule:
    def __init__(self, base, warmup=None):
        self.base = base
        self.warmup = warmup
        self.step = tf.Variable(0)

    @tf.function
    def advance(self):
        self.step.assign_add(1)
        rate = tf.constant(self.base)
        if self.warmup is not None and self.step < self.warmup:
            rate = rate * tf.cast(self.step, tf.float32) / float(self.warmup)
        return rate


warm = Schedule(0.1, 10)
plain = Schedule(0.1)


def main():
    tf.function(Counter(3).step)(tf.constant(1))
    tf.function(Counter(0).step)(tf.constant(1))
    tf.function(ExponentialAverage(0.9).update)(tf.constant(2.0))
    tf.function(ExponentialAverage(0.9, False).update)(tf.constant(2.0))
    tf.function(Dense(2).__call__)(tf.constant([[1.0, 2.0]]))
    tf.function(Dense(2, tf.nn.tanh, False).__call__)(tf.constant([[1.0, 2.0]]))
    tf.function(GatedDense(1, 0.5).__call__)(tf.constant([[1.0, 2.0]]))
    tf.function(Accumulator().run)(tf.constant([1.0, 3.0, 2.0]))
    tf.function(Clipper("norm", 1.0).clip)(tf.constant([3.0, 4.0]))
    tf.function(Clipper("off", 1.0).clip)(tf.constant([3.0, 4.0]))
    tf.function(Clipper.is_small)(tf.constant([3.0, 4.0]))
    tf.function(Clipper.by_norm)(tf.constant([3.0, 4.0]), 1.0)
    tf.function(Pipeline([halve, tf.square], 2).apply)(tf.constant(8.0))
    tf.function(Particle().move)(tf.constant(0.4), tf.constant(5))
    tf.function(Node(tf.constant(1), Node(tf.constant(5)), None).maximum)()
    warm.advance()
    plain.advance()


EXAMPLES = {
    "Counter(3).step": [(tf.constant(1),)],
    "Counter(0).step": [(tf.constant(1),)],
    "ExponentialAverage(0.9).update": [(tf.constant(2.0),)],
    "ExponentialAverage(0.9, False).update": [(tf.constant(2.0),)],
    "Dense(2).__call__": [(tf.constant([[1.0, 2.0]]),)],
    "Dense(2, tf.nn.tanh, False).__call__": [(tf.constant([[1.0, 2.0]]),)],
    "GatedDense(1, 0.5).__call__": [(tf.constant([[1.0, 2.0]]),)],
    "Accumulator().run": [(tf.constant([1.0, 3.0, 2.0]),)],
    "Clipper('norm', 1.0).clip": [(tf.constant([3.0, 4.0]),)],
    "Clipper('off', 1.0).clip": [(tf.constant([3.0, 4.0]),)],
    "Clipper.is_small": [(tf.constant([3.0, 4.0]),)],
    "Clipper.by_norm": [(tf.constant([3.0, 4.0]), 1.0)],
    "Pipeline([halve, tf.square], 2).apply": [(tf.constant(8.0),)],
    "Particle().move": [(tf.constant(0.4), tf.constant(5))],
    "Node(tf.constant(1), Node(tf.constant(5)), None).maximum": [()],
    "warm.advance": [()],
    "plain.advance": [()],
}


if __name__ == "__main__":
    main()
