"""Programs of several parts: registries, strategies, iterators, caches, layers that are made of functions."""

import abc
import collections
import functools
import types
from typing import Callable, List, Optional, Protocol, Sequence, Union

import numpy as np
import tensorflow as tf

Number = Union[int, float, tf.Tensor]
CLASSES = ("cat", "dog", "bird")
WEIGHTS = np.array([0.2, 0.3, 0.5], dtype=np.float32)
settings = types.SimpleNamespace(clip=True, limit=2.0, names=["a", "b"])


class Loss(Protocol):
    def __call__(self, prediction, target) -> tf.Tensor: ...


class Strategy(abc.ABC):
    name = "base"

    @abc.abstractmethod
    def scale(self, x): ...

    def run(self, x, rounds=1):
        for k in range(rounds):
            y = self.scale(x)
            if y is x:
                break
            if tf.reduce_all(tf.abs(y) < 0.1):
                y = tf.zeros_like(y)
            x = y
        return x


class Halve(Strategy):
    name = "halve"

    def scale(self, x):
        return x / 2.0


class Limit(Strategy):
    name = "limit"

    def __init__(self, limit: Optional[float] = None):
        self.limit = limit

    def scale(self, x):
        if self.limit is None:
            return x
        return tf.where(x > self.limit, self.limit, x)


STRATEGIES = {strategy.name: strategy for strategy in (Halve(), Limit(), Limit(1.0))}


@tf.function
def run_strategy(x, name: str = "halve", rounds: int = 2):
    strategy = STRATEGIES[name]
    x = strategy.run(x, rounds=rounds)
    if isinstance(strategy, Limit) and strategy.limit:
        x = x - strategy.limit
    if x[0] > 0.5:
        x = x * 2.0
    return x


@tf.function
def by_settings(x):
    options = settings
    if options.clip:
        x = tf.clip_by_value(x, -options.limit, options.limit)
    if x > options.limit / 2:
        x = x / 2.0
    for name in options.names:
        x = x + (1.0 if name == "a" else 0.5)
    return x


def squared(prediction, target):
    error = prediction - target
    return tf.reduce_mean(error * error)


def margin(prediction, target, gap: float = 0.5):
    error = tf.abs(prediction - target)
    if gap <= 0:
        raise ValueError("gap")
    if tf.reduce_max(error) < gap:
        return tf.constant(0.0)
    return tf.reduce_mean(error)


@tf.function
def total_loss(prediction, target, losses: Sequence[Loss], weights: Optional[List[float]] = None):
    weights = weights or [1.0] * len(losses)
    total = 0.0
    for weight, loss in zip(weights, losses):
        value = loss(prediction, target)
        if weight == 0.0:
            continue
        if value > 1.0:
            value = tf.sqrt(value)
        total += weight * value
    return total if total < 10.0 else tf.constant(10.0)


@tf.function
def minimum_of(f: Callable[[tf.Tensor], tf.Tensor], low: Number, high: Number, steps: int = 4):
    golden = (5**0.5 - 1) / 2
    for _ in range(steps):
        a = high - golden * (high - low)
        b = low + golden * (high - low)
        if f(a) < f(b):
            high = b
        else:
            low = a
    return (low + high) / 2.0


class Window:
    """The last values, in Python."""

    def __init__(self, size):
        self.size = size
        self.items = []

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, value):
        return any(item is value for item in self.items)

    def __bool__(self):
        return bool(self.items)

    def add(self, value):
        self.items.append(value)
        if len(self.items) > self.size:
            self.items.pop(0)
        return self


@tf.function
def windowed(values, size=2):
    window = Window(size)
    best = tf.constant(-1e9)
    for value in values:
        window.add(value)
        mean = tf.add_n(window.items) / len(window.items)
        if mean > best:
            best = mean
        if value not in window:
            best = best + 1.0
    if window and best < 0.0:
        best = -best
    return best


@tf.function
def vote(logits, classes=CLASSES):
    assert logits.shape[-1] == len(classes)
    scores = tf.unstack(logits * WEIGHTS)
    winner = tf.constant("none")
    top = tf.constant(0.0)
    for name, score in zip(classes, scores):
        if score > top:
            winner, top = tf.constant(name), score
    if top == 0.0 and "bird" in classes:
        winner = tf.constant("bird")
    return winner


@tf.function
def grouped(keys, values):
    groups = collections.defaultdict(list)
    for key, value in zip(keys, values):
        groups[key].append(value)
    result = tf.constant(0.0)
    for key, members in sorted(groups.items()):
        if len(members) > 1:
            total = functools.reduce(lambda a, b: a + b, members)
            result += total if total > 0.0 else -total
        elif key != "skip":
            result += members[0]
    return result


@tf.function
def smooth(x, width=3, mode="same"):
    pad = width // 2 if mode == "same" else 0
    if pad:
        x = tf.pad(x, [[pad, pad]])
    count = tf.shape(x)[0] - width + 1
    sums = tf.TensorArray(tf.float32, size=count)
    position = tf.constant(0)
    while position < count:
        total = tf.constant(0.0)
        for offset in range(width):
            total += x[position + offset]
        if offset > 0 and total > 100.0:
            total = tf.constant(100.0)
        sums = sums.write(position, total / width)
        position += 1
    return sums.stack()


class Annealed:
    def __init__(self, start: float, stop: float, steps: int):
        self.start, self.stop, self.steps = start, stop, steps
        self.step = tf.Variable(0)

    @property
    def fraction(self):
        return tf.cast(self.step, tf.float32) / float(self.steps)

    @property
    def finished(self):
        return self.step >= self.steps

    @tf.function
    def __call__(self, advance=True):
        if self.finished:
            return tf.constant(self.stop)
        value = self.start + (self.stop - self.start) * self.fraction
        if advance:
            self.step.assign_add(1)
        done = not self.start > self.stop
        if done:
            value = value + 0.0
        return value


@tf.function
def parse(lines, strict=False):
    total = tf.constant(0)
    for line in lines:
        parts = tf.strings.split(line, ",")
        if tf.size(parts) < 2:
            if strict:
                total -= 1
            continue
        number = tf.strings.to_number(parts[1], tf.int32)
        is_negative = number < 0
        if not is_negative:
            total += number
    return total


@tf.function
def until(x, *conditions, limit: int = 10):
    steps = tf.constant(0)
    going = tf.constant(True)
    while going:
        x = x * 0.5
        steps += 1
        for condition in conditions:
            going = tf.logical_and(going, not condition(x))
        if steps >= limit:
            going = tf.constant(False)
    return x, steps


annealed = Annealed(1.0, 0.1, 2)


def main():
    run_strategy(tf.constant([2.0, 0.1]))
    run_strategy(tf.constant([2.0, 0.1]), name="limit")
    run_strategy(tf.constant([2.0, 0.1]), "limit", 1)
    by_settings(tf.constant(3.0))
    total_loss(tf.constant([1.0]), tf.constant([2.0]), (squared, margin))
    total_loss(tf.constant([1.0]), tf.constant([2.0]), (margin,), [0.5])
    minimum_of(lambda x: (x - 1.0) * (x - 1.0), tf.constant(0.0), tf.constant(3.0))
    windowed([tf.constant(1.0), tf.constant(3.0), tf.constant(2.0)])
    vote(tf.constant([1.0, 2.0, 3.0]))
    grouped(["a", "b", "a"], [tf.constant(1.0), tf.constant(2.0), tf.constant(-3.0)])
    smooth(tf.constant([1.0, 2.0, 3.0]))
    smooth(tf.constant([1.0, 2.0, 3.0]), width=2, mode="valid")
    annealed()
    annealed(advance=False)
    parse(tf.constant(["a,1", "b", "c,-2"]))
    until(tf.constant(8.0), tf.math.is_nan, lambda x: x < 0.1)


EXAMPLES = {
    "run_strategy": [
        (tf.constant([2.0, 0.1]),),
        {"x": tf.constant([2.0, 0.1]), "name": "limit"},
        (tf.constant([2.0, 0.1]), "limit", 1),
    ],
    "by_settings": [(tf.constant(3.0),)],
    "total_loss": [
        (tf.constant([1.0]), tf.constant([2.0]), (squared, margin)),
        (tf.constant([1.0]), tf.constant([2.0]), (margin,), [0.5]),
    ],
    "minimum_of": [(lambda x: (x - 1.0) * (x - 1.0), tf.constant(0.0), tf.constant(3.0))],
    "windowed": [([tf.constant(1.0), tf.constant(3.0), tf.constant(2.0)],)],
    "vote": [(tf.constant([1.0, 2.0, 3.0]),)],
    "grouped": [(["a", "b", "a"], [tf.constant(1.0), tf.constant(2.0), tf.constant(-3.0)])],
    "smooth": [(tf.constant([1.0, 2.0, 3.0]),), (tf.constant([1.0, 2.0, 3.0]), 2, "valid")],
    "annealed.__call__": [(), (False,)],
    "parse": [(tf.constant(["a,1", "b", "c,-2"]),)],
    "until": [(tf.constant(8.0), tf.math.is_nan, lambda x: x < 0.1)],
}


if __name__ == "__main__":
    main()
