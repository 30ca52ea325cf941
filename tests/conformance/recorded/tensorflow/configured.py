"""Settings in dataclasses, named tuples, enums, dictionaries and module constants."""

import enum
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

EPSILON = 1e-6
DEBUG = False
SCHEDULE = {"warmup": 2, "decay": 0.5, "floor": tf.constant(0.01)}
GRID = np.linspace(0.0, 1.0, 5)


class Pooling(enum.Enum):
    MEAN = "mean"
    MAX = "max"
    LAST = "last"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@dataclass(frozen=True)
class Clip:
    low: float = -1.0
    high: float = 1.0
    enabled: bool = True
    by: Pooling = Pooling.MEAN

    @property
    def symmetric(self):
        return self.low == -self.high


@dataclass(eq=False)
class Search:
    max_steps: int
    tolerance: float = 1e-3
    weights: Dict[str, float] = field(default_factory=dict)
    trace: Optional[Any] = None

    def done(self, error):
        return error < self.tolerance


class Batch(NamedTuple):
    features: tf.Tensor
    labels: tf.Tensor
    mask: Optional[tf.Tensor] = None


Box = namedtuple("Box", ["top", "left", "scale"])


@tf.function
def clip_by_config(x, config):
    if not config.enabled:
        return x
    if config.symmetric and config.high > 0:
        norm = tf.norm(x)
        if norm > config.high:
            x = x * (config.high / norm)
    elif tf.reduce_max(x) > config.high:
        x = tf.minimum(x, config.high)
    return x


@tf.function
def pool_sequence(sequence, how=Pooling.MEAN):
    if how is Pooling.MEAN:
        pooled = tf.reduce_mean(sequence, axis=0)
    elif how == Pooling.MAX:
        pooled = tf.reduce_max(sequence, axis=0)
    else:
        pooled = sequence[-1]
    return pooled if how in (Pooling.MEAN, Pooling.MAX) else pooled * 2.0


@tf.function
def leveled(x, level):
    rounds = 0
    while rounds < level.value:
        x = x / 2.0
        rounds += 1
    if level >= Level.HIGH or DEBUG:
        x = tf.round(x)
    return x


@tf.function
def masked_error(batch):
    error = batch.features - batch.labels
    if batch.mask is not None:
        error = tf.boolean_mask(error, batch.mask)
    total = tf.reduce_sum(tf.abs(error))
    features, labels, _ = batch
    if tf.reduce_all(tf.equal(features, labels)):
        total = tf.zeros_like(total)
    return total


@tf.function
def search(x, options):
    error = tf.constant(1.0)
    step = tf.constant(0)
    while not options.done(error) and step < options.max_steps:
        error = error * 0.5
        step += 1
    for name, weight in options.weights.items():
        if weight > 0.0:
            x = x + weight
        if name.startswith("bias") and x > 0.0:
            x = x - error
    if options.trace is not None:
        x = x + options.trace
    return x


@tf.function
def boxed(image, box):
    top, left, scale = box
    crop = image[top:, left:]
    if scale != 1.0:
        crop = crop * scale
    if top == 0 and left == 0:
        return crop
    if tf.size(crop) > 4:
        crop = crop[:2]
    return crop


@tf.function
def scheduled(step, rate=0.1):
    if step < SCHEDULE["warmup"]:
        rate = rate * 0.1
    else:
        rate = rate * SCHEDULE["decay"]
    if SCHEDULE["decay"] < 1.0:
        rate = rate + EPSILON
    return rate if rate > SCHEDULE["floor"] else SCHEDULE["floor"]


@tf.function
def histogram(values):
    counts = []
    for low, high in zip(GRID[:-1], GRID[1:]):
        if low >= high:
            continue
        inside = tf.logical_and(values >= low, values < high)
        count = tf.reduce_sum(tf.cast(inside, tf.int32))
        if tf.reduce_any(inside):
            count = count + 1
        counts.append(count)
    return tf.stack(counts)


@tf.function
def read_options(x, options: Dict[str, Any]):
    mode = options.get("mode", "train")
    momentum = options.get("momentum")
    if mode == "train" and momentum is not None:
        x = x * momentum
    if options.get("threshold", 0.0) > 0.0:
        x = tf.maximum(x, options["threshold"])
    for key in sorted(options):
        if key == "mode":
            continue
        x = x + 1.0
    return x


@dataclass
class Rolling:
    window: Tuple[int, ...] = (2, 3)
    total: Any = None

    def push(self, value):
        if self.total is None:
            self.total = value
        else:
            self.total = self.total + value
        return self.total


@tf.function
def rolling_sums(values):
    state = Rolling()
    result = tf.constant(0.0)
    for size in state.window:
        for start in range(0, values.shape[0] - size + 1, size):
            part = tf.reduce_sum(values[start : start + size])
            if state.push(part) > 3.0:
                result = result + part
    return result


def main():
    clip_by_config(tf.constant([3.0, 4.0]), Clip())
    clip_by_config(tf.constant([3.0, 4.0]), Clip(low=0.0, high=2.0))
    clip_by_config(tf.constant([3.0, 4.0]), Clip(enabled=False))
    pool_sequence(tf.ones((3, 2)))
    pool_sequence(tf.ones((3, 2)), how=Pooling.MAX)
    pool_sequence(tf.ones((3, 2)), Pooling.LAST)
    leveled(tf.constant(8.0), Level.LOW)
    leveled(tf.constant(8.0), Level.HIGH)
    masked_error(Batch(tf.constant([1.0, 2.0]), tf.constant([0.0, 2.0])))
    masked_error(Batch(tf.constant([1.0, 2.0]), tf.constant([0.0, 2.0]), tf.constant([True, False])))
    search(tf.constant(1.0), Search(max_steps=5, weights={"bias0": 0.5, "gain": 0.0}))
    search(tf.constant(1.0), Search(max_steps=5, trace=tf.constant(2.0)))
    boxed(tf.ones((4, 4)), Box(0, 0, 1.0))
    boxed(tf.ones((4, 4)), Box(top=1, left=1, scale=0.5))
    scheduled(tf.constant(1))
    scheduled(tf.constant(5), rate=tf.constant(0.5))
    histogram(tf.constant([0.1, 0.3, 0.31, 0.9]))
    read_options(tf.constant(1.0), {"mode": "train", "momentum": 0.9, "threshold": 2.0})
    read_options(tf.constant(1.0), {"mode": "eval"})
    rolling_sums(tf.constant([1.0, 2.0, 3.0, 4.0]))


EXAMPLES = {
    "clip_by_config": [
        (tf.constant([3.0, 4.0]), Clip()),
        (tf.constant([3.0, 4.0]), Clip(low=0.0, high=2.0)),
        (tf.constant([3.0, 4.0]), Clip(enabled=False)),
    ],
    "pool_sequence": [
        (tf.ones((3, 2)),),
        {"sequence": tf.ones((3, 2)), "how": Pooling.MAX},
        (tf.ones((3, 2)), Pooling.LAST),
    ],
    "leveled": [(tf.constant(8.0), Level.LOW), (tf.constant(8.0), Level.HIGH)],
    "masked_error": [
        (Batch(tf.constant([1.0, 2.0]), tf.constant([0.0, 2.0])),),
        (Batch(tf.constant([1.0, 2.0]), tf.constant([0.0, 2.0]), tf.constant([True, False])),),
    ],
    "search": [
        (tf.constant(1.0), Search(max_steps=5, weights={"bias0": 0.5, "gain": 0.0})),
        (tf.constant(1.0), Search(max_steps=5, trace=tf.constant(2.0))),
    ],
    "boxed": [(tf.ones((4, 4)), Box(0, 0, 1.0)), (tf.ones((4, 4)), Box(top=1, left=1, scale=0.5))],
    "scheduled": [(tf.constant(1),), {"step": tf.constant(5), "rate": tf.constant(0.5)}],
    "histogram": [(tf.constant([0.1, 0.3, 0.31, 0.9]),)],
    "read_options": [
        (tf.constant(1.0), {"mode": "train", "momentum": 0.9, "threshold": 2.0}),
        (tf.constant(1.0), {"mode": "eval"}),
    ],
    "rolling_sums": [(tf.constant([1.0, 2.0, 3.0, 4.0]),)],
}


if __name__ == "__main__":
    main()
