import tensorflow as tf
@tf.function
def f(y, a, b, options, self):
    x = y
    while y > 0:
        if y > 0:
            x = x + (x, x)
        if y > 1:
            x = x + x
    return x
