"""Environments, schedules, buffers, searches: Python loops around tensor operations."""
import collections
import heapq
import itertools
from typing import Iterator, NamedTuple, Optional, Sequence

import torch
from torch import nn


class Transition(NamedTuple):
    state: torch.Tensor
    action: int
    reward: torch.Tensor
    done: bool


class Walk:
    """A walk on a line that ends at its borders."""

    def __init__(self, size: int = 5, limit: int = 20):
        self.size = size
        self.limit = limit
        self.reset()

    def reset(self):
        self.position = torch.tensor(0.0)
        self.age = 0
        return self.position

    @property
    def outside(self):
        return self.position.abs() > self.size

    def step(self, action: int) -> Transition:
        self.age += 1
        self.position = self.position + (1.0 if action else -1.0)
        reward = torch.where(self.outside, torch.tensor(1.0), torch.tensor(0.0))
        done = bool(self.outside) or self.age >= self.limit
        return Transition(self.position, action, reward, done)


class Memory:
    def __init__(self, capacity, prioritized=False):
        self.items = collections.deque(maxlen=capacity)
        self.prioritized = prioritized

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return len(self.items) > 1

    def __iter__(self) -> Iterator[Transition]:
        return iter(self.items)

    def add(self, transition):
        if self.prioritized and transition.reward == 0:
            return False
        self.items.append(transition)
        return True

    def returns(self, discount=0.9):
        total = torch.tensor(0.0)
        for item in reversed(self.items):
            if item.done:
                total = torch.tensor(0.0)
            total = item.reward + discount * total
        return total


class Policy(nn.Module):
    def __init__(self, greedy: bool = False, temperature: float = 1.0):
        super().__init__()
        self.score = nn.Linear(1, 2)
        self.greedy = greedy
        self.temperature = temperature

    def forward(self, state: torch.Tensor):
        logits = self.score(state.reshape(1, 1)).squeeze(0)
        if self.temperature != 1.0:
            logits = logits / self.temperature
        return logits

    def act(self, state):
        logits = self(state)
        if self.greedy:
            return int(logits.argmax())
        action = torch.multinomial(logits.softmax(-1), 1)
        return action.item() if action.numel() == 1 else action.tolist()


@torch.compile
def episode(policy, walk, memory: Optional[Memory] = None, limit=None):
    state = walk.reset()
    total = torch.zeros(())
    for step in itertools.count():
        if limit is not None and step >= limit:
            break
        action = policy.act(state)
        transition = walk.step(action)
        total = total + transition.reward
        if memory is not None:
            kept = memory.add(transition)
            if not kept:
                total = total - 0.1
        if transition.done:
            break
        state = transition.state
    while memory and len(memory) > 3:
        memory.items.popleft()
    return total if total > 0 else total + 1


@torch.compile
def advantage(rewards, values, dones: Sequence[bool], discount: float = 0.99):
    result = []
    running = torch.zeros(())
    for reward, value, done in zip(reversed(rewards), reversed(values), reversed(dones)):
        running = reward + (0.0 if done else discount * running)
        gain = running - value
        if gain.abs() > 2:
            gain = gain.sign() * 2
        result.insert(0, gain)
    mean = sum(result) / max(len(result), 1)
    if all(g > mean for g in result) or not result:
        return result
    return [g - mean for g in result if g is not None]


@torch.compile
def beam(step, start: int, width=2, length=3, end: Optional[int] = None):
    beams = [(0.0, [start])]
    for _ in range(length):
        grown = []
        for score, tokens in beams:
            if end is not None and tokens[-1] == end:
                grown.append((score, tokens))
                continue
            for token, gain in enumerate(step(tokens)):
                if gain < -3:
                    continue
                grown.append((score + gain.item(), tokens + [token]))
        beams = heapq.nlargest(width, grown)
        if not beams or beams[0][0] < -10:
            break
    return beams


def score_tokens(tokens):
    torch.manual_seed(len(tokens))
    return torch.randn(4)


class Schedule:
    def __init__(self, rates, every=1):
        self.rates = rates
        self.every = every

    def __call__(self, step):
        index = step // self.every
        return self.rates[index] if index < len(self.rates) else self.rates[-1]


def descend(parameters, loss_of, schedule, steps=4, clip=None):
    losses = []
    for step in range(steps):
        loss = loss_of(parameters)
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        rate = schedule(step)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                if gradient is None or rate == 0:
                    continue
                if clip and gradient.norm() > clip:
                    gradient = gradient * (clip / gradient.norm())
                parameter -= rate * gradient
        if losses and loss > losses[-1]:
            break
        losses.append(loss.detach())
    else:
        losses.append(torch.zeros(()))
    return losses


def bisect(function, low: float, high: float, tolerance=1e-3):
    low, high = torch.tensor(low), torch.tensor(high)
    assert function(low) < 0 < function(high)
    rounds = 0
    while (high - low) > tolerance:
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
        if (rounds := rounds + 1) > 50:
            raise RuntimeError("no convergence")
    return low


def peaks(signal, minimum=0.0, gap=1):
    found = []
    for k, value in enumerate(signal[1:-1], start=1):
        if not value > minimum:
            continue
        if signal[k - 1] < value and signal[k + 1] < value:
            if found and k - found[-1] <= gap:
                continue
            found.append(k)
    match len(found):
        case 0:
            return None
        case 1 if minimum > 0:
            return signal[found[0]]
    return signal[found] if found else signal


def main():
    torch.manual_seed(0)
    memory = Memory(8, prioritized=True)
    episode(Policy(), Walk(2), limit=5)
    episode(Policy(greedy=True, temperature=0.5), Walk(size=1), memory)
    episode(Policy(), Walk(1), Memory(8))
    memory.returns()
    full = Memory(2)
    full.add(Transition(torch.zeros(()), 1, torch.ones(()), True))
    full.returns(discount=0.5)
    advantage(torch.randn(3).unbind(), torch.randn(3).unbind(), [False, True, False])
    beam(score_tokens, 0)
    beam(score_tokens, 1, width=1, end=2)
    weight = torch.ones(2, requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    descend([weight, unused], lambda p: (p[0] ** 2).sum(), Schedule([0.1, 0.01]))
    descend([weight], lambda p: (p[0] ** 2).sum(), Schedule([0.0], every=2), clip=0.5)
    bisect(lambda x: x * x - 2, 0.0, 2.0)
    peaks(torch.tensor([0.0, 1.0, 0.0, 2.0, 0.5]))
    peaks(torch.tensor([0.0, 1.0, 0.0]), minimum=0.5)


if __name__ == "__main__":
    main()
