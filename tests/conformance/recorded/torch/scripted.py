"""TorchScript: the compiler puts conditions on tensors into the graph."""
from typing import List, Optional, Tuple

import torch
from torch import nn


@torch.jit.script
def clamp_sum(x: torch.Tensor, limit: float) -> torch.Tensor:
    total = x.sum()
    if total > limit:
        total = total * 0 + limit
    elif limit < 0:
        total = -total
    return total


@torch.jit.script
def masked_mean(x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    if mask is None:
        return x.mean()
    count = mask.sum()
    if bool(count == 0):
        return torch.zeros_like(x).sum()
    return (x * mask).sum() / count


@torch.jit.script
def collatz(n: torch.Tensor) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@torch.jit.script
def greedy_path(scores: torch.Tensor, stop: int = 0) -> List[int]:
    path: List[int] = []
    for row in scores:
        best = int(row.argmax())
        path.append(best)
        if best == stop and len(path) > 1:
            break
    return path


@torch.jit.script
def split_by_sign(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    assert x.dim() == 1
    positive = torch.zeros_like(x)
    negative = torch.zeros_like(x)
    for i in range(x.size(0)):
        if x[i] > 0:
            positive[i] = x[i]
        elif not x[i] == 0:
            negative[i] = x[i]
    return positive, negative


@torch.jit.script
def unroll(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    for _ in range(int(n)):
        x = x * 2 if x.sum() < 100 else x
    return x


@torch.jit.script
def edit_distance(a: List[int], b: List[int], weights: Optional[torch.Tensor] = None) -> torch.Tensor:
    row = torch.arange(len(b) + 1, dtype=torch.float32)
    for i in range(len(a)):
        new = row.clone()
        new[0] = float(i + 1)
        for j in range(len(b)):
            cost = torch.zeros(()) if a[i] == b[j] else torch.ones(())
            if weights is not None and cost > 0:
                cost = cost * weights[j]
            new[j + 1] = torch.minimum(torch.minimum(row[j + 1], new[j]) + 1, row[j] + cost)
        row = new
    return row[-1]


class Highway(nn.Module):
    __constants__ = ["carry"]

    def __init__(self, width: int, carry: bool = True):
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.carry = carry

    def forward(self, x: torch.Tensor, scale: Optional[float] = None) -> torch.Tensor:
        t = torch.sigmoid(self.gate(x))
        y = t * torch.relu(self.transform(x))
        if self.carry:
            y = y + (1 - t) * x
        if scale is not None:
            y = y * scale
        if y.max() > 10:
            y = y / y.max()
        return y


class PackedRNN(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    @torch.jit.export
    def initial(self, batch: int, like: torch.Tensor) -> torch.Tensor:
        return torch.zeros(batch, like.size(-1)) if batch > 0 else torch.zeros(1, like.size(-1))

    def forward(self, steps: List[torch.Tensor], state: Optional[torch.Tensor] = None) -> torch.Tensor:
        if state is None:
            state = self.initial(steps[0].size(0), steps[0])
        for step in steps:
            fresh = self.cell(step, state)
            if (fresh - state).abs().sum() > 1e-3 or step.size(0) == 1:
                state = fresh
        return state


def main():
    print(clamp_sum(torch.rand(4), 1.0))
    print(clamp_sum(torch.rand(4), -1.0))
    print(masked_mean(torch.rand(4)))
    print(masked_mean(torch.rand(4), torch.tensor([1.0, 0.0, 1.0, 0.0])))
    print(collatz(torch.tensor(6)))
    print(greedy_path(torch.rand(5, 3)))
    print(split_by_sign(torch.tensor([1.0, -2.0, 0.0])))
    print(unroll(torch.rand(3), torch.tensor(4)))
    print(edit_distance([1, 2, 3], [1, 3]))
    print(edit_distance([1, 2, 3], [1, 3], torch.rand(2)))
    highway = torch.jit.script(Highway(4))
    print(highway(torch.randn(2, 4)))
    print(highway(torch.randn(2, 4), 0.5))
    packed = torch.jit.script(PackedRNN(4))
    print(packed([torch.randn(2, 4), torch.randn(2, 4)]))
    print(packed([torch.randn(2, 4)], torch.zeros(2, 4)))


if __name__ == "__main__":
    main()
