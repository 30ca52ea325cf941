"""L-BFGS with a backtracking line search; the whole minimisation is one graph."""
import tensorflow as tf

HISTORY = 5


def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def logistic(features, labels, penalty=1e-3):
    def loss(w):
        margins = tf.linalg.matvec(features, w) * labels
        return tf.reduce_mean(tf.nn.softplus(-margins)) + penalty * tf.reduce_sum(w ** 2)

    return loss


def value_and_gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = f(x)
    return value, tape.gradient(value, x)


def two_loop(gradient, steps, changes, count):
    """Returns the direction -H g from the last `count` pairs (the newest pair is in row 0)."""
    direction = gradient
    alphas = tf.TensorArray(tf.float32, size=HISTORY)
    for i in tf.range(count):
        rho = 1.0 / tf.tensordot(changes[i], steps[i], 1)
        alpha = rho * tf.tensordot(steps[i], direction, 1)
        direction = direction - alpha * changes[i]
        alphas = alphas.write(i, alpha)
    if count > 0:
        scale = tf.tensordot(steps[0], changes[0], 1) / tf.tensordot(changes[0], changes[0], 1)
        direction = scale * direction
    for i in tf.range(count - 1, -1, -1):
        rho = 1.0 / tf.tensordot(changes[i], steps[i], 1)
        beta = rho * tf.tensordot(changes[i], direction, 1)
        direction = direction + steps[i] * (alphas.read(i) - beta)
    return -direction


def line_search(f, x, value, gradient, direction, sufficient=1e-4):
    rate = tf.constant(1.0)
    slope = tf.tensordot(gradient, direction, 1)
    while f(x + rate * direction) > value + sufficient * rate * slope:
        rate = rate * 0.5
        if rate < 1e-8:
            break
    return rate


@tf.function
def minimise(f, x, limit=60, tolerance=1e-4):
    value, gradient = value_and_gradient(f, x)
    steps = tf.zeros((HISTORY, x.shape[0]))
    changes = tf.zeros((HISTORY, x.shape[0]))
    count, iteration = tf.constant(0), tf.constant(0)
    while iteration < limit and tf.norm(gradient) > tolerance:
        direction = two_loop(gradient, steps, changes, count)
        rate = line_search(f, x, value, gradient, direction)
        step = rate * direction
        new_value, new_gradient = value_and_gradient(f, x + step)
        change = new_gradient - gradient
        if tf.tensordot(step, change, 1) > 1e-10:
            steps = tf.concat([step[None], steps[:-1]], axis=0)
            changes = tf.concat([change[None], changes[:-1]], axis=0)
            count = tf.minimum(count + 1, HISTORY)
        x, value, gradient = x + step, new_value, new_gradient
        iteration += 1
    return x, value, iteration


def main():
    x, value, iterations = minimise(rosenbrock, tf.constant([-1.2, 1.0, 0.5]))
    print("rosenbrock", x.numpy(), float(value), int(iterations))
    tf.random.set_seed(0)
    features = tf.random.normal((40, 4))
    labels = tf.sign(tf.linalg.matvec(features, tf.constant([1.0, -2.0, 0.5, 0.0])))
    w, loss, iterations = minimise(logistic(features, labels), tf.zeros(4), limit=30)
    print("logistic", w.numpy(), float(loss), int(iterations))


if __name__ == "__main__":
    main()
