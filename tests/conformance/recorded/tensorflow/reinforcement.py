"""Reinforcement learning: a cart and pole, episodes, returns, bandits and grids."""

import tensorflow as tf

GRAVITY = 9.8
LIMIT = 2.4
ANGLE = 0.2


class CartPole:
    def __init__(self, max_steps=50, shaped=False):
        self.max_steps = max_steps
        self.shaped = shaped
        self.position = tf.constant(0.0)
        self.speed = tf.constant(0.0)
        self.angle = tf.constant(0.05)
        self.rotation = tf.constant(0.0)

    def reset(self):
        self.position = tf.constant(0.0)
        self.speed = tf.constant(0.0)
        self.angle = tf.constant(0.05)
        self.rotation = tf.constant(0.0)

    def advance(self, state, action):
        position, speed, angle, rotation = state
        force = 10.0 if action == 1 else -10.0
        acceleration = force / 1.1 - 0.05 * rotation**2 * tf.sin(angle)
        turn = (GRAVITY * tf.sin(angle) - tf.cos(angle) * acceleration) / 0.6
        return (
            position + 0.02 * speed,
            speed + 0.02 * acceleration,
            angle + 0.02 * rotation,
            rotation + 0.02 * turn,
        )

    def failed(self, state):
        position, _, angle, _ = state
        return tf.abs(position) > LIMIT or tf.abs(angle) > ANGLE

    def reward(self, state):
        if self.shaped:
            return 1.0 - tf.abs(state[2])
        return tf.constant(1.0)

    def play(self, policy):
        self.reset()
        state = (self.position, self.speed, self.angle, self.rotation)
        total = tf.constant(0.0)
        steps = 0
        while steps < self.max_steps and not self.failed(state):
            action = policy(state)
            state = self.advance(state, action)
            total += self.reward(state)
            steps += 1
            if total > 40.0:
                break
        return total, steps


def lean(state):
    if state[2] > 0.0:
        return 1
    else:
        return 0


def steady(state):
    return 1


@tf.function
def play_lean():
    return CartPole(tf.constant(30)).play(lean)


@tf.function
def play_steady(shaped):
    return CartPole(20, shaped).play(steady)


@tf.function
def discounted(rewards, gamma, normalise):
    returns = tf.TensorArray(tf.float32, size=tf.size(rewards))
    running = tf.constant(0.0)
    for i in tf.range(tf.size(rewards) - 1, -1, -1):
        running = rewards[i] + gamma * running
        returns = returns.write(i, running)
    stacked = returns.stack()
    if normalise:
        deviation = tf.math.reduce_std(stacked)
        if deviation > 1e-6:
            stacked = (stacked - tf.reduce_mean(stacked)) / deviation
    return stacked


@tf.function
def advantages(rewards, values, gamma=0.9, lam=None):
    out = []
    running = tf.constant(0.0)
    for reward, value in zip(reversed(rewards), reversed(values)):
        delta = reward - value
        if lam is None:
            running = delta
        else:
            running = delta + gamma * lam * running
        out.append(running)
    out.reverse()
    return tf.stack(out)


@tf.function
def epsilon_greedy(values, epsilon, draw):
    if draw < epsilon:
        action = tf.constant(0, tf.int64)
    else:
        action = tf.argmax(values)
    return action


@tf.function
def bandit(means, steps, epsilon):
    estimates = tf.zeros_like(means)
    counts = tf.zeros_like(means)
    total = 0.0
    for t in tf.range(steps):
        draw = tf.random.stateless_uniform([], tf.stack([t, 7]))
        arm = epsilon_greedy(estimates, epsilon, draw)
        hot = tf.one_hot(arm, means.shape[0])
        counts += hot
        estimates += hot * (means - estimates) / tf.maximum(counts, 1.0)
        if t > 2:
            total += tf.reduce_sum(hot * means)
    return total


@tf.function
def value_iteration(rewards, gamma, tolerance):
    values = tf.zeros_like(rewards)
    change = tf.constant(1.0)
    sweeps = 0
    while change > tolerance:
        left = tf.roll(values, 1, 0)
        right = tf.roll(values, -1, 0)
        new = rewards + gamma * tf.maximum(left, right)
        change = tf.reduce_max(tf.abs(new - values))
        values = new
        sweeps += 1
        if sweeps >= 50:
            break
    return values


@tf.function
def q_update(q, state, action, reward, following, terminal, double=False):
    target = reward
    if not terminal:
        best = tf.reduce_max(q[following])
        if double:
            best = tf.minimum(best, tf.reduce_mean(q[following]))
        target = reward + 0.9 * best
    error = target - q[state, action]
    if tf.abs(error) > 1.0:
        error = tf.sign(error)
    return tf.tensor_scatter_nd_add(q, [[state, action]], [0.5 * error])


@tf.function
def clipped_objective(ratio, advantage, clip, entropy=None):
    low, high = 1.0 - clip, 1.0 + clip
    if ratio < low:
        ratio = tf.constant(low)
    elif ratio > high:
        ratio = tf.constant(high)
    loss = -ratio * advantage
    if entropy is not None:
        loss -= 0.01 * entropy
    return loss


class Replay:
    def __init__(self, capacity, prioritised=False):
        self.capacity = capacity
        self.prioritised = prioritised
        self.items = tf.Variable(tf.zeros([capacity]))
        self.size = tf.Variable(0)
        self.position = tf.Variable(0)

    def add(self, item):
        self.items.scatter_nd_update([[self.position]], [item])
        self.position.assign((self.position + 1) % self.capacity)
        if self.size < self.capacity:
            self.size.assign_add(1)
        return self.size.read_value()

    def sample(self, number):
        if self.prioritised:
            weights = tf.abs(self.items[: self.size])
            return tf.math.top_k(weights, number).values
        if self.size == 0:
            return tf.zeros([number])
        else:
            return self.items[:number]


@tf.function
def walk(grid, start, moves):
    row, col = start
    score = 0
    for move in moves:
        if move == "up":
            row = row - 1
        elif move == "down":
            row = row + 1
        elif move in ("left", "right"):
            col = col + (1 if move == "right" else -1)
        if row < 0 or row >= 2 or col < 0 or col >= 2:
            row, col = tf.constant(0), tf.constant(0)
        score += grid[row, col]
    return score


def main():
    play_lean()
    play_steady(True)
    play_steady(False)
    discounted(tf.constant([1.0, 0.0, 2.0]), 0.9, True)
    advantages([tf.constant(1.0), tf.constant(2.0)], [tf.constant(1.0), tf.constant(1.0)])
    advantages([tf.constant(1.0), tf.constant(2.0)], [tf.constant(1.0), tf.constant(1.0)], 0.9, 0.8)
    bandit(tf.constant([0.1, 0.5]), tf.constant(6), 0.2)
    value_iteration(tf.constant([0.0, 0.0, 1.0]), 0.5, 1e-3)
    q_update(
        tf.zeros([2, 2]), tf.constant(0), tf.constant(1), tf.constant(2.0), tf.constant(1), tf.constant(False)
    )
    q_update(tf.zeros([2, 2]), tf.constant(0), tf.constant(1), tf.constant(2.0), tf.constant(1), False, True)
    clipped_objective(tf.constant(1.5), tf.constant(1.0), 0.2)
    tf.function(Replay(3).add)(tf.constant(1.0))
    tf.function(Replay(3).sample)(2)
    tf.function(Replay(3, True).sample)(0)
    walk(tf.constant([[1, 2], [3, 4]]), (tf.constant(0), tf.constant(0)), ["down", "right", "right"])


EXAMPLES = {
    "play_lean": [()],
    "play_steady": [(True,), (False,)],
    "discounted": [(tf.constant([1.0, 0.0, 2.0]), 0.9, True)],
    "advantages": [
        ([tf.constant(1.0), tf.constant(2.0)], [tf.constant(1.0), tf.constant(1.0)]),
        ([tf.constant(1.0), tf.constant(2.0)], [tf.constant(1.0), tf.constant(1.0)], 0.9, 0.8),
    ],
    "bandit": [(tf.constant([0.1, 0.5]), tf.constant(6), 0.2)],
    "value_iteration": [(tf.constant([0.0, 0.0, 1.0]), 0.5, 0.001)],
    "q_update": [
        (
            tf.zeros([2, 2]),
            tf.constant(0),
            tf.constant(1),
            tf.constant(2.0),
            tf.constant(1),
            tf.constant(False),
        ),
        (tf.zeros([2, 2]), tf.constant(0), tf.constant(1), tf.constant(2.0), tf.constant(1), False, True),
    ],
    "clipped_objective": [(tf.constant(1.5), tf.constant(1.0), 0.2)],
    "Replay(3).add": [(tf.constant(1.0),)],
    "Replay(3).sample": [(2,)],
    "Replay(3, True).sample": [(0,)],
    "walk": [(tf.constant([[1, 2], [3, 4]]), (tf.constant(0), tf.constant(0)), ["down", "right", "right"])],
}


if __name__ == "__main__":
    main()
