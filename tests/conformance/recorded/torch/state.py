"""Modules with buffers: running statistics, queues, codebooks, moving averages."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


class RunningNorm(nn.Module):
    def __init__(self, width, momentum=0.1, track=True):
        super().__init__()
        self.momentum = momentum
        self.track = track
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))
        self.register_buffer("batches", torch.tensor(0))

    def forward(self, x):
        if self.training or not self.track:
            mean, variance = x.mean(0), x.var(0, unbiased=False)
        else:
            mean, variance = self.mean, self.variance
        if self.training and self.track:
            rate = 1.0 if self.batches == 0 else self.momentum
            self.mean = self.mean + rate * (mean.detach() - self.mean)
            self.variance = self.variance + rate * (variance.detach() - self.variance)
            self.batches += 1
        return (x - mean) / (variance + 1e-5).sqrt()


class MovingAverage(nn.Module):
    def __init__(self, model, decay=0.99, warmup=True):
        super().__init__()
        self.shadow = copy.deepcopy(model)
        self.decay = decay
        self.warmup = warmup
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = self.decay
        if self.warmup:
            decay = min(decay, (1 + self.updates.item()) / (10 + self.updates.item()))
        for old, new in zip(self.shadow.parameters(), model.parameters()):
            if not torch.isfinite(new).all():
                continue
            old.lerp_(new, 1 - decay)

    def forward(self, x):
        return self.shadow(x)


class Codebook(nn.Module):
    """Vector quantisation that replaces unused entries."""

    def __init__(self, size, width, revive_below=0.0):
        super().__init__()
        self.register_buffer("entries", torch.randn(size, width))
        self.register_buffer("usage", torch.zeros(size))
        self.register_buffer("ready", torch.tensor(False))
        self.revive_below = revive_below

    def initialise(self, x):
        if self.ready:
            return
        self.entries = x[torch.randint(0, len(x), (len(self.entries),))].clone()
        self.ready = torch.tensor(True)

    def forward(self, x):
        if self.training:
            self.initialise(x)
        index = torch.cdist(x, self.entries).argmin(-1)
        if self.training:
            counts = torch.bincount(index, minlength=len(self.entries)).float()
            self.usage = 0.9 * self.usage + 0.1 * counts
            stale = self.usage < self.revive_below
            if self.revive_below and stale.any():
                self.entries = torch.where(stale[:, None], x[0], self.entries)
        picked = self.entries[index]
        return x + (picked - x).detach(), index


class Queue(nn.Module):
    def __init__(self, capacity, width):
        super().__init__()
        self.capacity = capacity
        self.register_buffer("keys", F.normalize(torch.randn(capacity, width), dim=-1))
        self.register_buffer("cursor", torch.zeros((), dtype=torch.long))

    def push(self, keys):
        start = int(self.cursor)
        room = self.capacity - start
        if len(keys) <= room:
            self.keys[start:start + len(keys)] = keys
        else:
            self.keys[start:] = keys[:room]
            self.keys[:len(keys) - room] = keys[room:]
        self.cursor.fill_((start + len(keys)) % self.capacity)

    def forward(self, query, push=True):
        logits = query @ self.keys.T
        if push and not query.isnan().any():
            self.push(F.normalize(query.detach(), dim=-1))
        return logits


class Counter(nn.Module):
    def __init__(self, period=None):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.seen = 0
        self.period = period

    def forward(self, x):
        self.count += 1
        self.seen += 1
        if self.period is not None and self.seen % self.period == 0:
            x = x * 0
        elif self.count % 2 == 0:
            x = -x
        return x


class Cooldown(nn.Module):
    level: torch.Tensor

    def __init__(self, start=1.0, floor=0.1):
        super().__init__()
        self.register_buffer("level", torch.tensor(start))
        self.floor = floor

    def forward(self, x):
        noise = torch.randn_like(x) * self.level if self.training else 0.0
        if self.training and self.level > self.floor:
            self.level = self.level * 0.9
        return x + noise


def freeze(model, names=None, until=None):
    frozen = 0
    for name, parameter in model.named_parameters():
        if until and name.startswith(until):
            break
        if names is None or name in names:
            parameter.requires_grad_(False)
            frozen += 1
    return frozen


def main():
    x = torch.randn(6, 4)
    norm = torch.compile(RunningNorm(4))
    print(norm(x))
    print(torch.compile(RunningNorm(4).eval())(x))
    model = nn.Linear(4, 4)
    average = MovingAverage(model)
    follow = torch.compile(average.update)
    print(follow(model))
    print(torch.compile(average)(x))
    codebook = torch.compile(Codebook(5, 4, revive_below=0.05))
    print(codebook(x))
    print(torch.compile(Codebook(5, 4))(x))
    print(torch.compile(Codebook(5, 4).eval())(x))
    queue = torch.compile(Queue(8, 4))
    print(queue(x))
    print(queue(x))
    print(queue(x, push=False))
    print(torch.compile(Counter())(x))
    print(torch.compile(Counter(period=1))(x))
    print(torch.compile(Cooldown())(x))
    print(torch.compile(Cooldown().eval())(x))
    print(torch.compile(freeze)(model))
    print(torch.compile(freeze)(model, names=["weight"], until="bias"))


if __name__ == "__main__":
    main()
