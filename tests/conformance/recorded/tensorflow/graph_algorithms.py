"""Shortest paths, ranking, clustering, sorting and other classic algorithms on Tensors."""

import tensorflow as tf

INFINITY = 1e9


@tf.function
def bellman_ford(weights, source):
    n = weights.shape[0]
    distance = tf.where(tf.range(n) == source, 0.0, INFINITY)
    for _ in range(n - 1):
        relaxed = tf.reduce_min(distance[:, None] + weights, 0)
        if tf.reduce_all(relaxed >= distance):
            relaxed = distance
        distance = tf.minimum(distance, relaxed)
    return distance


@tf.function
def floyd_warshall(weights):
    n = tf.shape(weights)[0]
    for k in tf.range(n):
        through = weights[:, k][:, None] + weights[k][None, :]
        weights = tf.minimum(weights, through)
    return weights


@tf.function
def page_rank(links, damping=0.85, tolerance=1e-4, max_rounds=None):
    n = links.shape[0]
    rank = tf.fill([n], 1.0 / n)
    change = tf.constant(1.0)
    rounds = 0
    while change > tolerance:
        new = damping * tf.linalg.matvec(links, rank) + (1.0 - damping) / n
        change = tf.reduce_sum(tf.abs(new - rank))
        rank = new
        rounds += 1
        if max_rounds is not None and rounds >= max_rounds:
            break
    return rank


@tf.function
def reachable(adjacency, start):
    seen = tf.one_hot(start, tf.shape(adjacency)[0]) > 0
    grew = tf.constant(True)
    while grew:
        nxt = tf.reduce_any(adjacency & seen[:, None], 0) | seen
        grew = tf.reduce_any(nxt != seen)
        seen = nxt
    return tf.reduce_sum(tf.cast(seen, tf.int32))


@tf.function
def k_means(points, centres, rounds):
    for r in tf.range(rounds):
        nearest = tf.argmin(tf.abs(points[:, None] - centres[None, :]), 1)
        totals = tf.math.unsorted_segment_mean(points, nearest, centres.shape[0])
        shift = tf.reduce_max(tf.abs(totals - centres))
        centres = totals
        if shift < 1e-3 and r > 0:
            break
    return centres


@tf.function
def bubble_sort(values):
    n = tf.size(values)
    for i in tf.range(n):
        for j in tf.range(n - 1 - i):
            if values[j] > values[j + 1]:
                swapped = tf.stack([values[j + 1], values[j]])
                values = tf.tensor_scatter_nd_update(values, tf.stack([[j], [j + 1]]), swapped)
    return values


@tf.function
def binary_search(values, target):
    low = 0
    high = tf.size(values) - 1
    found = -1
    while low <= high and found < 0:
        middle = (low + high) // 2
        if values[middle] == target:
            found = middle
        elif values[middle] < target:
            low = middle + 1
        else:
            high = middle - 1
    return found


@tf.function
def message_passing(features, edges, rounds, aggregate):
    for k in range(rounds):
        sent = tf.gather(features, edges[:, 0])
        if aggregate == "sum":
            received = tf.math.unsorted_segment_sum(sent, edges[:, 1], features.shape[0])
        elif aggregate == "max":
            received = tf.math.unsorted_segment_max(sent, edges[:, 1], features.shape[0])
        else:
            raise ValueError(aggregate)
        features = features + received if k < rounds - 1 else tf.nn.relu(received)
        if tf.reduce_max(features) > 100.0:
            features = features / 100.0
    return features


class Tree:
    def __init__(self, value, children=()):
        self.value = value
        self.children = children

    @property
    def leaf(self):
        return not self.children


def depth(tree):
    # Recursion over a Python structure ends at trace time.
    if tree.leaf:
        return 1
    return 1 + max(depth(child) for child in tree.children)


def fold(tree, x):
    if tree.leaf:
        return x * tree.value
    total = tf.constant(0.0)
    for child in tree.children:
        part = fold(child, x)
        if part > 0:
            total += part
    return total + tree.value


TREE = Tree(1.0, (Tree(2.0), Tree(-3.0, (Tree(4.0),))))


@tf.function
def fold_tree(x):
    y = fold(TREE, x)
    if depth(TREE) > 2 and y > 10.0:
        y = tf.constant(10.0)
    return y


@tf.function
def game_of_life(board, steps, wrap=True):
    for _ in tf.range(steps):
        neighbours = tf.zeros_like(board)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy == 0 and dx == 0:
                    continue
                if wrap:
                    neighbours += tf.roll(board, [dy, dx], [0, 1])
        born = neighbours == 3
        survives = (neighbours == 2) & (board == 1)
        board = tf.cast(born | survives, tf.int32)
        if tf.reduce_sum(board) == 0:
            break
    return board


@tf.function
def mandelbrot(re, im, limit):
    x, y = re, im
    steps = 0
    while x * x + y * y < 4.0 and steps < limit:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        steps += 1
    return steps


@tf.function
def sieve(n):
    prime = tf.ones([n], tf.bool)
    for p in range(2, n):
        if p * p > n:
            break
        multiples = (tf.range(n) % p == 0) & (tf.range(n) > p)
        if prime[p]:
            prime = prime & ~multiples
    return tf.reduce_sum(tf.cast(prime, tf.int32))


@tf.function
def longest_run(values):
    best, length = 0, 0
    previous = values[0]
    for v in values:
        if v >= previous:
            length += 1
        else:
            length = 1
        previous = v
        if length > best:
            best = length
    return best


@tf.function
def matrix_power(m, exponent):
    result = tf.eye(2)
    while exponent > 0:
        if exponent % 2 == 1:
            result = result @ m
        m = m @ m
        exponent = exponent // 2
    return result


@tf.function
def simpson(f_name, low, high, pieces):
    f = tf.sin if f_name == "sin" else tf.exp
    h = (high - low) / float(pieces)
    total = f(low) + f(high)
    for i in range(1, pieces):
        total += (4.0 if i % 2 else 2.0) * f(low + i * h)
    return total * h / 3.0 if high > low else 0.0 * total


@tf.function
def runge_kutta(y, t_end, adaptive):
    t = tf.constant(0.0)
    h = tf.constant(0.25)
    while t < t_end:
        full = y * (1.0 - h)
        half = y * (1.0 - h / 2.0) ** 2
        if adaptive and tf.abs(full - half) > 1e-2:
            h = h / 2.0
        else:
            y = half
            t += h
    return y


def main():
    bellman_ford(tf.constant([[0.0, 1.0], [1.0, 0.0]]), 0)
    floyd_warshall(tf.constant([[0.0, 1.0], [1.0, 0.0]]))
    page_rank(tf.constant([[0.5, 0.5], [0.5, 0.5]]))
    page_rank(tf.constant([[0.5, 0.5], [0.5, 0.5]]), 0.85, 1e-4, 3)
    reachable(tf.constant([[True, True], [False, True]]), 0)
    k_means(tf.constant([0.0, 1.0, 9.0]), tf.constant([0.0, 5.0]), tf.constant(3))
    bubble_sort(tf.constant([3, 1, 2]))
    binary_search(tf.constant([1, 3, 5]), tf.constant(3))
    message_passing(tf.constant([[1.0], [2.0]]), tf.constant([[0, 1], [1, 0]]), 2, "sum")
    fold_tree(tf.constant(2.0))
    game_of_life(tf.constant([[0, 1, 0], [0, 1, 0], [0, 1, 0]]), tf.constant(2))
    mandelbrot(tf.constant(0.1), tf.constant(0.2), 10)
    sieve(20)
    longest_run(tf.constant([1, 2, 1, 3, 4]))
    matrix_power(tf.constant([[1.0, 1.0], [1.0, 0.0]]), 5)
    matrix_power(tf.constant([[1.0, 1.0], [1.0, 0.0]]), tf.constant(5))
    simpson("sin", tf.constant(0.0), tf.constant(1.0), 4)
    runge_kutta(tf.constant(1.0), 1.0, True)


EXAMPLES = {
    "bellman_ford": [(tf.constant([[0.0, 1.0], [1.0, 0.0]]), 0)],
    "floyd_warshall": [(tf.constant([[0.0, 1.0], [1.0, 0.0]]),)],
    "page_rank": [
        (tf.constant([[0.5, 0.5], [0.5, 0.5]]),),
        (tf.constant([[0.5, 0.5], [0.5, 0.5]]), 0.85, 0.0001, 3),
    ],
    "reachable": [(tf.constant([[True, True], [False, True]]), 0)],
    "k_means": [(tf.constant([0.0, 1.0, 9.0]), tf.constant([0.0, 5.0]), tf.constant(3))],
    "bubble_sort": [(tf.constant([3, 1, 2]),)],
    "binary_search": [(tf.constant([1, 3, 5]), tf.constant(3))],
    "message_passing": [(tf.constant([[1.0], [2.0]]), tf.constant([[0, 1], [1, 0]]), 2, "sum")],
    "fold_tree": [(tf.constant(2.0),)],
    "game_of_life": [(tf.constant([[0, 1, 0], [0, 1, 0], [0, 1, 0]]), tf.constant(2))],
    "mandelbrot": [(tf.constant(0.1), tf.constant(0.2), 10)],
    "sieve": [(20,)],
    "longest_run": [(tf.constant([1, 2, 1, 3, 4]),)],
    "matrix_power": [
        (tf.constant([[1.0, 1.0], [1.0, 0.0]]), 5),
        (tf.constant([[1.0, 1.0], [1.0, 0.0]]), tf.constant(5)),
    ],
    "simpson": [("sin", tf.constant(0.0), tf.constant(1.0), 4)],
    "runge_kutta": [(tf.constant(1.0), 1.0, True)],
}


if __name__ == "__main__":
    main()
