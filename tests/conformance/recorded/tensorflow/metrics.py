"""Metrics, losses, learning-rate schedules and running statistics."""

import math

import tensorflow as tf


@tf.function
def f_score(true_positive, false_positive, false_negative, beta=1.0):
    precision = tf.math.divide_no_nan(true_positive, true_positive + false_positive)
    recall = tf.math.divide_no_nan(true_positive, true_positive + false_negative)
    if precision + recall == 0.0:
        return 0.0
    b = beta**2 if beta != 1.0 else 1.0
    return (1.0 + b) * precision * recall / (b * precision + recall)


@tf.function
def warmup_cosine(step, base, warmup, total, floor=0.0):
    step = tf.cast(step, tf.float32)
    if warmup > 0 and step < warmup:
        rate = base * step / float(warmup)
    else:
        progress = (step - warmup) / float(total - warmup)
        rate = floor + 0.5 * (base - floor) * (1.0 + tf.cos(math.pi * progress))
    return rate


@tf.function
def piecewise(step, boundaries, values):
    rate = tf.constant(values[-1])
    for boundary, value in zip(reversed(boundaries), reversed(values[:-1])):
        if step < boundary:
            rate = tf.constant(value)
    return rate


class Plateau:
    def __init__(self, rate, patience, mode="min", cooldown=None):
        self.patience = patience
        self.mode = mode
        self.cooldown = cooldown
        self.rate = tf.Variable(rate)
        self.best = tf.Variable(1e9 if mode == "min" else -1e9)
        self.wait = tf.Variable(0)

    def better(self, value):
        return value < self.best if self.mode == "min" else value > self.best

    def update(self, value):
        if self.better(value):
            self.best.assign(value)
            self.wait.assign(0)
        else:
            self.wait.assign_add(1)
            if self.wait >= self.patience:
                self.rate.assign(self.rate * 0.5)
                if self.cooldown:
                    self.wait.assign(-self.cooldown)
                else:
                    self.wait.assign(0)
        return self.rate.read_value()


class Mean(tf.Module):
    def __init__(self, ignore_nan=False):
        super().__init__()
        self.ignore_nan = ignore_nan
        self.total = tf.Variable(0.0)
        self.count = tf.Variable(0.0)

    def update(self, value, weight=None):
        if self.ignore_nan and tf.math.is_nan(value):
            return
        if weight is None:
            weight = 1.0
        self.total.assign_add(value * weight)
        self.count.assign_add(weight)

    def result(self):
        return self.total / self.count if self.count > 0.0 else 0.0

    def over(self, values):
        for v in values:
            self.update(v)
        return self.result()


@tf.function
def focal(probability, label, gamma, alpha=None):
    p = probability if label == 1 else 1.0 - probability
    loss = -tf.math.log(tf.maximum(p, 1e-7))
    if gamma:
        loss = (1.0 - p) ** gamma * loss
    if alpha is not None:
        loss = loss * (alpha if label == 1 else 1.0 - alpha)
    return loss


@tf.function
def reduce_loss(losses, reduction="mean", weights=None):
    if weights is not None:
        losses = losses * weights
    if reduction == "mean":
        return tf.reduce_mean(losses)
    elif reduction == "sum":
        return tf.reduce_sum(losses)
    elif reduction in (None, "none"):
        return losses
    raise ValueError(reduction)


@tf.function
def confusion(labels, predictions, classes):
    matrix = tf.zeros([classes, classes], tf.int32)
    for label, prediction in zip(tf.unstack(labels), tf.unstack(predictions)):
        if label < classes and prediction < classes:
            matrix = tf.tensor_scatter_nd_add(matrix, [[label, prediction]], [1])
    return matrix


@tf.function
def accuracy_at(logits, labels, ks=(1, 2)):
    results = {}
    for k in ks:
        if k > logits.shape[-1]:
            continue
        hits = tf.math.in_top_k(labels, logits, k)
        rate = tf.reduce_mean(tf.cast(hits, tf.float32))
        results[f"top_{k}"] = rate if rate > 0.01 else tf.constant(0.0)
    return results


@tf.function
def welford(values, ddof=0):
    count = 0.0
    mean = 0.0
    squares = 0.0
    for v in values:
        count += 1.0
        delta = v - mean
        mean += delta / count
        squares += delta * (v - mean)
    if ddof and count < 2.0:
        return 0.0
    return squares / (count - ddof)


@tf.function
def triplet(anchor, positive, negative, margin, mining="hard"):
    near = tf.reduce_sum((anchor - positive) ** 2)
    far = tf.reduce_sum((anchor - negative) ** 2)
    if mining == "hard":
        keep = near + margin > far
    elif mining == "semi":
        keep = near < far < near + margin
    else:
        keep = True
    return near - far + margin if keep else tf.constant(0.0)


@tf.function
def annealed_weight(step, start, stop, shape="linear"):
    if start >= stop:
        return tf.constant(1.0)
    fraction = tf.cast(step - start, tf.float32) / float(stop - start)
    if fraction < 0.0:
        fraction = tf.constant(0.0)
    elif fraction > 1.0:
        fraction = tf.constant(1.0)
    if shape == "sigmoid":
        fraction = tf.sigmoid(10.0 * (fraction - 0.5))
    return fraction


def main():
    f_score(tf.constant(3.0), tf.constant(1.0), tf.constant(2.0))
    warmup_cosine(tf.constant(3), 0.1, 10, 100)
    piecewise(tf.constant(3), [2, 5], [1.0, 0.5, 0.1])
    tf.function(Plateau(0.1, 2).update)(tf.constant(3.0))
    tf.function(Plateau(0.1, 2, "max", 3).update)(tf.constant(3.0))
    tf.function(Mean().over)(tf.constant([1.0, 2.0]))
    focal(tf.constant(0.7), 1, 2.0)
    focal(tf.constant(0.7), tf.constant(0), 2.0, 0.25)
    reduce_loss(tf.constant([1.0, 2.0]))
    reduce_loss(tf.constant([1.0, 2.0]), "sum", tf.constant([1.0, 0.0]))
    confusion(tf.constant([0, 1]), tf.constant([1, 1]), 2)
    accuracy_at(tf.constant([[0.1, 0.9]]), tf.constant([1]))
    welford(tf.constant([1.0, 2.0]), 1)
    triplet(tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 0.5)
    triplet(tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 0.5, "all")
    triplet(tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 9.5, "semi")
    annealed_weight(tf.constant(3), 0, 10)


EXAMPLES = {
    "f_score": [(tf.constant(3.0), tf.constant(1.0), tf.constant(2.0))],
    "warmup_cosine": [(tf.constant(3), 0.1, 10, 100)],
    "piecewise": [(tf.constant(3), [2, 5], [1.0, 0.5, 0.1])],
    "Plateau(0.1, 2).update": [(tf.constant(3.0),)],
    "Plateau(0.1, 2, 'max', 3).update": [(tf.constant(3.0),)],
    "Mean().over": [(tf.constant([1.0, 2.0]),)],
    "focal": [(tf.constant(0.7), 1, 2.0), (tf.constant(0.7), tf.constant(0), 2.0, 0.25)],
    "reduce_loss": [(tf.constant([1.0, 2.0]),), (tf.constant([1.0, 2.0]), "sum", tf.constant([1.0, 0.0]))],
    "confusion": [(tf.constant([0, 1]), tf.constant([1, 1]), 2)],
    "accuracy_at": [(tf.constant([[0.1, 0.9]]), tf.constant([1]))],
    "welford": [(tf.constant([1.0, 2.0]), 1)],
    "triplet": [
        (tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 0.5),
        (tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 0.5, "all"),
        (tf.constant([1.0]), tf.constant([2.0]), tf.constant([3.0]), 9.5, "semi"),
    ],
    "annealed_weight": [(tf.constant(3), 0, 10)],
}


if __name__ == "__main__":
    main()
