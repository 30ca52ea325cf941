"""Data-parallel training: an epoch is one graph, with the collectives of all its steps.

Alone, or in two processes, with the same results apart from rounding:

    ag-lsp run tests/examples/staged/data_parallel.py
    torchrun --standalone --nproc-per-node 2 tests/examples/staged/data_parallel.py
"""

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the group exists: default arguments in this module would keep a reference to it
import torch.nn.functional as F
from torch import nn

import autograph as ag


def spirals(count):
    """Points on three arms of a spiral; some are damaged."""
    labels = torch.randint(3, (count,))
    radius = torch.rand(count)
    angle = labels * 2.1 + 3 * radius + 0.1 * torch.randn(count)
    points = torch.stack([radius * angle.sin(), radius * angle.cos()], 1)
    points[torch.rand(count) < 0.002] = torch.nan
    return points, labels


@ag.function
def train(model, optimizer, points, labels, batch, limit):
    """Trains for an epoch. Each row of `batch` contains the indices of one step's points. Skips a step if any process has a
    damaged point, and ends when the mean loss of a step is below a limit. Returns the numbers of steps and skips, and the
    last loss."""
    rank, processes = dist.get_rank(), dist.get_world_size()
    steps, skipped, last = 0, 0, torch.zeros(())
    for row in batch:
        own = row.view(processes, -1)[rank]
        damaged = points[own].isnan().any().float()
        dist.all_reduce(damaged)
        if damaged > 0:
            skipped += 1
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(points[own]), labels[own])
        loss.backward()
        ag.average_gradients(model.parameters())
        optimizer.step()
        steps += 1
        last = loss.detach() / processes
        dist.all_reduce(last)
        if last < limit:
            break
    return steps, skipped, last


def epochs(count=6):
    """Trains, and prints a line for each epoch in the first process."""
    torch.manual_seed(0)  # all processes have the same model and data, and train on different parts
    points, labels = spirals(2048)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for epoch in range(count):
        batch = torch.randperm(len(points)).view(-1, 64)
        steps, skipped, last = train(model, optimizer, points, labels, batch, 0.2)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {int(steps)} steps, {int(skipped)} skipped, loss {last:.3f}")


def main():
    if dist.is_torchelastic_launched():
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    epochs()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
