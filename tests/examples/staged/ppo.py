"""PPO on a pendulum: rollouts, advantages, and epochs of clipped steps that end when the policy has moved enough."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Normal

import autograph as ag


@dataclass
class Settings:
    steps: int = 64
    epochs: int = 4
    batch: int = 256
    discount: float = 0.97
    trace: float = 0.9
    clip: float = 0.2
    divergence: float = 0.02
    entropy: float = 1e-3


class Pendulum:
    """A batch of pendulums to be held upright: angle and speed, reset at random times."""

    def __init__(self, count, restart=0.02):
        self.count = count
        self.restart = restart
        self.angle = torch.zeros(count)
        self.speed = torch.zeros(count)

    def observe(self):
        return torch.stack([self.angle.cos(), self.angle.sin(), self.speed / 4], -1)

    def step(self, torque):
        torque = 2 * torque.clamp(-1, 1)
        cost = self.angle.square() + 0.1 * self.speed.square() + 0.001 * torque.square()
        self.speed = (self.speed + 0.1 * (5 * self.angle.sin() + 3 * torque)).clamp(-8, 8)
        angle = self.angle + 0.1 * self.speed
        self.angle = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
        done = torch.rand(self.count) < self.restart
        self.angle[done] = 0.5 * torch.randn(self.count)[done]
        self.speed[done] = 0.0
        return -0.1 * cost, done


class Policy(nn.Module):
    def __init__(self, inputs, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean = nn.Linear(width, 1)
        self.value = nn.Linear(width, 1)
        self.spread = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        x = self.body(x)
        return Normal(self.mean(x).squeeze(-1), self.spread.exp()), self.value(x).squeeze(-1)


class PPO:
    def __init__(self, environment, settings):
        self.environment = environment
        self.settings = settings
        self.policy = Policy(3)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=3e-3, eps=1e-5)
        self.updates = 0

    @torch.no_grad()
    def rollout(self):
        """Returns the observations, actions, values and rewards of each step; each is [steps, environments]."""
        seen, actions, chances, values, rewards, ended = [], [], [], [], [], []
        for _ in range(self.settings.steps):
            x = self.environment.observe()
            choice, value = self.policy(x)
            action = choice.sample()
            reward, done = self.environment.step(action)
            for column, new in zip(
                (seen, actions, chances, values, rewards, ended),
                (x, action, choice.log_prob(action), value, reward, done),
            ):
                column.append(new)
        _, last = self.policy(self.environment.observe())
        columns = [torch.stack(column) for column in (seen, actions, chances, values, rewards, ended)]
        return *columns, last

    def advantages(self, values, rewards, ended, last):
        """Generalised advantage estimation, from the last step to the first."""
        settings = self.settings
        found = torch.zeros_like(rewards)
        advantage = torch.zeros_like(last)
        for t in reversed(range(settings.steps)):
            going = 1.0 - ended[t].float()
            error = rewards[t] + settings.discount * last * going - values[t]
            advantage = error + settings.discount * settings.trace * going * advantage
            found[t] = advantage
            last = values[t]
        return found

    def loss(self, x, action, chance, advantage, goal):
        choice, value = self.policy(x)
        change = choice.log_prob(action) - chance
        ratio = change.exp()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        clipped = ratio.clamp(1 - self.settings.clip, 1 + self.settings.clip)
        policy = -torch.min(ratio * advantage, clipped * advantage).mean()
        loss = policy + 0.5 * (value - goal).square().mean() - self.settings.entropy * choice.entropy().mean()
        return loss, ((ratio - 1) - change).mean().detach()

    @ag.function
    def iterate(self):
        """Makes one rollout and trains on it. Returns the mean reward and the number of steps."""
        x, action, chance, value, reward, ended, last = self.rollout()
        advantage = self.advantages(value, reward, ended, last)
        data = [part.flatten(0, 1) for part in (x, action, chance, advantage, advantage + value)]
        steps, moved = 0, False
        for epoch in range(self.settings.epochs):
            for chosen in torch.randperm(len(data[0])).split(self.settings.batch):
                loss, divergence = self.loss(*(part[chosen] for part in data))
                if divergence > self.settings.divergence:
                    moved = True
                    break
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
                self.optimizer.step()
                steps += 1
            if moved:
                break
        self.updates += steps
        return reward.mean(), steps


def main():
    torch.manual_seed(0)
    ppo = PPO(Pendulum(16), Settings())
    for iteration in range(6):
        reward, steps = ppo.iterate()
        if iteration % 2 == 1:
            print(f"iteration {iteration + 1}: reward {reward:.3f}, {steps} steps, spread {ppo.policy.spread.exp():.3f}")
    print("updates", ppo.updates)


if __name__ == "__main__":
    main()
