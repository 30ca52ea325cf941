"""A small GAN that learns a ring of Gaussians; the two networks take turns in one graph."""

import math

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag


def network(*widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def ring(count, modes=8):
    angle = torch.randint(modes, (count,)) * (2 * math.pi / modes)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


class GAN(nn.Module):
    def __init__(self, noise=8, width=64):
        super().__init__()
        self.noise = noise
        self.generator = network(noise, width, width, 2)
        self.critic = network(2, width, width, 1)
        self.generator_step = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.critic_step = torch.optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.5, 0.99))

    def sample(self, count):
        return self.generator(torch.randn(count, self.noise))

    def critic_loss(self, real, made):
        real, made = self.critic(real), self.critic(made)
        return F.binary_cross_entropy_with_logits(real, torch.ones_like(real)) + F.binary_cross_entropy_with_logits(
            made, torch.zeros_like(made)
        )

    def generator_loss(self, made):
        judged = self.critic(made)
        return F.binary_cross_entropy_with_logits(judged, torch.ones_like(judged))

    @ag.function
    def train_steps(self, steps, batch=64):
        """Trains for some steps. A high loss of the critic causes a second update. Returns losses and extra updates."""
        extra, losses = 0, torch.zeros(2)
        for _ in range(steps):
            for turn in range(2):
                loss = self.critic_loss(ring(batch), self.sample(batch).detach())
                self.critic_step.zero_grad()
                loss.backward()
                self.critic_step.step()
                if loss < 1.3:
                    break
                extra += 1
            generator_loss = self.generator_loss(self.sample(batch))
            self.generator_step.zero_grad()
            generator_loss.backward()
            self.generator_step.step()
            losses = torch.stack([loss.detach(), generator_loss.detach()])
        return losses, extra


def main():
    torch.manual_seed(0)
    gan = GAN()
    for epoch in range(3):
        losses, extra = gan.train_steps(torch.tensor(30))
        with torch.no_grad():
            radius = gan.sample(500).norm(dim=1)
        print(
            f"critic {losses[0]:.3f}, generator {losses[1]:.3f}, {extra} extra steps,",
            f"radius {radius.mean():.3f} +- {radius.std():.3f}",
        )


if __name__ == "__main__":
    main()
