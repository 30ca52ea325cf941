"""Training loops with GradientTape, accumulation, clipping and early stopping."""

import tensorflow as tf

RATE = 0.1


def linear(x, w, b):
    y = tf.matmul(x, w)
    if b is not None:
        y = y + b
    return y


def mean_squared(prediction, target, weight=None):
    error = (prediction - target) ** 2
    if weight is not None:
        error = error * weight
    return tf.reduce_mean(error)


weights = tf.Variable([[0.5], [0.5]])
offset = tf.Variable([0.0])
variables = [weights, offset]


@tf.function
def step(x, y, clip_norm):
    with tf.GradientTape() as tape:
        loss = mean_squared(linear(x, weights, offset), y)
    gradients = tape.gradient(loss, variables)
    if clip_norm:
        norm = tf.linalg.global_norm(gradients)
        if norm > clip_norm:
            gradients = [g * (clip_norm / norm) for g in gradients]
    for variable, gradient in zip(variables, gradients):
        if gradient is None:
            continue
        variable.assign_sub(RATE * gradient)
    return loss


@tf.function
def train_until(x, y, tolerance, max_steps):
    loss = tf.constant(1e9)
    steps = 0
    while loss > tolerance and steps < max_steps:
        loss = step(x, y, None)
        steps += 1
    return loss


@tf.function
def train_dataset(dataset, log_every, verbose=True):
    steps = tf.constant(0)
    total = tf.constant(0.0)
    for x, y in dataset:
        loss = step(x, y, 1.0)
        total += loss
        steps += 1
        if verbose and steps % log_every == 0:
            tf.print(steps, loss)
        if tf.math.is_nan(loss):
            break
    return total / tf.cast(steps, tf.float32)


@tf.function
def accumulate(xs, ys, micro_batches):
    totals = [tf.zeros_like(v) for v in variables]
    for k in range(micro_batches):
        with tf.GradientTape() as tape:
            loss = mean_squared(linear(xs[k], weights, offset), ys[k])
        gradients = tape.gradient(loss, variables)
        totals = [t + g for t, g in zip(totals, gradients) if g is not None]
    if micro_batches > 1:
        totals = [t / float(micro_batches) for t in totals]
    return totals


@tf.function
def loss_scaling(x, y, scale):
    with tf.GradientTape() as tape:
        loss = mean_squared(linear(x, weights, None), y) * scale
    gradient = tape.gradient(loss, weights) / scale
    finite = tf.reduce_all(tf.math.is_finite(gradient))
    if finite:
        weights.assign_sub(RATE * gradient)
        scale = scale * 2.0
    else:
        scale = scale / 2.0
    return scale


class Trainer(tf.Module):
    def __init__(self, rate, momentum=None, schedule=None):
        super().__init__()
        self.rate = rate
        self.momentum = momentum
        self.schedule = schedule
        self.w = tf.Variable(2.0)
        self.velocity = tf.Variable(0.0)
        self.iterations = tf.Variable(0)

    def learning_rate(self):
        if self.schedule is None:
            return tf.constant(self.rate)
        return self.schedule(self.iterations)

    def minimise(self, target):
        with tf.GradientTape() as tape:
            loss = (self.w - target) ** 2
        gradient = tape.gradient(loss, self.w)
        update = self.learning_rate() * gradient
        if self.momentum is not None:
            self.velocity.assign(self.momentum * self.velocity + update)
            update = self.velocity.read_value()
        if tf.abs(update) > 1.0:
            update = tf.sign(update)
        self.w.assign_sub(update)
        self.iterations.assign_add(1)
        return loss

    def run(self, target, steps):
        loss = tf.constant(0.0)
        for i in tf.range(steps):
            loss = self.minimise(target)
            if i > 2 and loss < 0.01:
                break
        return loss


def halving(iterations):
    rate = tf.constant(0.2)
    if iterations > 2:
        rate = rate / 2.0
    return rate


@tf.function
def adversarial(x, y, epsilon, steps, targeted=False):
    start = x
    for _ in tf.range(steps):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = mean_squared(linear(x, weights, None), y)
        gradient = tape.gradient(loss, x)
        direction = -1.0 if targeted else 1.0
        x = x + direction * 0.1 * tf.sign(gradient)
        x = tf.clip_by_value(x, start - epsilon, start + epsilon)
        if loss > 10.0:
            break
    return x


@tf.function
def penalty(x, y, l1, l2):
    loss = mean_squared(linear(x, weights, offset), y)
    if l1 > 0:
        loss += l1 * tf.reduce_sum(tf.abs(weights))
    if l2 is not None and l2 > 0:
        loss += l2 * tf.reduce_sum(weights**2)
    return loss


@tf.function
def alternate(x, y, iteration, ratio):
    if iteration % ratio == 0:
        loss = mean_squared(linear(x, weights, offset), y)
    else:
        loss = mean_squared(linear(x, -weights, None), y, weight=0.5)
    return loss


@tf.function
def second_order(x, create_graph):
    with tf.GradientTape(persistent=create_graph) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3 if create_graph else x**2
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    if second is None:
        return first
    return second if second > first else first


def main():
    step(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.5)
    step(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), None)
    train_until(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.1, tf.constant(5))
    train_dataset(tf.data.Dataset.from_tensors((tf.ones([1, 2]), tf.ones([1, 1]))).repeat(3), 2)
    accumulate([tf.ones([1, 2]), tf.ones([1, 2])], [tf.ones([1, 1]), tf.ones([1, 1])], 2)
    loss_scaling(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(8.0))
    tf.function(Trainer(0.1).run)(tf.constant(1.0), tf.constant(6))
    tf.function(Trainer(0.1, 0.9, halving).run)(tf.constant(1.0), tf.constant(6))
    adversarial(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.3, tf.constant(3))
    penalty(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.1, None)
    alternate(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(3), 2)
    second_order(tf.constant(2.0), True)


EXAMPLES = {
    "step": [
        (tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.5),
        (tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), None),
    ],
    "train_until": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.1, tf.constant(5))],
    "train_dataset": [(tf.data.Dataset.from_tensors((tf.ones([1, 2]), tf.ones([1, 1]))).repeat(3), 2)],
    "accumulate": [([tf.ones([1, 2]), tf.ones([1, 2])], [tf.ones([1, 1]), tf.ones([1, 1])], 2)],
    "loss_scaling": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(8.0))],
    "Trainer(0.1).run": [(tf.constant(1.0), tf.constant(6))],
    "Trainer(0.1, 0.9, halving).run": [(tf.constant(1.0), tf.constant(6))],
    "adversarial": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.3, tf.constant(3))],
    "penalty": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), 0.1, None)],
    "alternate": [(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]), tf.constant(3), 2)],
    "second_order": [(tf.constant(2.0), True)],
}


if __name__ == "__main__":
    main()
