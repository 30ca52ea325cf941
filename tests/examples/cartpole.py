"""REINFORCE on cart-pole; the episode is simulated inside the graph."""
import tensorflow as tf

GRAVITY, FORCE, STEP = 9.8, 10.0, 0.02
GAMMA = 0.98


def reset():
    return tf.random.uniform((4,), -0.05, 0.05)


def dynamics(state, action):
    x, speed, angle, spin = tf.unstack(state)
    force = tf.where(action == 1, FORCE, -FORCE)
    push = (force + 0.05 * spin ** 2 * tf.sin(angle)) / 1.1
    turn = (GRAVITY * tf.sin(angle) - tf.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * tf.cos(angle) ** 2 / 1.1))
    push = push - 0.05 * turn * tf.cos(angle) / 1.1
    state = tf.stack([x + STEP * speed, speed + STEP * push, angle + STEP * spin, spin + STEP * turn])
    fallen = tf.abs(state[0]) > 2.4 or tf.abs(state[2]) > 0.21
    return state, fallen


class Policy(tf.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.w1 = tf.Variable(tf.random.normal((4, hidden), stddev=0.5))
        self.w2 = tf.Variable(tf.random.normal((hidden, 2), stddev=0.1))

    def __call__(self, states):
        return tf.tanh(states @ self.w1) @ self.w2

    def act(self, state, greedy=False):
        logits = self(state[None])
        if greedy:
            return tf.argmax(logits[0], output_type=tf.int32)
        return tf.random.categorical(logits, 1, dtype=tf.int32)[0, 0]


@tf.function
def play(policy, limit):
    """Plays one episode. Returns the states, the actions, and the number of steps."""
    state = reset()
    states = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[4])
    actions = []
    done = False
    t = tf.constant(0)
    while t < limit and not done:
        action = policy.act(state)
        states = states.write(t, state)
        actions.append(action)
        state, done = dynamics(state, action)
        t += 1
    return states.stack(), tf.stack(actions), t


@tf.function
def returns(length):
    values = tf.TensorArray(tf.float32, size=length)
    total = tf.constant(0.0)
    for t in tf.range(length - 1, -1, -1):
        total = 1.0 + GAMMA * total
        values = values.write(t, total)
    result = values.stack()
    if length > 1:
        result = (result - tf.reduce_mean(result)) / (tf.math.reduce_std(result) + 1e-6)
    return result


@tf.function
def learn(policy, states, actions, gains, rate=0.05):
    with tf.GradientTape() as tape:
        log = tf.nn.log_softmax(policy(states))
        loss = -tf.reduce_mean(gains * tf.gather(log, actions, batch_dims=1))
    for variable, gradient in zip(policy.trainable_variables, tape.gradient(loss, policy.trainable_variables)):
        variable.assign_sub(rate * gradient)
    return loss


def main():
    tf.random.set_seed(0)
    policy = Policy()
    for episode in range(30):
        states, actions, length = play(policy, tf.constant(200))
        loss = learn(policy, states, actions, returns(length))
        if episode % 10 == 0:
            print(episode, int(length), float(loss))


if __name__ == "__main__":
    main()
