"""Conditions and loops that TensorFlow cannot stage: a function for each kind of error."""
import tensorflow as tf


@tf.function
def tests_integer(count):
    if count % 2:
        count += 1
    return count


@tf.function
def tests_bool(count):
    if count % 2 == 1:
        count += 1
    return count


@tf.function
def tests_vector():
    mask = tf.constant([1.0, 2.0, 3.0])
    if mask > 0.0:
        mask = -mask
    return mask


@tf.function
def tests_reduced():
    mask = tf.constant([1.0, 2.0, 3.0])
    if tf.reduce_all(mask > 0.0):
        mask = -mask
    return mask


@tf.function
def loses_best(losses):
    best = tf.constant(0.0)
    for loss in losses:
        best = None
    return best


@tf.function
def float_total(values):
    total = 0.0
    for value in values:
        total = total + value
    return total


@tf.function
def none_if_small(x):
    if x > 1.0:
        y = None
    else:
        y = x
    return y


@tf.function
def none_if_large(x):
    if x > 1.0:
        y = x
    else:
        y = None
    return y


@tf.function
def count_or_rate(x):
    if x > 1.0:
        y = 1
    else:
        y = 0.5
    return y


@tf.function
def none_before_loop(steps):
    best = None
    for step in tf.range(steps):
        best = best + step
    return best


@tf.function
def undefined_before_loop(steps):
    for step in tf.range(steps):
        last.append(step)
        last = [step]
    return last


@tf.function
def in_one_branch(x):
    if x > 0.0:
        scale = 2.0
    return x * scale


@tf.function
def in_both_branches(x):
    if x > 0.0:
        scale = 2.0
    else:
        scale = 1.0
    return x * scale


@tf.function
def returns_in_one_branch(x):
    if x > 0.0:
        return x
    tf.print("negative")


@tf.function
def returns_from_loop(values):
    for value in values:
        if value > 1.0:
            return value
    return tf.constant(0.0)


@tf.function
def returns_always(values):
    for value in values:
        return value * 2.0
    return 0.0


@tf.function
def grows(steps):
    row = tf.zeros([1])
    for _ in tf.range(steps):
        row = tf.concat([row, [1.0]], 0)
    return row


@tf.function
def grows_with_invariant(steps):
    row = tf.zeros([1])
    for _ in tf.range(steps):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([None]))])
        row = tf.concat([row, [1.0]], 0)
    return row


@tf.function
def invariant_excludes_start(steps):
    row = tf.zeros([2])
    for _ in tf.range(steps):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([3]))])
        row = row * 2.0
    return row


@tf.function
def invariant_excludes_end(steps):
    row = tf.zeros([2])
    for _ in tf.range(steps):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([2]))])
        row = tf.concat([row, [1.0]], 0)
    return row


@tf.function
def carries_longer_tuple(values):
    kept = ()
    for value in values:
        kept = kept + (value,)
    return kept


@tf.function
def carries_tuple(values):
    pair = (0.0, 0.0)
    for value in values:
        pair = (pair[1], value)
    return pair


@tf.function
def starts_as_python(x):
    error = 1.0
    while error > 0.1:
        x = x * 0.5
        error = tf.reduce_sum(x)
    return x


@tf.function
def starts_as_tensor(x):
    error = tf.constant(1.0)
    while error > 0.1:
        x = x * 0.5
        error = tf.reduce_sum(x)
    return x


@tf.function
def leaves_python_loop(x):
    for _ in range(10):
        if tf.reduce_sum(x) > 3.0:
            break
        x = x + 1.0
    return x


@tf.function
def leaves_staged_loop(x):
    for _ in tf.range(10):
        if tf.reduce_sum(x) > 3.0:
            break
        x = x + 1.0
    return x


@tf.function
def pair_or_one(x):
    if x > 0.0:
        y = (x, x)
    else:
        y = x
    return y


class Counter:
    def __init__(self):
        self.count = 0


@tf.function
def makes_object_in_loop(steps):
    for _ in tf.range(steps):
        counter = Counter()
    return counter.count


@tf.function
def leaves_distributed_loop(data):
    total = tf.constant(0.0)
    for batch in data:
        if total > 10.0:
            break
        total += tf.reduce_sum(batch)
    return total


@tf.function
def cond_on_flag(x):
    return tf.cond(True, lambda: x, lambda: -x)


@tf.function
def cond_on_tensor(x):
    return tf.cond(x > 0.0, lambda: x, lambda: -x)


@tf.function
def cond_on_values(x):
    return tf.cond(x > 0.0, x, -x)


@tf.function
def cond_else_value(x):
    return tf.cond(x > 0.0, lambda: x, -x)


@tf.function
def cond_mixed_dtypes(x):
    return tf.cond(x > 0.0, lambda: tf.constant(1), lambda: tf.constant(0.5))


@tf.function
def switches_on_number(x):
    return tf.switch_case(1, [lambda: x, lambda: -x])


@tf.function
def switches_on_float(x):
    return tf.switch_case(tf.constant(1.0), [lambda: x, lambda: -x])


@tf.function
def switches_on_value(x):
    return tf.switch_case(tf.cast(x, tf.int32), [x, -x])


@tf.function
def switches_nowhere(x):
    return tf.switch_case(tf.cast(x, tf.int32), [])


@tf.function
def switches_on_one(x):
    return tf.switch_case(tf.cast(x, tf.int32), lambda: x)


@tf.function
def switches_with_gap(x):
    return tf.switch_case(tf.cast(x, tf.int32), {0: lambda: x, 2: lambda: -x})


@tf.function
def switches_by_name(x):
    return tf.switch_case(tf.cast(x, tf.int32), {"plus": lambda: x, "minus": lambda: -x})


@tf.function
def switches(x):
    return tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: -x])


@tf.function
def cases_of_numbers(x):
    return tf.case([(x, lambda: x)], default=lambda: -x)


@tf.function
def cases_of_values(x):
    return tf.case([(x > 0.0, x)], default=lambda: -x)


@tf.function
def case_of_function(x):
    return tf.case([lambda: x], default=lambda: -x)


@tf.function
def cases(x):
    return tf.case([(x > 0.0, lambda: x)], default=lambda: -x)


@tf.function
def while_with_value(x):
    return tf.while_loop(x < 10.0, lambda x: (x + 1.0,), (x,))


@tf.function
def while_with_result(x):
    return tf.while_loop(lambda x: x < 10.0, x + 1.0, (x,))


@tf.function
def while_grows(x):
    return tf.while_loop(lambda r: tf.size(r) < 9, lambda r: (tf.concat([r, r], 0),), (tf.zeros([2]),))


@tf.function
def while_changes_dtype(x):
    return tf.while_loop(lambda n: n < 9, lambda n: (tf.cast(n, tf.float32),), (tf.constant(1),))


@tf.function
def while_well(x):
    return tf.while_loop(lambda n: n < 9.0, lambda n: (n + 1.0,), (x,))


@tf.function
def shares_branches(x):
    kept = []

    def doubled():
        kept.append(x * 2.0)
        return kept[0]

    return tf.cond(x > 0.0, doubled, lambda: kept[0])


DIALECT = "tensorflow"

KINDS = {
    "tests_integer": "control_flow: condition of {} expected to be `tf.bool` scalar, got {}; to",
    "tests_bool": None,
    "tests_vector": "control_flow: condition of {} expected to be `tf.bool` scalar, got {}; {}",
    "tests_reduced": None,
    "loses_best": "control_flow: '{}' is None at the end of the iteration.",
    "float_total": None,
    "none_if_small": "control_flow: '{}' is None at the end of the main branch.",
    "none_if_large": "control_flow: '{}' is None at the end of the else branch.",
    "count_or_rate": "control_flow: '{}' has dtype {} in the main branch, but dtype {} in the el",
    "none_before_loop": "control_flow: '{}' is not allowed to be None before the loop",
    "undefined_before_loop": "control_flow: '{}' must be defined before the loop",
    "in_one_branch": "control_flow: '{}' must also be initialized in the {} branch",
    "in_both_branches": None,
    "returns_in_one_branch": "control_flow: the {} branch must also have a return statement.",
    "returns_from_loop": "control_flow: a return statement cannot be placed inside this TensorFlow l",
    "returns_always": None,
    "grows": "control_flow: '{}' has shape {} before the loop, but shape {} after one it",
    "grows_with_invariant": None,
    "invariant_excludes_start": "control_flow: '{}' has shape {} before the loop, which does not conform wi",
    "invariant_excludes_end": "control_flow: '{}' has shape {} after one iteration, which does not confor",
    "carries_longer_tuple": "control_flow: '{}' does not have the same nested structure after one itera",
    "carries_tuple": None,
    "starts_as_python": "control_flow: The condition of while loop started as non-Tensor, then chan",
    "starts_as_tensor": None,
    "leaves_python_loop": "control_flow: break and return statements which depend on a TF condition a",
    "leaves_staged_loop": None,
    "pair_or_one": "control_flow: '{}' must have the same nested structure in the main and els",
    "makes_object_in_loop": "control_flow: Found an unsupported type '{}' while creating placeholder fo",
    "leaves_distributed_loop": "control_flow: break and return statements are not yet supported in for ...",
    "cond_on_flag": "cond_v2: pred must not be a Python bool",
    "cond_on_tensor": None,
    "cond_on_values": "cond: 'true_fn' must be callable.",
    "cond_else_value": "cond: 'false_fn' must be callable.",
    "cond_mixed_dtypes": "cond_v2: {b0_name} and {bn_name} arguments to {op_name} must have the",
    "switches_on_number": "control_flow_switch_case: 'branch_index' must be a Tensor, got {}",
    "switches_on_float": "control_flow_switch_case: 'branch_index' must be an integer Tensor, got {}",
    "switches_on_value": "control_flow_switch_case: Each entry in 'branch_fns' must be a 2-tuple. Received {key_",
    "switches_nowhere": "control_flow_switch_case: Must provide at least one item in 'branch_fns'",
    "switches_on_one": "control_flow_switch_case: 'branch_fns' must be a list, tuple, or dict",
    "switches_with_gap": "control_flow_switch_case: branch indices (keys) must form contiguous range of [0 to {}",
    "switches_by_name": "control_flow_switch_case: key must be a Python `int`, got {}",
    "switches": None,
    "cases_of_numbers": "control_flow_case: pred must be Tensor of type bool: {}",
    "cases_of_values": "control_flow_switch_case: fn for key {} must be callable.",
    "case_of_function": "control_flow_case: Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {p",
    "cases": None,
    "while_with_value": "while_loop: 'cond' must be callable.",
    "while_with_result": "while_loop: 'body' must be callable.",
    "while_grows": "while_v2: Input tensor `{input_t.name}` enters the loop with shape {sh",
    "while_changes_dtype": "while_v2: Loop var {loop_var.name} enters the loop with type {inp.dtyp",
    "while_well": None,
    "shares_branches": "cond_v2: Tensor {tname} in {b0name} is accessed from {b1name}.",
}


def main():
    tests_integer(tf.constant(3))
    tests_bool(tf.constant(3))
    tests_vector()
    tests_reduced()
    loses_best(tf.constant([1.0, 2.0]))
    float_total(tf.constant([1.0, 2.0]))
    none_if_small(tf.constant(1.0))
    none_if_large(tf.constant(1.0))
    count_or_rate(tf.constant(1.0))
    none_before_loop(tf.constant(3))
    undefined_before_loop(tf.constant(3))
    in_one_branch(tf.constant(1.0))
    in_both_branches(tf.constant(1.0))
    returns_in_one_branch(tf.constant(1.0))
    returns_from_loop(tf.constant([1.0, 2.0]))
    returns_always(tf.constant([1.0, 2.0]))
    grows(tf.constant(3))
    grows_with_invariant(tf.constant(3))
    invariant_excludes_start(tf.constant(3))
    invariant_excludes_end(tf.constant(3))
    carries_longer_tuple(tf.constant([1.0, 2.0]))
    carries_tuple(tf.constant([1.0, 2.0]))
    starts_as_python(tf.constant([1.0, 2.0]))
    starts_as_tensor(tf.constant([1.0, 2.0]))
    leaves_python_loop(tf.constant([1.0, 2.0]))
    leaves_staged_loop(tf.constant([1.0, 2.0]))
    pair_or_one(tf.constant(1.0))
    makes_object_in_loop(tf.constant(3))
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices([1.0, 2.0]).batch(1))
    leaves_distributed_loop(data)
    cond_on_flag(tf.constant(1.0))
    cond_on_tensor(tf.constant(1.0))
    cond_on_values(tf.constant(1.0))
    cond_else_value(tf.constant(1.0))
    cond_mixed_dtypes(tf.constant(1.0))
    switches_on_number(tf.constant(1.0))
    switches_on_float(tf.constant(1.0))
    switches_on_value(tf.constant(1.0))
    switches_nowhere(tf.constant(1.0))
    switches_on_one(tf.constant(1.0))
    switches_with_gap(tf.constant(1.0))
    switches_by_name(tf.constant(1.0))
    switches(tf.constant(1.0))
    cases_of_numbers(tf.constant(1.0))
    cases_of_values(tf.constant(1.0))
    case_of_function(tf.constant(1.0))
    cases(tf.constant(1.0))
    while_with_value(tf.constant(1.0))
    while_with_result(tf.constant(1.0))
    while_grows(tf.constant(1.0))
    while_changes_dtype(tf.constant(1.0))
    while_well(tf.constant(1.0))
    shares_branches(tf.constant(1.0))


if __name__ == "__main__":
    main()
