"""Pipelines: samplers, decoders, quantisers, schedulers, losses with options, graphs of modules."""
import abc
import contextlib
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Protocol, Tuple

import torch
from torch import Tensor, nn


class Scorer(Protocol):
    def __call__(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Decoding:
    top: Optional[int] = None
    mass: float = 1.0
    temperature: float = 1.0
    banned: Tuple[int, ...] = ()

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0.0


@torch.compile
def choose(logits: Tensor, how: Decoding) -> Tensor:
    if how.is_greedy:
        return logits.argmax(-1)
    if how.temperature != 1.0:
        logits = logits / how.temperature
    for token in how.banned:
        logits = logits.index_fill(-1, torch.tensor([token]), float("-inf"))
    if how.top is not None and how.top < logits.size(-1):
        limit = logits.topk(how.top).values[..., -1:]
        logits = logits.masked_fill(logits < limit, float("-inf"))
    if 0.0 < how.mass < 1.0:
        ordered, order = logits.sort(descending=True)
        kept = ordered.softmax(-1).cumsum(-1) <= how.mass
        if not kept.any():
            kept[..., 0] = True
        logits = logits.scatter(-1, order, ordered.masked_fill(~kept, float("-inf")))
    return logits.softmax(-1)


class Quantiser(nn.Module):
    def __init__(self, bits: int = 8, symmetric: bool = True, momentum: Optional[float] = None):
        super().__init__()
        self.bits, self.symmetric, self.momentum = bits, symmetric, momentum
        self.register_buffer("scale", torch.tensor(0.0))
        self.frozen = False

    def observe(self, x):
        peak = x.abs().max() if self.symmetric else x.max() - x.min()
        if self.momentum is None or self.scale == 0:
            self.scale = peak
        else:
            self.scale = self.momentum * self.scale + (1 - self.momentum) * peak

    def forward(self, x):
        if self.training and not self.frozen:
            self.observe(x)
        if self.scale <= 0:
            return x
        levels = 2 ** (self.bits - 1) - 1 if self.symmetric else 2**self.bits - 1
        y = (x / self.scale * levels).round() / levels * self.scale
        return y if x.requires_grad else y.detach()


class Node(abc.ABC):
    def __init__(self, *inputs):
        self.inputs = inputs

    @abc.abstractmethod
    def compute(self, *values): ...

    def evaluate(self, cache: Dict["Node", Tensor]):
        if self in cache:
            return cache[self]
        values = [node.evaluate(cache) for node in self.inputs]
        result = self.compute(*values)
        cache[self] = result
        return result

    def size(self):
        return 1 + sum(node.size() for node in self.inputs)


class Leaf(Node):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def compute(self):
        return self.value


class Sum(Node):
    def compute(self, *values):
        total = values[0]
        for value in values[1:]:
            if value.shape != total.shape:
                value = value.expand_as(total)
            total = total + value
        return total


def evaluate(root: Node, limit: Optional[float] = None):
    result = root.evaluate({})
    if root.size() > 2 and limit is not None:
        if result.norm() > limit:
            result = result * (limit / result.norm())
    return result


def line_search(f: Callable, x: Tensor, direction: Tensor, shrink: float = 0.5, limit: int = 5):
    start = f(x)
    step = 1.0
    for attempt in range(limit):
        candidate = x + step * direction
        if f(candidate) < start:
            return candidate
        step *= shrink
    return x if attempt else candidate


def fixed_point(f: Scorer, x: Tensor, tolerance: float = 1e-3):
    error = float("inf")
    while error > tolerance:
        y = f(x)
        error = (y - x).abs().max()
        x = y
    return x


class Meter:
    def __init__(self, names):
        self.totals = {name: 0.0 for name in names}
        self.best = None
        self.count = 0

    def update(self, **values):
        self.count += 1
        for name, value in values.items():
            if name not in self.totals:
                raise KeyError(name)
            self.totals[name] = self.totals[name] + value
        loss = values.get("loss")
        if loss is not None and (self.best is None or loss < self.best):
            self.best = loss
            return True
        return False

    def means(self):
        return {name: total / self.count for name, total in self.totals.items() if self.count}


def train(model: nn.Module, data: List[Tuple[Tensor, Tensor]], epochs: int = 1, amp: bool = False, patience=2):
    meter = Meter(["loss", "norm"])
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    stale = 0
    for epoch in range(epochs):
        for inputs, targets in data:
            context = torch.autocast("cpu", torch.bfloat16) if amp else contextlib.nullcontext()
            with context:
                loss = nn.functional.mse_loss(model(inputs), targets)
            if not torch.isfinite(loss):
                continue
            optimiser.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if norm > 0:
                optimiser.step()
            improved = meter.update(loss=loss.detach(), norm=norm)
            stale = 0 if improved else stale + 1
            if stale >= patience:
                return meter.means()
    return meter.means()


def collate(samples: List[Dict[str, Any]], pad: int = 0):
    longest = max(len(sample["tokens"]) for sample in samples)
    rows, labels = [], []
    for sample in samples:
        tokens = sample["tokens"]
        if len(tokens) < longest:
            tokens = torch.cat([tokens, tokens.new_full((longest - len(tokens),), pad)])
        rows.append(tokens)
        label = sample.get("label")
        labels.append(-1 if label is None else int(label))
    batch = torch.stack(rows)
    if (batch == pad).all():
        raise ValueError("empty")
    return batch, torch.tensor(labels) if any(label >= 0 for label in labels) else None


def main():
    torch.manual_seed(0)
    choose(torch.randn(2, 6), Decoding(temperature=0.0))
    choose(torch.randn(2, 6), Decoding(top=3, mass=0.8, banned=(1,)))
    choose(torch.randn(2, 6), Decoding(temperature=0.5))
    quantiser = torch.compile(Quantiser())
    quantiser(torch.randn(4))
    quantiser(torch.zeros(4, requires_grad=True))
    torch.compile(Quantiser(4, symmetric=False, momentum=0.9).eval())(torch.randn(3))
    shared = Leaf(torch.ones(2))
    evaluate(Sum(shared, Leaf(torch.tensor(2.0)), shared), limit=1.0)
    evaluate(shared)
    line_search(lambda x: (x * x).sum(), torch.ones(2), -torch.ones(2))
    line_search(lambda x: x.sum(), torch.ones(2), torch.ones(2), limit=1)
    fixed_point(torch.cos, torch.tensor(1.0))
    train(nn.Linear(2, 1), [(torch.ones(3, 2), torch.zeros(3, 1))], epochs=3)
    train(nn.Linear(2, 1), [(torch.ones(3, 2), torch.full((3, 1), float("nan")))], amp=True)
    collate([{"tokens": torch.tensor([1, 2])}, {"tokens": torch.tensor([3]), "label": torch.tensor(1)}])


if __name__ == "__main__":
    main()
