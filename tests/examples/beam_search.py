"""Beam search over a toy translation model, staged with tf.function."""
import tensorflow as tf

START, STOP = 1, 2


class Model(tf.Module):
    """Scores the next token from the last one; a substitute for a trained decoder."""

    def __init__(self, vocabulary, width):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = tf.Variable(tf.random.normal((vocabulary, width)))
        self.project = tf.Variable(tf.random.normal((width, vocabulary)))

    def step(self, tokens, temperature=None):
        logits = tf.gather(self.embedding, tokens) @ self.project
        if temperature is not None:
            logits = logits / temperature
        return tf.nn.log_softmax(logits)


def length_penalty(length, alpha):
    return ((5.0 + tf.cast(length, tf.float32)) / 6.0) ** alpha


def extend(model, tokens, scores, finished, position, width, temperature):
    """Extends all beams by one token. Keeps the best continuations over all beams."""
    log = model.step(tokens[:, position - 1], temperature)
    stay = tf.one_hot([STOP] * width, model.vocabulary, on_value=0.0, off_value=-1e9)
    log = tf.where(finished[:, None], stay, log)
    totals = tf.reshape(scores[:, None] + log, [-1])
    scores, flat = tf.math.top_k(totals, k=width)
    parents, token = flat // model.vocabulary, flat % model.vocabulary
    tokens = tf.gather(tokens, parents)
    column = tf.one_hot(position, tf.shape(tokens)[1], dtype=tf.int32)
    tokens = tokens * (1 - column) + token[:, None] * column
    return tokens, scores, tf.gather(finished, parents) | (token == STOP)


@tf.function
def beam_search(model, width=3, limit=8, alpha=0.6, temperature=None):
    tokens = tf.concat([tf.fill([width, 1], START), tf.zeros([width, limit - 1], tf.int32)], axis=1)
    scores = tf.concat([[0.0], tf.fill([width - 1], -1e9)], axis=0)
    finished = tf.zeros([width], tf.bool)
    length = limit
    for position in range(1, limit):
        tokens, scores, finished = extend(model, tokens, scores, finished, position, width, temperature)
        if tf.reduce_all(finished):
            length = position
            break
    best = tf.argmax(scores / length_penalty(length, alpha))
    return tokens[best], scores[best]


def strip(tokens):
    """Returns the tokens before the first STOP, as a Python list."""
    kept = []
    for token in tokens.numpy().tolist()[1:]:
        if token == STOP:
            break
        kept.append(token)
    return kept


def main():
    tf.random.set_seed(3)
    model = Model(12, 8)
    tokens, score = beam_search(model)
    print(strip(tokens), float(score))
    tokens, score = beam_search(model, width=5, limit=6, temperature=0.5)
    print(strip(tokens), float(score))


if __name__ == "__main__":
    main()
