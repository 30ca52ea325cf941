"""Arguments of `tf.cond` and TensorArray that TensorFlow rejects while it traces."""
import tensorflow as tf

DIALECT = "tf.function"


@tf.function
def gives_one_branch(x):
    return tf.cond(x > 0, lambda: x)


@tf.function
def gives_other_branch(x):
    return tf.cond(x > 0, false_fn=lambda: x)


@tf.function
def gives_both_branches(x):
    return tf.cond(x > 0, false_fn=lambda: x, true_fn=lambda: -x)


@tf.function
def continues_array_with_shape(x):
    first = tf.TensorArray(tf.float32, 2)
    second = tf.TensorArray(tf.float32, flow=first.flow, element_shape=[])
    return second.write(0, x).read(0)


@tf.function
def continues_array(x):
    first = tf.TensorArray(tf.float32, 2)
    second = tf.TensorArray(tf.float32, flow=first.flow)
    return second.write(0, x).read(0)


KINDS = {
    "gives_one_branch": "cond: cond(): 'false_fn' argument required",
    "gives_other_branch": "cond: cond(): 'true_fn' argument required",
    "gives_both_branches": None,
    "continues_array_with_shape": "tensor_array_ops: Cannot provide both `flow` and `element_shape` argumentsat t",
    "continues_array": None,
}


def main():
    x = tf.constant(1.0)
    print(gives_one_branch(x))
    print(gives_other_branch(x))
    print(gives_both_branches(x))
    print(continues_array_with_shape(x))
    print(continues_array(x))


if __name__ == "__main__":
    main()
