"""Recurrent networks, decoding and beam search."""

import tensorflow as tf

END = 2


class Cell(tf.Module):
    def __init__(self, units, kind="rnn", peephole=False):
        super().__init__()
        self.units = units
        self.kind = kind
        self.peephole = peephole
        self.w = tf.Variable(0.1 * tf.ones([2 * units, units]))

    def zero_state(self, batch):
        return tf.zeros([batch, self.units])

    def __call__(self, x, state):
        joined = tf.concat([x, state], -1)
        if self.kind == "rnn":
            new = tf.tanh(joined @ self.w)
        elif self.kind == "gru":
            gate = tf.sigmoid(joined @ self.w)
            new = gate * state + (1.0 - gate) * tf.tanh(joined @ self.w)
        else:
            raise ValueError(self.kind)
        if self.peephole:
            new = new + state
        return new, new


simple = Cell(2)
gated = Cell(2, kind="gru", peephole=True)


def unroll(cell, inputs, state, lengths):
    steps = tf.shape(inputs)[1]
    outputs = tf.TensorArray(tf.float32, size=steps)
    for t in tf.range(steps):
        output, new = cell(inputs[:, t], state)
        if lengths is None:
            state = new
        else:
            state = tf.where(t < lengths[:, None], new, state)
        outputs = outputs.write(t, output)
    return outputs.stack(), state


@tf.function
def dynamic_rnn(inputs, lengths):
    state = simple.zero_state(inputs.shape[0])
    outputs, state = unroll(simple, inputs, state, lengths)
    return tf.transpose(outputs, [1, 0, 2]), state


@tf.function
def static_rnn(inputs, reverse):
    state = gated.zero_state(1)
    steps = inputs.shape[1]
    order = range(steps - 1, -1, -1) if reverse else range(steps)
    for t in order:
        output, state = gated(inputs[:, t], state)
        if t == 0 and reverse:
            break
    return state


@tf.function
def bidirectional(inputs, merge):
    forward, _ = unroll(simple, inputs, simple.zero_state(1), None)
    backward, _ = unroll(gated, inputs[:, ::-1], gated.zero_state(1), None)
    if merge == "concat":
        return tf.concat([forward, backward], -1)
    if merge == "sum":
        return forward + backward
    return forward if tf.norm(forward) > tf.norm(backward) else backward


@tf.function
def stacked(x, cells):
    states = [cell.zero_state(1) for cell in cells]
    for index, cell in enumerate(cells):
        x, states[index] = cell(x, states[index])
        if index < len(cells) - 1:
            x = tf.nn.relu(x)
    return x


def next_logits(token, step):
    logits = tf.one_hot((token + step) % 4, 4)
    if step > 3:
        logits = tf.one_hot(END, 4)
    return logits


@tf.function
def greedy(start, max_length, temperature=0.0):
    token = start
    tokens = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    for step in tf.range(max_length):
        logits = next_logits(token, step)
        if temperature > 0.0:
            logits = logits / temperature
        token = tf.argmax(logits, output_type=tf.int32)
        tokens = tokens.write(step, token)
        if token == END:
            break
    return tokens.stack()


@tf.function
def beam_search(start, width, max_length, penalty=None):
    tokens = tf.fill([width], start)
    scores = tf.concat([[0.0], tf.fill([width - 1], -1e9)], 0)
    finished = tf.zeros([width], tf.bool)
    step = 0
    while step < max_length and not tf.reduce_all(finished):
        logits = tf.one_hot((tokens + step) % 4, 4)
        candidates = scores[:, None] + tf.nn.log_softmax(logits)
        if penalty is not None:
            candidates = candidates / penalty
        scores, flat = tf.math.top_k(tf.reshape(candidates, [-1]), width)
        tokens = flat % 4
        finished = tokens == END
        step += 1
    if penalty is not None and penalty > 1.0:
        scores = scores * penalty
    return tokens, scores


@tf.function
def pure_python_beam(log_probabilities, width):
    beams = [(tf.constant(0.0), [])]
    for row in log_probabilities:
        grown = []
        for score, path in beams:
            for index, value in enumerate(row):
                grown.append((score + value, path + [index]))
        beams = grown[:width]
        if len(beams) == 1 and len(grown) > 4:
            break
    best = beams[0][0]
    for score, _ in beams:
        if score > best:
            best = score
    return best


@tf.function
def teacher_forcing(targets, ratio, training):
    token = targets[0]
    loss = 0
    for t in tf.range(1, tf.shape(targets)[0]):
        logits = next_logits(token, t)
        predicted = tf.argmax(logits, output_type=tf.int32)
        if predicted != targets[t]:
            loss += 1
        use_target = tf.random.stateless_uniform([], [0, 1]) < ratio
        token = targets[t] if training and use_target else predicted
    return loss


@tf.function
def edit_distance(a, b):
    row = tf.range(tf.size(b) + 1)
    for i in tf.range(tf.size(a)):
        previous = row
        values = tf.TensorArray(tf.int32, tf.size(b) + 1, clear_after_read=False)
        values = values.write(0, i + 1)
        for j in tf.range(tf.size(b)):
            cost = 0 if a[i] == b[j] else 1
            best = tf.minimum(previous[j] + cost, previous[j + 1] + 1)
            if values.read(j) + 1 < best:
                best = values.read(j) + 1
            values = values.write(j + 1, best)
        row = tf.ensure_shape(values.stack(), previous.shape)
    return row[-1]


@tf.function
def attend(query, keys, mask=None, causal=False):
    scores = tf.matmul(query, keys, transpose_b=True)
    if mask is not None:
        scores = scores + (1.0 - mask) * -1e9
    if causal:
        scores = scores + tf.linalg.band_part(tf.ones_like(scores), -1, 0)
    weights = tf.nn.softmax(scores)
    if tf.reduce_max(weights) > 0.99:
        weights = tf.ones_like(weights)
    return weights


def main():
    dynamic_rnn(tf.ones([2, 3, 2]), tf.constant([1, 3]))
    dynamic_rnn(tf.ones([2, 3, 2]), None)
    static_rnn(tf.ones([1, 3, 2]), True)
    bidirectional(tf.ones([1, 3, 2]), "larger")
    bidirectional(tf.ones([1, 3, 2]), "sum")
    stacked(tf.ones([1, 2]), (simple, gated))
    greedy(tf.constant(0), tf.constant(6))
    beam_search(tf.constant(0), 2, tf.constant(5))
    beam_search(tf.constant(0), 2, tf.constant(5), 1.1)
    pure_python_beam([[tf.constant(-0.1), tf.constant(-2.0)], [tf.constant(-1.0), tf.constant(-3.0)]], 2)
    teacher_forcing(tf.constant([0, 1, 3, 2]), 0.5, True)
    edit_distance(tf.constant([1, 2, 3]), tf.constant([1, 3]))
    attend(tf.ones([2, 2]), tf.ones([2, 2]), tf.ones([2, 2]))


EXAMPLES = {
    "dynamic_rnn": [(tf.ones([2, 3, 2]), tf.constant([1, 3])), (tf.ones([2, 3, 2]), None)],
    "static_rnn": [(tf.ones([1, 3, 2]), True)],
    "bidirectional": [(tf.ones([1, 3, 2]), "larger"), (tf.ones([1, 3, 2]), "sum")],
    "stacked": [(tf.ones([1, 2]), (simple, gated))],
    "greedy": [(tf.constant(0), tf.constant(6))],
    "beam_search": [(tf.constant(0), 2, tf.constant(5)), (tf.constant(0), 2, tf.constant(5), 1.1)],
    "pure_python_beam": [
        ([[tf.constant(-0.1), tf.constant(-2.0)], [tf.constant(-1.0), tf.constant(-3.0)]], 2),
    ],
    "teacher_forcing": [(tf.constant([0, 1, 3, 2]), 0.5, True)],
    "edit_distance": [(tf.constant([1, 2, 3]), tf.constant([1, 3]))],
    "attend": [(tf.ones([2, 2]), tf.ones([2, 2]), tf.ones([2, 2]))],
}


if __name__ == "__main__":
    main()
