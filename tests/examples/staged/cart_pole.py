"""REINFORCE on cart-pole: the episode, its gradient and the optimiser's step are one graph."""

import torch
from torch import nn
from torch.distributions import Categorical

import autograph as ag

GRAVITY, CART, POLE, LENGTH, PUSH, TICK = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


class CartPole:
    """The classic environment, in torch: position, speed, angle and its speed."""

    def __init__(self):
        self.state = torch.zeros(4)

    def reset(self):
        self.state = torch.empty_like(self.state).uniform_(-0.05, 0.05)
        return self.state

    def step(self, action):
        x, speed, angle, spin = self.state
        force = PUSH if action == 1 else -PUSH
        mass = CART + POLE
        pushed = (force + POLE * LENGTH * spin**2 * angle.sin()) / mass
        turn = (GRAVITY * angle.sin() - angle.cos() * pushed) / (LENGTH * (4 / 3 - POLE * angle.cos() ** 2 / mass))
        slide = pushed - POLE * LENGTH * turn * angle.cos() / mass
        self.state = torch.stack([x + TICK * speed, speed + TICK * slide, angle + TICK * spin, spin + TICK * turn])
        fallen = self.state[0].abs() > 2.4 or self.state[2].abs() > 0.2095
        return self.state, 1.0, fallen


class Agent:
    def __init__(self, policy, rate=0.01, discount=0.99):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=rate)
        self.discount = discount
        self.average = 0.0

    def play(self, environment, limit):
        """Plays one episode. Returns the log probabilities of the actions, and the rewards."""
        chances, rewards = [], []
        state, done, t = environment.reset(), False, 0
        while not done and t < limit:
            choice = Categorical(logits=self.policy(state))
            action = choice.sample()
            chances.append(choice.log_prob(action))
            state, reward, done = environment.step(action)
            rewards.append(reward)
            t += 1
        return chances, rewards

    def returns(self, rewards):
        total, found = 0.0, []
        for reward in reversed(rewards):
            total = reward + self.discount * total
            found.insert(0, total)
        return torch.tensor(found)

    @ag.function
    def learn(self, environment, limit=100):
        chances, rewards = self.play(environment, limit)
        returns = self.returns(rewards)
        if len(rewards) > 1:
            returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -(torch.stack(chances) * returns).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.average = 0.9 * self.average + 0.1 * len(rewards)
        return len(rewards)


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    agent, environment = Agent(policy), CartPole()
    for episode in range(45):
        length = agent.learn(environment)
        if episode % 15 == 14:
            print(f"episode {episode + 1}: {length} steps, {agent.average:.1f} on average")


if __name__ == "__main__":
    main()
