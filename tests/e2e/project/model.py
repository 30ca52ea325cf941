"""A training step with one fault that ag-lsp can fix, and one that it can only explain."""

import tensorflow as tf


@tf.function
def clip(gradient: tf.Tensor, limit: float = 1.0, verbose: bool = False):
    if verbose:
        tf.print("clipping at", limit)
    norm = tf.norm(gradient)
    if norm > limit:
        scale = limit / norm
    return gradient * scale


@tf.function
def largest(values: tf.Tensor, count: tf.Tensor):
    if not tf.math.count_nonzero(values):
        return tf.zeros([])
    best = values[0]
    for i in tf.range(count):
        if values[i] > best:
            best = values[i]
    return best
