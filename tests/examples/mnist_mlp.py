"""An MLP for digits whose training loop runs in the graph, over a tf.data pipeline."""
import tensorflow as tf


class Dense(tf.Module):
    def __init__(self, inputs, outputs, activation=None):
        super().__init__()
        self.w = tf.Variable(tf.random.normal((inputs, outputs), stddev=inputs ** -0.5))
        self.b = tf.Variable(tf.zeros(outputs))
        self.activation = activation

    def __call__(self, x):
        y = x @ self.w + self.b
        return y if self.activation is None else self.activation(y)


class MLP(tf.Module):
    def __init__(self, widths, dropout=0.0):
        super().__init__()
        hidden, classes = widths[:-1], widths[-1]
        self.layers = [Dense(a, b, tf.nn.relu) for a, b in zip(hidden, hidden[1:])]
        self.layers.append(Dense(hidden[-1], classes))
        self.dropout = dropout

    def __call__(self, x, training=False):
        for layer in self.layers[:-1]:
            x = layer(x)
            if training and self.dropout > 0:
                x = tf.nn.dropout(x, self.dropout)
        return self.layers[-1](x)


class Momentum:
    """SGD with momentum; the rate rises linearly during the first `warmup` updates."""

    def __init__(self, rate, momentum=0.9, warmup=5):
        self.rate = rate
        self.momentum = momentum
        self.warmup = warmup
        self.updates = 0
        self.velocity = None

    def build(self, variables):
        self.velocity = [tf.Variable(tf.zeros_like(v)) for v in variables]

    def apply(self, variables, gradients):
        self.updates += 1
        rate = self.rate
        if self.updates < self.warmup:
            rate = self.rate * self.updates / self.warmup
        for variable, velocity, gradient in zip(variables, self.velocity, gradients):
            velocity.assign(self.momentum * velocity + gradient)
            variable.assign_sub(rate * velocity)


@tf.function
def train(model, optimiser, dataset, limit, patience=3):
    best, waited = tf.constant(float("inf")), tf.constant(0)
    step, loss = tf.constant(0), tf.constant(0.0)
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimiser.apply(model.trainable_variables, gradients)
        if loss < best:
            best, waited = loss, 0
        else:
            waited += 1
        step += 1
        if step >= limit or waited > patience:
            break
    return loss, step


@tf.function
def accuracy(model, dataset):
    right, seen = tf.constant(0), tf.constant(0)
    for images, labels in dataset:
        hits = tf.argmax(model(images), -1, output_type=tf.int32) == labels
        right += tf.reduce_sum(tf.cast(hits, tf.int32))
        seen += tf.size(labels)
    return tf.cast(right, tf.float32) / tf.cast(tf.maximum(seen, 1), tf.float32)


def digits(count):
    """Returns noisy prototypes in place of images of digits, and their labels."""
    prototypes = tf.random.normal((10, 64))
    labels = tf.random.uniform((count,), 0, 10, tf.int32)
    return tf.gather(prototypes, labels) + 0.5 * tf.random.normal((count, 64)), labels


def main():
    tf.random.set_seed(0)
    images, labels = digits(512)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(512, seed=0).batch(32)
    model = MLP([64, 32, 10], dropout=0.1)
    optimiser = Momentum(0.1)
    optimiser.build(model.trainable_variables)
    loss, steps = train(model, optimiser, dataset.repeat(4), tf.constant(60))
    print("loss", float(loss), "steps", int(steps), "updates", optimiser.updates)
    print("accuracy", float(accuracy(model, dataset)))


if __name__ == "__main__":
    main()
