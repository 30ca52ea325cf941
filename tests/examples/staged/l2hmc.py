"""L2HMC: a sampler whose leapfrog steps are trained to move far. An update, with its accept step, is one graph."""

import math

import torch
from torch import nn

import autograph as ag

CENTERS = torch.tensor([[-2.0, 0.0], [2.0, 0.0]])
SIZE, WIDTH = 2, 10


def energy(x):
    """Returns minus the logarithm of the density of two Gaussians, and the gradient of this energy."""
    apart = x.unsqueeze(1) - CENTERS
    logits = -apart.pow(2).sum(2)
    return -torch.logsumexp(logits, 1), 2 * (torch.softmax(logits, 1).unsqueeze(2) * apart).sum(1)


class Update(nn.Module):
    """Computes the scale, translation and gate for one half of the state, from the other half and the time."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2 * SIZE + 2, WIDTH)
        self.outer = nn.Linear(WIDTH, 3 * SIZE)
        self.size = nn.Parameter(torch.zeros(2 * SIZE))

    def forward(self, a, b, time):
        angle = torch.stack([torch.cos(time), torch.sin(time)]).expand(len(a), 2)
        scale, translation, gate = self.outer(torch.relu(self.inner(torch.cat([a, b, angle], 1)))).chunk(3, 1)
        size = self.size.exp() - 1
        return torch.tanh(scale) * size[:SIZE], translation, torch.tanh(gate) * size[SIZE:]


class Sampler(nn.Module):
    def __init__(self, step=0.1):
        super().__init__()
        self.log_step = nn.Parameter(torch.tensor(math.log(step)))
        self.position, self.momentum = Update(), Update()

    def half_kick(self, x, v, step, time):
        _, gradient = energy(x)
        scale, translation, gate = self.momentum(x, gradient, time)
        kick = step / 2 * (gradient * torch.exp(step * gate) + translation)
        return v * torch.exp(step / 2 * scale) - kick, step / 2 * scale.sum(1)

    def drift(self, x, v, step, time, mask):
        scale, translation, gate = self.position(mask * x, v, time)
        moved = x * torch.exp(step * scale) + step * (v * torch.exp(step * gate) + translation)
        return mask * x + (1 - mask) * moved, step * ((1 - mask) * scale).sum(1)

    def leapfrog(self, x, v, steps):
        """Returns the state after some steps, and the logarithm of the determinant of the Jacobian."""
        step, volume = self.log_step.exp(), torch.zeros(len(x))
        mask = torch.tensor([1.0, 0.0])
        for i in range(steps):
            time = i * (2 * math.pi) / steps
            v, first = self.half_kick(x, v, step, time)
            x, second = self.drift(x, v, step, time, mask)
            x, third = self.drift(x, v, step, time, 1 - mask)
            v, fourth = self.half_kick(x, v, step, time)
            volume = volume + first + second + third + fourth
        return x, v, volume

    def propose(self, x, steps):
        """Returns proposals, and the probability of accepting each."""
        v = torch.randn_like(x)
        moved, kicked, volume = self.leapfrog(x, v, steps)
        before = energy(x)[0] + v.pow(2).sum(1) / 2
        after = energy(moved)[0] + kicked.pow(2).sum(1) / 2
        return moved, torch.exp(torch.clamp(before - after + volume, max=0.0))


@ag.function
def update(sampler, optimizer, x, steps, scale=0.1):
    """Executes one training step. Returns the next state of the chains."""
    moved, accept = sampler.propose(x, steps)
    distance = accept * (moved - x).pow(2).sum(1) + 1e-4
    loss = (scale / distance - distance / scale).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(sampler.parameters(), 1.0)
    optimizer.step()
    is_accepted = accept > torch.rand(len(x))
    return torch.where(is_accepted.unsqueeze(1), moved, x).detach(), loss.detach(), accept.mean().detach()


def main():
    torch.manual_seed(0)
    sampler = Sampler()
    optimizer = torch.optim.Adam(sampler.parameters(), lr=1e-3)
    x = torch.randn(200, SIZE)
    for step in range(40):
        x, loss, accept = update(sampler, optimizer, x, torch.tensor(10))
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss:.3f}, accepted {accept:.3f}")


if __name__ == "__main__":
    main()
