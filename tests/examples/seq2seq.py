"""Sequence to sequence with attention: trained with teacher forcing, decoded until every sentence has stopped."""
import tensorflow as tf

START, STOP = 0, 1


class Attention(tf.Module):
    def __init__(self, width, additive=False):
        super().__init__()
        self.additive = additive
        self.query = tf.Variable(tf.random.normal((width, width), stddev=0.2))
        if additive:
            self.score = tf.Variable(tf.random.normal((width,), stddev=0.2))

    def __call__(self, state, memory, mask):
        query = (state @ self.query)[:, None]
        if self.additive:
            scores = tf.reduce_sum(tf.tanh(query + memory) * self.score, -1)
        else:
            scores = tf.reduce_sum(query * memory, -1)
        weights = tf.nn.softmax(tf.where(mask, scores, -1e9))
        return tf.reduce_sum(weights[..., None] * memory, 1)


class Translator(tf.Module):
    def __init__(self, vocabulary, width, additive=False):
        super().__init__()
        self.vocabulary, self.width = vocabulary, width
        self.embedding = tf.Variable(tf.random.normal((vocabulary, width), stddev=0.3))
        self.recur = tf.Variable(tf.random.normal((2 * width, width), stddev=0.3))
        self.attention = Attention(width, additive)
        self.head = tf.Variable(tf.random.normal((2 * width, vocabulary), stddev=0.3))

    def cell(self, token, state):
        return tf.tanh(tf.concat([tf.gather(self.embedding, token), state], -1) @ self.recur)

    def encode(self, source):
        state = tf.zeros((tf.shape(source)[0], self.width))
        memory = tf.TensorArray(tf.float32, size=tf.shape(source)[1])
        for t in tf.range(tf.shape(source)[1]):
            state = self.cell(source[:, t], state)
            memory = memory.write(t, state)
        return tf.transpose(memory.stack(), [1, 0, 2]), state

    def decode_step(self, token, state, memory, mask):
        state = self.cell(token, state)
        context = self.attention(state, memory, mask)
        return tf.concat([state, context], -1) @ self.head, state

    @tf.function
    def loss(self, source, target, forcing=1.0):
        memory, state = self.encode(source)
        token = tf.fill([tf.shape(source)[0]], START)
        total = tf.constant(0.0)
        for t in tf.range(tf.shape(target)[1]):
            logits, state = self.decode_step(token, state, memory, source != STOP)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, t], logits)
            total += tf.reduce_mean(losses)
            if tf.random.uniform(()) < forcing:
                token = target[:, t]
            else:
                token = tf.argmax(logits, -1, output_type=tf.int32)
        return total / tf.cast(tf.shape(target)[1], tf.float32)

    @tf.function
    def translate(self, source, limit=10):
        memory, state = self.encode(source)
        token = tf.fill([tf.shape(source)[0]], START)
        done = tf.zeros_like(token, tf.bool)
        output = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[None])
        t = tf.constant(0)
        while t < limit and not tf.reduce_all(done):
            logits, state = self.decode_step(token, state, memory, source != STOP)
            token = tf.where(done, STOP, tf.argmax(logits, -1, output_type=tf.int32))
            done = done | (token == STOP)
            output = output.write(t, token)
            t += 1
        return tf.transpose(output.stack())


def train(model, source, target, steps, rate):
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = model.loss(source, target, forcing=tf.constant(1.0 if step < steps // 2 else 0.7))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(rate * tf.convert_to_tensor(gradient))
    return loss


def main():
    tf.random.set_seed(2)
    source = tf.random.uniform((8, 5), 2, 10, tf.int32)
    target = tf.concat([source[:, ::-1], tf.fill([8, 1], STOP)], axis=1)
    for additive in (False, True):
        model = Translator(10, 12, additive)
        print("loss", float(train(model, source, target, 20, 0.3)))
        print(model.translate(source[:2]).numpy())


if __name__ == "__main__":
    main()
