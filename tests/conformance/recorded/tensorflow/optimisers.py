"""L-BFGS, line searches, MAML, evolution and constrained minimisation."""

import tensorflow as tf


def quadratic(x):
    return tf.reduce_sum((x - tf.constant([1.0, -2.0])) ** 2)


def value_and_gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


@tf.function
def backtracking(x, direction, shrink=0.5, max_halvings=10):
    value, gradient = value_and_gradient(quadratic, x)
    slope = tf.reduce_sum(gradient * direction)
    t = tf.constant(1.0)
    tries = 0
    while tries < max_halvings and quadratic(x + t * direction) > value + 1e-4 * t * slope:
        t = t * shrink
        tries += 1
    return t


@tf.function
def gradient_descent(x, rate, tolerance, max_steps):
    steps = 0
    converged = tf.constant(False)
    while not converged and steps < max_steps:
        _, gradient = value_and_gradient(quadratic, x)
        x = x - rate * gradient
        steps += 1
        converged = tf.norm(gradient) < tolerance
    return x, steps


def two_loop(gradient, s_list, y_list):
    q = gradient
    alphas = []
    for s, y in zip(reversed(s_list), reversed(y_list)):
        alpha = tf.reduce_sum(s * q) / tf.reduce_sum(s * y)
        q = q - alpha * y
        alphas.append(alpha)
    if s_list:
        q = q * tf.reduce_sum(s_list[-1] * y_list[-1]) / tf.reduce_sum(y_list[-1] ** 2)
    for s, y, alpha in zip(s_list, y_list, reversed(alphas)):
        beta = tf.reduce_sum(y * q) / tf.reduce_sum(s * y)
        q = q + s * (alpha - beta)
    return -q


@tf.function
def lbfgs_unrolled(x, steps, memory):
    s_list, y_list = [], []
    value, gradient = value_and_gradient(quadratic, x)
    for _ in range(steps):
        direction = two_loop(gradient, s_list, y_list)
        step = 0.3 * direction
        x = x + step
        value, new_gradient = value_and_gradient(quadratic, x)
        s_list.append(step)
        y_list.append(new_gradient - gradient)
        gradient = new_gradient
        if len(s_list) > memory:
            s_list.pop(0)
            y_list.pop(0)
    return value if value > 1e-6 else tf.constant(0.0)


@tf.function
def lbfgs_staged(x, memory, tolerance):
    s = tf.zeros([memory, 2])
    y = tf.zeros([memory, 2])
    _, gradient = value_and_gradient(quadratic, x)
    k = 0
    while tf.norm(gradient) > tolerance and k < 20:
        q = gradient
        for j in tf.range(tf.minimum(k, memory)):
            denominator = tf.reduce_sum(s[j] * y[j])
            if tf.abs(denominator) > 1e-8:
                q = q - s[j] * (tf.reduce_sum(y[j] * q) / denominator) * 0.1
        step = -0.3 * q
        _, new = value_and_gradient(quadratic, x + step)
        slot = [[k % memory]]
        s = tf.tensor_scatter_nd_update(s, slot, step[None])
        y = tf.tensor_scatter_nd_update(y, slot, (new - gradient)[None])
        x, gradient = x + step, new
        k += 1
    return x


def adapted_loss(w, x, y, inner_steps, first_order):
    for _ in range(inner_steps):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_mean((x * w - y) ** 2)
        gradient = tape.gradient(loss, w)
        if first_order:
            gradient = tf.stop_gradient(gradient)
        w = w - 0.1 * gradient
    return tf.reduce_mean((x * w - y) ** 2)


@tf.function
def maml(w, tasks, inner_steps, first_order=False):
    with tf.GradientTape() as tape:
        tape.watch(w)
        total = tf.constant(0.0)
        for x, y in tasks:
            loss = adapted_loss(w, x, y, inner_steps, first_order)
            if loss > 1.0:
                loss = tf.sqrt(loss)
            total += loss
    gradient = tape.gradient(total, w)
    if gradient is None:
        return w
    return w - 0.05 * gradient


@tf.function
def evolve(population, generations, elite):
    best = tf.constant(1e9)
    for g in tf.range(generations):
        fitness = tf.reduce_sum(population**2, -1)
        order = tf.argsort(fitness)
        parents = tf.gather(population, order[:elite])
        if fitness[order[0]] < best:
            best = fitness[order[0]]
        copies = population.shape[0] // elite
        population = tf.tile(parents, [copies, 1]) * 0.9
        if g > 1 and best < 0.01:
            break
    return best


@tf.function
def projected(x, low=None, high=None):
    _, gradient = value_and_gradient(quadratic, x)
    x = x - 0.1 * gradient
    if low is not None:
        x = tf.maximum(x, low)
    if high is not None:
        x = tf.minimum(x, high)
    if low is not None and high is not None:
        if tf.reduce_any(x == low) or tf.reduce_any(x == high):
            x = tf.clip_by_value(x, low, high)
    return x


@tf.function
def conjugate_gradient(a, b, max_steps=None):
    x = tf.zeros_like(b)
    r = b
    p = b
    steps = 0
    limit = max_steps if max_steps is not None else b.shape[0]
    while steps < limit and tf.norm(r) > 1e-5:
        ap = tf.linalg.matvec(a, p)
        alpha = tf.reduce_sum(r * r) / tf.reduce_sum(p * ap)
        x = x + alpha * p
        new = r - alpha * ap
        p = new + p * (tf.reduce_sum(new * new) / tf.reduce_sum(r * r))
        r = new
        steps += 1
    return x


@tf.function
def golden_section(low, high):
    ratio = 0.618
    for _ in range(8):
        a = high - ratio * (high - low)
        b = low + ratio * (high - low)
        if (a - 1.0) ** 2 < (b - 1.0) ** 2:
            high = b
        else:
            low = a
    return (low + high) / 2.0


@tf.function
def anneal(x, temperature, cooling):
    energy = quadratic(x)
    while temperature > 0.5:
        candidate = x + 0.1 * tf.random.stateless_normal([2], [3, 4])
        change = quadratic(candidate) - energy
        if change < 0.0 or tf.exp(-change / temperature) > 0.5:
            x = candidate
            energy = energy + change
        temperature = temperature * cooling
    return energy


def main():
    backtracking(tf.constant([0.0, 0.0]), tf.constant([8.0, -16.0]))
    gradient_descent(tf.constant([0.0, 0.0]), 0.1, 1e-2, 50)
    lbfgs_unrolled(tf.constant([0.0, 0.0]), 3, 2)
    lbfgs_staged(tf.constant([0.0, 0.0]), 2, 1e-2)
    maml(tf.constant(1.0), [(tf.constant(1.0), tf.constant(2.0)), (tf.constant(2.0), tf.constant(1.0))], 2)
    maml(tf.constant(1.0), [(tf.constant(1.0), tf.constant(2.0))], 1, True)
    evolve(tf.ones([4, 2]), tf.constant(4), 2)
    projected(tf.constant([0.0, 0.0]), -1.0, 1.0)
    projected(tf.constant([0.0, 0.0]), -1.0)
    conjugate_gradient(tf.eye(2), tf.constant([1.0, 2.0]))
    golden_section(tf.constant(0.0), tf.constant(3.0))
    anneal(tf.constant([0.0, 0.0]), tf.constant(2.0), tf.constant(0.7))


EXAMPLES = {
    "backtracking": [(tf.constant([0.0, 0.0]), tf.constant([8.0, -16.0]))],
    "gradient_descent": [(tf.constant([0.0, 0.0]), 0.1, 0.01, 50)],
    "lbfgs_unrolled": [(tf.constant([0.0, 0.0]), 3, 2)],
    "lbfgs_staged": [(tf.constant([0.0, 0.0]), 2, 0.01)],
    "maml": [
        (tf.constant(1.0), [(tf.constant(1.0), tf.constant(2.0)), (tf.constant(2.0), tf.constant(1.0))], 2),
        (tf.constant(1.0), [(tf.constant(1.0), tf.constant(2.0))], 1, True),
    ],
    "evolve": [(tf.ones([4, 2]), tf.constant(4), 2)],
    "projected": [(tf.constant([0.0, 0.0]), -1.0, 1.0), (tf.constant([0.0, 0.0]), -1.0)],
    "conjugate_gradient": [(tf.eye(2), tf.constant([1.0, 2.0]))],
    "golden_section": [(tf.constant(0.0), tf.constant(3.0))],
    "anneal": [(tf.constant([0.0, 0.0]), tf.constant(2.0), tf.constant(0.7))],
}


if __name__ == "__main__":
    main()
