"""Reinforcement learning on cart-pole written with tensors."""
import torch
from torch import nn


class CartPole:
    def __init__(self, batch=None, limit=30):
        self.batch = batch
        self.limit = limit
        self.steps = 0
        self.state = torch.zeros(4)

    def reset(self):
        self.steps = 0
        shape = (4,) if self.batch is None else (self.batch, 4)
        self.state = torch.rand(shape) * 0.1 - 0.05
        return self.state

    def step(self, action):
        position, speed, angle, spin = self.state.unbind(-1)
        force = torch.where(action == 1, 10.0, -10.0)
        spin = spin + 0.02 * (9.8 * angle.sin() - force * angle.cos() / 1.1)
        angle = angle + 0.02 * spin
        speed = speed + 0.02 * force / 1.1
        position = position + 0.02 * speed
        self.state = torch.stack([position, speed, angle, spin], -1)
        self.steps += 1
        fallen = (position.abs() > 2.4) | (angle.abs() > 0.21)
        if self.steps >= self.limit:
            fallen = torch.ones_like(fallen)
        return self.state, torch.ones_like(position), fallen


class Policy(nn.Module):
    def __init__(self, hidden=16, greedy=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.greedy = greedy

    def forward(self, state, explore=0.0):
        logits = self.body(state)
        if self.greedy:
            return logits.argmax(-1), logits
        if explore > 0 and torch.rand(()) < explore:
            return torch.randint(0, 2, logits.shape[:-1]), logits
        return torch.distributions.Categorical(logits=logits).sample(), logits


def rollout(policy, environment, max_steps=20):
    state = environment.reset()
    rewards, total = [], torch.zeros(())
    for _ in range(max_steps):
        action, _ = policy(state)
        state, reward, done = environment.step(action)
        rewards.append(reward)
        total = total + reward
        if done:
            break
    return torch.stack(rewards), total


def batched_rollout(policy, environment):
    state = environment.reset()
    alive = torch.ones(state.size(0), dtype=torch.bool)
    returns = torch.zeros(state.size(0))
    while alive.any():
        action, _ = policy(state)
        state, reward, done = environment.step(action)
        returns = returns + torch.where(alive, reward, 0.0)
        alive = alive & ~done
    return returns


def discounted(rewards, gamma=0.99, normalise=True):
    total, returns = torch.zeros(()), []
    for reward in rewards.flip(0):
        total = reward + gamma * total
        returns.append(total)
    returns = torch.stack(returns[::-1])
    spread = returns.std() if len(returns) > 1 else returns.new_zeros(())
    if normalise and spread > 0:
        returns = (returns - returns.mean()) / spread
    return returns


def advantages(rewards, values, dones, gamma=0.99, smooth=0.95):
    result, following = [], values[-1]
    running = torch.zeros(())
    for t in range(len(rewards) - 1, -1, -1):
        if dones[t]:
            following, running = torch.zeros(()), torch.zeros(())
        delta = rewards[t] + gamma * following - values[t]
        running = delta + gamma * smooth * running
        following = values[t]
        result.insert(0, running)
    return torch.stack(result)


def ppo_loss(new, old, advantage, clip=0.2, target_divergence=None):
    ratio = (new - old).exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
    divergence = (old - new).mean()
    stop = target_divergence is not None and divergence > 1.5 * target_divergence
    if stop:
        return loss.detach(), True
    return loss, False


class Replay:
    def __init__(self, capacity, width):
        self.capacity = capacity
        self.items = torch.zeros(capacity, width)
        self.priorities = torch.zeros(capacity)
        self.size = 0

    def add(self, item, priority=None):
        slot = self.size % self.capacity
        self.items[slot] = item
        self.priorities[slot] = priority if priority is not None else 1.0
        self.size += 1

    def sample(self, count, prioritised=False):
        filled = min(self.size, self.capacity)
        if filled == 0:
            return self.items[:0]
        weights = self.priorities[:filled]
        if prioritised and weights.sum() > 0:
            index = torch.multinomial(weights, count, replacement=True)
        else:
            index = torch.randint(0, filled, (count,))
        return self.items[index]


def td_update(table, state, action, reward, following, rate=0.1, terminal=None):
    best = table[following].max()
    if terminal is not None and following == terminal:
        best = torch.zeros(())
    table = table.clone()
    table[state, action] += rate * (reward + 0.9 * best - table[state, action])
    return table


def main():
    policy = Policy()
    play = torch.compile(rollout)
    print(play(policy, CartPole()))
    print(torch.compile(rollout)(Policy(greedy=True), CartPole(), max_steps=40))
    print(torch.compile(batched_rollout)(policy, CartPole(batch=3)))
    act = torch.compile(policy)
    print(act(torch.zeros(2, 4), explore=0.3))
    returns = torch.compile(discounted)
    print(returns(torch.rand(5)))
    print(returns(torch.rand(5), normalise=False))
    dones = torch.tensor([False, True, False, False])
    print(torch.compile(advantages)(torch.rand(4), torch.rand(4), dones))
    objective = torch.compile(ppo_loss)
    print(objective(torch.randn(4), torch.randn(4), torch.randn(4)))
    print(objective(torch.randn(4), torch.randn(4), torch.randn(4), target_divergence=0.01))
    memory = Replay(4, 3)
    remember = torch.compile(memory.add)
    print(remember(torch.ones(3)))
    print(remember(torch.ones(3), priority=torch.tensor(2.0)))
    draw = torch.compile(memory.sample)
    print(draw(2))
    print(draw(2, prioritised=True))
    update = torch.compile(td_update)
    print(update(torch.rand(5, 2), 0, 1, torch.tensor(1.0), torch.tensor(4), terminal=4))
    print(update(torch.rand(5, 2), 0, 1, torch.tensor(1.0), torch.tensor(3)))


if __name__ == "__main__":
    main()
