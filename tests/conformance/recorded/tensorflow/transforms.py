"""Shifts and reflections; imports `shapes`, which imports this module."""

import shapes
import tensorflow as tf


def shift(x, offset):
    if offset == 0.0:
        return x
    return x + offset


def is_identity(offset):
    return offset == 0.0


def reflect(x, box):
    if x > box.high:
        return 2.0 * box.high - x
    elif x < box.low:
        return 2.0 * box.low - x
    else:
        return x


@tf.function
def bounce(x, steps):
    box = shapes.Box(0.0, shapes.UNIT)
    for _ in tf.range(steps):
        x = x * 1.5
        if not box.contains(x):
            x = reflect(x, box)
    return x


@tf.function
def shifted_maximum(values, offsets):
    for offset in offsets:
        values = shift(values, offset)
    best = shapes.largest(values)
    if best > 0 and not is_identity(offsets[0]):
        best = -best
    return best


@tf.function
def scaled_area(x, scales):
    areas = [shapes.area(x, s, signed=s < 0) for s in scales if s != 0.0]
    return shapes.largest(areas)


def main():
    bounce(tf.constant(0.5), tf.constant(3))
    shifted_maximum(tf.constant([1.0, 2.0]), [0.0, 2.0])
    scaled_area(tf.constant(2.0), [0.0, 1.0, -1.0])


EXAMPLES = {
    "bounce": [(tf.constant(0.5), tf.constant(3))],
    "shifted_maximum": [(tf.constant([1.0, 2.0]), [0.0, 2.0])],
    "scaled_area": [(tf.constant(2.0), [0.0, 1.0, -1.0])],
}


if __name__ == "__main__":
    main()
