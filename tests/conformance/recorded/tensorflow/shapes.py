"""Areas and bounds; imports `transforms`, which imports this module."""

import tensorflow as tf
import transforms

UNIT = 1.0


class Box:
    def __init__(self, low, high, closed=True):
        self.low = low
        self.high = high
        self.closed = closed

    def contains(self, x):
        if self.closed:
            return self.low <= x <= self.high
        return self.low < x < self.high

    def width(self):
        if self.high > self.low:
            return self.high - self.low
        return self.low - self.high


def area(width, height, signed):
    if signed:
        return width * height
    a = width * height
    if a < 0:
        a = -a
    return a


def largest(values):
    best = values[0]
    for v in values:
        if v > best:
            best = v
    return best


@tf.function
def moved_area(width, height, offset):
    width = transforms.shift(width, offset)
    if transforms.is_identity(offset):
        return area(width, height, True)
    total = area(width, height, False)
    return total if total < 100.0 else tf.constant(100.0)


@tf.function
def clipped_to_box(x):
    box = Box(0.0, UNIT)
    wide = Box(tf.constant(-2.0), tf.constant(2.0), closed=False)
    if box.contains(x):
        return x
    if wide.contains(x) and box.width() > 0.5:
        x = transforms.reflect(x, box)
    return x


@tf.function
def bounds(points, margin=None):
    top = largest(points)
    if margin is not None:
        top = top + largest(margin)
    return top


def main():
    moved_area(tf.constant(2.0), tf.constant(-3.0), 1.0)
    moved_area(tf.constant(2.0), tf.constant(-3.0), 0.0)
    clipped_to_box(tf.constant(1.5))
    bounds(tf.constant([1.0, 2.0]), [1.0, 3.0, 2.0])


EXAMPLES = {
    "moved_area": [(tf.constant(2.0), tf.constant(-3.0), 1.0), (tf.constant(2.0), tf.constant(-3.0), 0.0)],
    "clipped_to_box": [(tf.constant(1.5),)],
    "bounds": [(tf.constant([1.0, 2.0]), [1.0, 3.0, 2.0])],
}


if __name__ == "__main__":
    main()
