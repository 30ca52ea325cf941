"""Names that the branches of a staged `if` must both bind. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def one_branch(x):
    if x > 0:
        y = x * 2
    return y


@tf.function
def elif_without_else(x):
    if x > 10:
        label = 2
    elif x > 0:
        label = 1
    return label


@tf.function
def only_else(x):
    if x > 0:
        x = x - 1
    else:
        scale = 2
    return x * scale


@tf.function
def deleted_in_branch(x):
    y = x + 1
    if x > 0:
        del y
    return y


@tf.function
def default_before(x):
    y = x
    if x > 0:
        y = x * 2
    return y


@tf.function
def local_to_branch(x):
    if x > 0:
        y = x * 2
        x = y + 1
    return x


@tf.function
def python_condition(x, flag):
    if flag:
        y = x * 2
    return y


@tf.function
def missing_return(x):
    if x > 0:
        return x


@tf.function
def return_in_elif_chain(x):
    if x < 0.0:
        return 0.0
    elif x < 1.0:
        return x
    return 1.0


@tf.function
def return_in_nested_if(x, debias):
    if debias:
        if x > 0:
            return x / 2.0
    return x


@tf.function
def return_in_with(x):
    with tf.name_scope("block"):
        if x > 0:
            return x
    return -x


@tf.function
def return_after_if(x):
    if x > 0:
        return x
    return -x


@tf.function
def return_in_all(x):
    if x < 0.0:
        return 0.0
    elif x < 1.0:
        return x
    else:
        return 1.0


@tf.function
def return_under_python_if(x, debias):
    if debias:
        return x / 2.0
    if x > 0:
        return x
    return -x


@tf.function
def none_in_else(x):
    if x > 0:
        y = x
    else:
        y = None
    return y


@tf.function
def none_returned(x):
    if x > 0:
        return x
    return None


@tf.function
def none_kept(x):
    best = None
    if x > 0:
        best = x
    return best


@tf.function
def none_in_ternary(x):
    y = x if x > 0 else None
    return y


@tf.function
def none_under_flag(x, flag):
    y = None
    if flag:
        y = x
    if y is None:
        y = -x
    return y


@tf.function
def none_after_branch(x):
    y = None
    if x > 0:
        y = x
        x = y + 1
    return x


def main():
    one_branch(tf.constant(3))
    elif_without_else(tf.constant(3))
    only_else(tf.constant(3))
    deleted_in_branch(tf.constant(3))
    default_before(tf.constant(3))
    local_to_branch(tf.constant(3))
    python_condition(tf.constant(3), True)
    missing_return(tf.constant(3))
    return_in_elif_chain(tf.constant(3.0))
    return_in_nested_if(tf.constant(3.0), True)
    return_in_with(tf.constant(3.0))
    return_after_if(tf.constant(3))
    return_in_all(tf.constant(3.0))
    return_under_python_if(tf.constant(3.0), True)
    return_under_python_if(tf.constant(3.0), False)
    none_in_else(tf.constant(3))
    none_returned(tf.constant(3))
    none_kept(tf.constant(3))
    none_in_ternary(tf.constant(3))
    none_under_flag(tf.constant(3), False)
    none_after_branch(tf.constant(3))


EXAMPLES = {
    "one_branch": [(tf.constant(3),)],
    "elif_without_else": [(tf.constant(3),)],
    "only_else": [(tf.constant(3),)],
    "deleted_in_branch": [(tf.constant(3),)],
    "default_before": [(tf.constant(3),)],
    "local_to_branch": [(tf.constant(3),)],
    "python_condition": [(tf.constant(3), True)],
    "missing_return": [(tf.constant(3),)],
    "return_in_elif_chain": [(tf.constant(3.0),)],
    "return_in_nested_if": [(tf.constant(3.0), True)],
    "return_in_with": [(tf.constant(3.0),)],
    "return_after_if": [(tf.constant(3),)],
    "return_in_all": [(tf.constant(3.0),)],
    "return_under_python_if": [(tf.constant(3.0), True), (tf.constant(3.0), False)],
    "none_in_else": [(tf.constant(3),)],
    "none_returned": [(tf.constant(3),)],
    "none_kept": [(tf.constant(3),)],
    "none_in_ternary": [(tf.constant(3),)],
    "none_under_flag": [(tf.constant(3), False)],
    "none_after_branch": [(tf.constant(3),)],
}


RULES = {
    "one_branch": "AG101",
    "elif_without_else": "AG101",
    "only_else": "AG101",
    "deleted_in_branch": "AG101",
    "default_before": None,
    "local_to_branch": None,
    "python_condition": None,
    "missing_return": "AG102",
    "return_in_elif_chain": "AG102",
    "return_in_nested_if": "AG102",
    "return_in_with": "AG102",
    "return_after_if": None,
    "return_in_all": None,
    "return_under_python_if": None,
    "none_in_else": "AG103",
    "none_returned": "AG103",
    "none_kept": "AG103",
    "none_in_ternary": "AG103",
    "none_under_flag": None,
    "none_after_branch": None,
}


if __name__ == "__main__":
    main()
