"""break, continue and return, in staged and in unrolled loops."""

import tensorflow as tf


@tf.function
def first_negative(values):
    position = -1
    for i in tf.range(tf.size(values)):
        if values[i] < 0:
            position = i
            break
    return position


@tf.function
def skip_even(n):
    total = 0
    for i in tf.range(n):
        if i % 2 == 0:
            continue
        total += i
    return total


@tf.function
def skip_and_stop(n, verbose):
    total = 0
    for i in tf.range(n):
        if verbose:
            tf.print(i)
        if i == 2:
            continue
        if total > 10:
            break
        total += i
    return total


@tf.function
def stop_while(x):
    steps = tf.constant(0)
    while x > 1.0:
        x = x / 2.0
        steps += 1
        if steps >= 10:
            break
    return x, steps


@tf.function
def unrolled_break(x, names):
    for name in names:
        if name == "stop":
            break
        if x > 0:
            x = x - 1.0
    return x


@tf.function
def unrolled_continue(x, names):
    for name in names:
        if name.startswith("_"):
            continue
        if x > 2.0:
            x = x / 2.0
        else:
            x = x + 1.0
    return x


@tf.function
def both_return(x):
    if x > 0:
        return x
    else:
        return -x


@tf.function
def guard_returns(x, mode):
    if mode is None:
        return x
    if mode == "relu":
        if x > 0:
            return x
        return tf.zeros_like(x)
    return x * 2.0


@tf.function
def chain_of_returns(x):
    if x < 0.0:
        return 0.0
    elif x < 0.5:
        return 2.0 * x * x
    elif x < 1.0:
        return 1.0 - 2.0 * (1.0 - x) ** 2
    else:
        return 1.0


@tf.function
def python_search(x, table):
    for key, value in table:
        if key == "target":
            return x + value
    if x > 0:
        x = -x
    return x


@tf.function
def search_row(m, target):
    row, col = -1, -1
    for i in tf.range(tf.shape(m)[0]):
        for j in tf.range(tf.shape(m)[1]):
            if m[i, j] == target:
                row, col = i, j
                break
        if row >= 0:
            break
    return row, col


@tf.function
def flag_instead_of_break(x, limit):
    running = tf.constant(True)
    count = 0
    while running:
        x = x * 2
        count += 1
        running = x < limit
        if count > 5:
            running = tf.constant(False)
    return count


@tf.function
def counted_flag(x):
    done = False
    steps = 0
    while not done and steps < 4:
        steps += 1
        done = steps == 3
        if x > 0:
            x -= 1
    return x


@tf.function
def return_from_inner(x):
    def limited(v):
        if v > 10:
            return tf.constant(10)
        return v

    for k in range(3):
        x = limited(x + k)
        if k == 1:
            return x
    return x


@tf.function
def while_true_static(x):
    rounds = 0
    while True:
        rounds += 1
        if x % 2 == 0:
            x = x // 2
        if rounds == 3:
            break
    return x


@tf.function
def early_stopping(losses, patience):
    best = tf.constant(1e9)
    wait = 0
    for loss in losses:
        if loss < best:
            best = loss
            wait = 0
        else:
            wait += 1
            if wait >= patience:
                break
    return best


@tf.function
def continue_inside_else(values):
    kept = 0
    for v in values:
        if v > 0:
            kept += 1
        else:
            if v < -5:
                continue
            kept += 10
    return kept


@tf.function
def returns_none(x, log):
    if not log:
        return
    if x > 0:
        tf.print("positive")
    return


def main():
    first_negative(tf.constant([3, 1, -2, 4]))
    skip_even(tf.constant(6))
    skip_and_stop(tf.constant(8), False)
    stop_while(tf.constant(100.0))
    unrolled_break(tf.constant(3.0), ["a", "stop", "b"])
    unrolled_continue(tf.constant(3.0), ["_a", "b", "c"])
    both_return(tf.constant(-3))
    guard_returns(tf.constant(-1.0), "relu")
    guard_returns(tf.constant(-1.0), None)
    chain_of_returns(tf.constant(0.7))
    python_search(tf.constant(1), [("other", 1), ("target", 2)])
    python_search(tf.constant(1), [("other", 1)])
    search_row(tf.constant([[1, 2], [3, 4]]), tf.constant(3))
    flag_instead_of_break(tf.constant(1), tf.constant(10))
    counted_flag(tf.constant(9))
    return_from_inner(tf.constant(9))
    while_true_static(tf.constant(12))
    early_stopping(tf.constant([3.0, 2.0, 2.5, 2.6, 1.0]), 2)
    continue_inside_else(tf.constant([1, -9, -2]))
    returns_none(tf.constant(1), True)
    returns_none(tf.constant(1), False)


EXAMPLES = {
    "first_negative": [(tf.constant([3, 1, -2, 4]),)],
    "skip_even": [(tf.constant(6),)],
    "skip_and_stop": [(tf.constant(8), False)],
    "stop_while": [(tf.constant(100.0),)],
    "unrolled_break": [(tf.constant(3.0), ["a", "stop", "b"])],
    "unrolled_continue": [(tf.constant(3.0), ["_a", "b", "c"])],
    "both_return": [(tf.constant(-3),)],
    "guard_returns": [(tf.constant(-1.0), "relu"), (tf.constant(-1.0), None)],
    "chain_of_returns": [(tf.constant(0.7),)],
    "python_search": [(tf.constant(1), [("other", 1), ("target", 2)]), (tf.constant(1), [("other", 1)])],
    "search_row": [(tf.constant([[1, 2], [3, 4]]), tf.constant(3))],
    "flag_instead_of_break": [(tf.constant(1), tf.constant(10))],
    "counted_flag": [(tf.constant(9),)],
    "return_from_inner": [(tf.constant(9),)],
    "while_true_static": [(tf.constant(12),)],
    "early_stopping": [(tf.constant([3.0, 2.0, 2.5, 2.6, 1.0]), 2)],
    "continue_inside_else": [(tf.constant([1, -9, -2]),)],
    "returns_none": [(tf.constant(1), True), (tf.constant(1), False)],
}


if __name__ == "__main__":
    main()
