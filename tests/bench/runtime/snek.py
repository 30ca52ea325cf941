"""Snek's Table 1: training of the network of Figure 14, plain, virtualized but not staged, and staged.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/snek.py [EPOCHS]

Prints CPU milliseconds of an epoch and the median ratio to the plain program in adjacent epochs. All variants must reach
the same loss. The images are random numbers.
"""

import statistics
import sys
import time

import autograph as ag
import torch
import torch.nn.functional as F

BATCHES, BATCH = 100, 64


class Net(torch.nn.Module):
    def __init__(self, activation=1):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 50)
        self.fc2 = torch.nn.Linear(50, 10)
        self.activation = activation

    def forward(self, x):
        x = x.view([-1, 784])
        if self.activation == 1:
            x = F.relu(self.fc1(x))
        else:
            x = torch.tanh(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


class Virtualized(Net):
    forward = ag.lms(Net.forward)


class Staged(Net):
    forward = ag.stage(Net.forward)


def epoch(net, images, labels):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, y in zip(images, labels):
        optimizer.zero_grad()
        loss = F.nll_loss(net(x), y)
        loss.backward()
        optimizer.step()
    return loss


def train(net, images, labels):
    """Runs an epoch with the optimizer in the graph."""
    return epoch(net, images, labels)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = torch.rand(BATCHES, BATCH, 1, 28, 28), torch.randint(10, (BATCHES, BATCH))
    plain = Net()
    variants = {"plain": (plain, epoch)}
    for name, kind, run in (
        ("virtualized, not staged", Virtualized, epoch),
        ("staged model", Staged, epoch),
        ("staged training", Net, ag.function(train)),
    ):
        net = kind()
        net.load_state_dict(plain.state_dict())
        variants[name] = net, run
    times = {name: [] for name in variants}
    for number in range(int(sys.argv[1]) if sys.argv[1:] else 12):
        losses = {}
        for name, (net, run) in variants.items():
            start = time.process_time()
            losses[name] = float(run(net, images, labels).detach())
            times[name].append((time.process_time() - start) * 1e3)
        for name, loss in losses.items():
            assert abs(loss - losses["plain"]) < 1e-4, (number, name, loss, losses["plain"])
    print("| program | ms an epoch, minimum | plain / program |\n|---|---|---|")
    for name, found in times.items():
        ratios = [plain / own for plain, own in zip(times["plain"][1:], found[1:])]  # the first epoch stages
        print(f"| {name} | {min(found[1:]):.1f} | {statistics.median(ratios):.2f} |")


main()
