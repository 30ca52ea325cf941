"""A dynamic RNN: the number of steps, and the length of each sequence, are known only at run time."""
import tensorflow as tf


class GRUCell(tf.Module):
    def __init__(self, inputs, width, name=None):
        super().__init__(name=name)
        self.width = width
        self.gates = tf.Variable(tf.random.normal((inputs + width, 2 * width), stddev=0.1))
        self.candidate = tf.Variable(tf.random.normal((inputs + width, width), stddev=0.1))

    def __call__(self, x, state):
        update, reset = tf.split(tf.sigmoid(tf.concat([x, state], -1) @ self.gates), 2, axis=-1)
        proposal = tf.tanh(tf.concat([x, reset * state], -1) @ self.candidate)
        return update * state + (1 - update) * proposal


def dynamic_rnn(cell, sequence, lengths=None, initial=None, time_major=False):
    """Returns the outputs of all steps and the last state of each sequence."""
    if not time_major:
        sequence = tf.transpose(sequence, [1, 0, 2])
    steps, batch = tf.shape(sequence)[0], tf.shape(sequence)[1]
    state = tf.zeros((batch, cell.width)) if initial is None else initial
    outputs = tf.TensorArray(tf.float32, size=steps)
    longest = steps
    if lengths is not None:
        longest = tf.reduce_max(lengths)
    for t in tf.range(steps):
        if t < longest:
            new = cell(sequence[t], state)
            if lengths is not None:
                running = tf.expand_dims(t < lengths, -1)
                new = tf.where(running, new, state)
            state = new
        outputs = outputs.write(t, state)
    result = outputs.stack()
    if not time_major:
        result = tf.transpose(result, [1, 0, 2])
    return result, state


class Classifier(tf.Module):
    def __init__(self, inputs, width, classes):
        super().__init__()
        self.cell = GRUCell(inputs, width)
        self.head = tf.Variable(tf.random.normal((width, classes), stddev=0.1))

    @tf.function
    def logits(self, sequence, lengths):
        _, state = dynamic_rnn(self.cell, sequence, lengths)
        return state @ self.head

    @tf.function
    def train_step(self, sequence, lengths, labels, rate=0.5):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.logits(sequence, lengths))
            loss = tf.reduce_mean(losses)
        for variable, gradient in zip(self.trainable_variables, tape.gradient(loss, self.trainable_variables)):
            if gradient is not None:
                variable.assign_sub(rate * gradient)
        return loss


def main():
    tf.random.set_seed(0)
    model = Classifier(3, 8, 2)
    sequence = tf.random.normal((6, 5, 3))
    lengths = tf.constant([5, 2, 3, 5, 1, 4])
    labels = tf.cast(tf.reduce_sum(sequence[:, 0], -1) > 0, tf.int32)
    for _ in range(20):
        loss = model.train_step(sequence, lengths, labels)
    print("loss", float(loss))
    unrolled = tf.function(dynamic_rnn)
    print(unrolled(model.cell, tf.transpose(sequence, [1, 0, 2]), time_major=True)[0].shape)


if __name__ == "__main__":
    main()
