"""Lists, dicts, tuples, named tuples and dataclasses of Tensors and settings."""

import collections
import dataclasses
import typing

import tensorflow as tf

Point = collections.namedtuple("Point", ["x", "y"])


class State(typing.NamedTuple):
    value: tf.Tensor
    step: tf.Tensor
    name: str = "state"


@dataclasses.dataclass(frozen=True)
class Config:
    units: int = 2
    dropout: float = 0.0
    activation: str = "relu"
    limits: tuple = (0.0, 1.0)
    bias: typing.Optional[float] = None


@dataclasses.dataclass
class Batch:
    inputs: tf.Tensor
    targets: tf.Tensor
    weight: typing.Optional[tf.Tensor] = None


@tf.function
def configured(x, config):
    if config.activation == "relu" and config.units > 1:
        x = tf.nn.relu(x)
    low, high = config.limits
    if config.bias is not None:
        x = x + config.bias
    if x > high:
        x = tf.constant(high)
    if config.dropout > 0.0 and x > low:
        x = x * (1.0 - config.dropout)
    return x


@tf.function
def batch_loss(inputs, targets, weighted):
    batch = Batch(inputs, targets, inputs[0] if weighted else None)
    loss = tf.reduce_mean((batch.inputs - batch.targets) ** 2)
    if batch.weight is not None:
        if batch.weight > 0:
            loss = loss * batch.weight
    return loss


@tf.function
def points(a, b):
    p = Point(a, b)
    q = Point(1, 2)
    if q.x < q.y:
        p = Point(p.y, p.x)
    return p.x if p.x > p.y else p.y


@tf.function
def loop_state(values):
    state = State(tf.constant(0.0), tf.constant(0))
    for v in values:
        if v > state.value:
            state = State(v, state.step + 1)
    return state.value, state.step


@tf.function
def settings(x, options):
    if options["normalize"]:
        x = x / 2.0
    if "clip" in options and x > options["clip"]:
        x = tf.constant(options["clip"])
    for name, amount in options.items():
        if name == "shift":
            x = x + amount
    if options.get("negate", False):
        x = -x
    return x


@tf.function
def features(inputs):
    total = tf.constant(0.0)
    for name, value in inputs.items():
        if name == "weight":
            continue
        if value > 0:
            total += value
    if "weight" in inputs and inputs["weight"] > 0:
        total = total * inputs["weight"]
    return total


@tf.function
def dictionary_state(n):
    state = {"a": 0, "b": 1}
    for i in tf.range(n):
        if i % 2 == 0:
            state = {"a": state["b"], "b": state["a"] + state["b"]}
    return state


@tf.function
def parallel_lists(xs, masks):
    out = []
    for x, mask in zip(xs, masks):
        if mask is None:
            out.append(x)
        elif mask:
            out.append(x if x > 0 else -x)
    if not out:
        return tf.constant(0)
    return tf.add_n(out)


@tf.function
def swap_pair(pair, ascending):
    a, b = pair
    if a > b and ascending:
        a, b = b, a
    return a, b


@tf.function
def starred(values):
    first, *rest = values
    for r in rest:
        if r > first:
            first = r
    if len(rest) >= 2:
        first = first + len(rest)
    return first


@tf.function
def nested_structure(tree):
    total = tf.constant(0.0)
    if isinstance(tree, dict):
        for key in sorted(tree):
            for leaf in tree[key]:
                if leaf > 1.0:
                    total += leaf
    else:
        total += tree
    return total


@tf.function
def flattened(tree):
    leaves = tf.nest.flatten(tree)
    if len(leaves) == 1:
        return leaves[0]
    worst = leaves[0]
    for leaf in leaves[1:]:
        if tf.reduce_max(leaf) > tf.reduce_max(worst):
            worst = leaf
    return worst


@tf.function
def membership(x, allowed):
    if "relu" in allowed:
        x = tf.nn.relu(x)
    if not allowed - {"relu"}:
        x = x + 1.0
    return x


@tf.function
def table_lookup(x, table):
    for threshold, value in table:
        if threshold > 10:
            break
        if x > threshold:
            x = tf.constant(value)
    return x


@tf.function
def ragged_rows(rows):
    longest = tf.constant(0, tf.int64)
    for row in rows:
        size = tf.size(row, out_type=tf.int64)
        if size > longest:
            longest = size
    return longest


@tf.function
def gather_rows(matrix, indices):
    total = 0.0
    for k in indices:
        row = matrix[k]
        if k > 0 and row[0] > 0:
            total += row[0]
    return total


@tf.function
def grouped(x, groups):
    by_group = collections.defaultdict(list)
    for index, group in enumerate(groups):
        by_group[group].append(x[index])
    best = tf.constant(-1.0)
    for group in by_group.values():
        mean = tf.add_n(group) / len(group)
        if mean > best and len(group) > 1:
            best = mean
    return best


def main():
    configured(tf.constant(2.0), Config())
    configured(tf.constant(2.0), Config(dropout=0.5, bias=1.0))
    batch_loss(tf.constant([1.0]), tf.constant([2.0]), True)
    batch_loss(tf.constant([1.0]), tf.constant([2.0]), False)
    points(tf.constant(1), tf.constant(2))
    loop_state(tf.constant([1.0, 3.0, 2.0]))
    settings(tf.constant(4.0), {"normalize": True, "clip": 1.5, "shift": 1.0})
    features({"a": tf.constant(1.0), "b": tf.constant(-1.0), "weight": tf.constant(0.5)})
    dictionary_state(tf.constant(5))
    parallel_lists([tf.constant(1), tf.constant(-2), tf.constant(3)], [None, True, False])
    swap_pair((tf.constant(3), tf.constant(2)), True)
    starred([tf.constant(1), tf.constant(4), tf.constant(2)])
    nested_structure({"w": [tf.constant(1.0), tf.constant(2.0)], "b": [tf.constant(3.0)]})
    flattened({"w": tf.constant([1.0, 5.0]), "b": [tf.constant(3.0)]})
    membership(tf.constant(-1.0), frozenset(["relu"]))
    table_lookup(tf.constant(3.0), [(1, 0.5), (2, 0.7), (11, 1.0)])
    ragged_rows(tf.ragged.constant([[1, 2], [3]]))
    gather_rows(tf.constant([[1.0], [2.0]]), [0, 1])
    grouped(tf.constant([1.0, 2.0, 3.0]), ["a", "b", "a"])


EXAMPLES = {
    "configured": [(tf.constant(2.0), Config()), (tf.constant(2.0), Config(dropout=0.5, bias=1.0))],
    "batch_loss": [
        (tf.constant([1.0]), tf.constant([2.0]), True),
        (tf.constant([1.0]), tf.constant([2.0]), False),
    ],
    "points": [(tf.constant(1), tf.constant(2))],
    "loop_state": [(tf.constant([1.0, 3.0, 2.0]),)],
    "settings": [(tf.constant(4.0), {"normalize": True, "clip": 1.5, "shift": 1.0})],
    "features": [({"a": tf.constant(1.0), "b": tf.constant(-1.0), "weight": tf.constant(0.5)},)],
    "dictionary_state": [(tf.constant(5),)],
    "parallel_lists": [([tf.constant(1), tf.constant(-2), tf.constant(3)], [None, True, False])],
    "swap_pair": [((tf.constant(3), tf.constant(2)), True)],
    "starred": [([tf.constant(1), tf.constant(4), tf.constant(2)],)],
    "nested_structure": [({"w": [tf.constant(1.0), tf.constant(2.0)], "b": [tf.constant(3.0)]},)],
    "flattened": [({"w": tf.constant([1.0, 5.0]), "b": [tf.constant(3.0)]},)],
    "membership": [(tf.constant(-1.0), frozenset(["relu"]))],
    "table_lookup": [(tf.constant(3.0), [(1, 0.5), (2, 0.7), (11, 1.0)])],
    "ragged_rows": [(tf.ragged.constant([[1, 2], [3]]),)],
    "gather_rows": [(tf.constant([[1.0], [2.0]]), [0, 1])],
    "grouped": [(tf.constant([1.0, 2.0, 3.0]), ["a", "b", "a"])],
}


if __name__ == "__main__":
    main()
