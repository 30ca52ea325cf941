"""JANUS's Figure 8: how training scales with the number of processes.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/scaling.py [PROCESSES...]    # default: 1 2 4

Each process has one thread, and its own batch of constant size; gloo averages the gradients. The scale factor is
throughput / (throughput of one process x processes). Eager and staged rounds alternate in the same processes. The step
time is the wall time between two barriers, divided by the number of steps; the table shows its minimum over the rounds.
The CPU time of a step is the mean over the processes.

If other programs use the processors, wall times are not comparable, because more processes get a larger share of the
processors. Then compare the CPU factor, which is the ratio of the CPU times. It equals the scale factor if each process
has its own processor and never waits for another process. All variants must reach the same loss, and all processes must
have the same parameters.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import autograph as ag
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ROUNDS, STEPS = 12, 5


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.layers = nn.Sequential(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))

    def forward(self, x, y):
        h = F.max_pool2d(torch.relu(self.first(x)), 2)
        h = F.max_pool2d(torch.relu(self.second(h)), 2)
        return F.cross_entropy(self.layers(h.flatten(1)), y)

    @staticmethod
    def batch():
        return torch.rand(50, 1, 28, 28), torch.randint(10, (50,))


class LanguageModel(nn.Module):
    """Two LSTM layers over 10 words of a vocabulary of 2,000."""

    def __init__(self, words=2000, size=100):
        super().__init__()
        self.embedding, self.head = nn.Embedding(words, size), nn.Linear(size, words)
        self.cells = nn.ModuleList([nn.LSTMCell(size, size) for _ in range(2)])

    def forward(self, x, y):
        states, outputs = [None, None], []
        for word in x:
            h = self.embedding(word)
            for layer, cell in enumerate(self.cells):
                states[layer] = cell(h, states[layer])
                h = states[layer][0]
            outputs.append(h)
        return F.cross_entropy(self.head(torch.cat(outputs)), y.reshape(-1))

    @staticmethod
    def batch():
        return torch.randint(2000, (10, 20)), torch.randint(2000, (10, 20))


class Policy(nn.Module):
    """A small network, as in PPO: a step takes about as long as the exchange of its gradients."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x), y)

    @staticmethod
    def batch():
        return torch.rand(64, 8), torch.randint(4, (64,))


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = model(x, y)
    loss.backward()
    optimizer.step()
    return loss


def averaged(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = model(x, y)
    loss.backward()
    ag.average_gradients(model.parameters())
    optimizer.step()
    return loss


def variants():
    """Returns the steps by name, and whether the model is wrapped in `DistributedDataParallel`."""
    return {
        "eager DDP": (step, True),
        "staged DDP": (ag.function(step), True),
        "staged, average_gradients": (ag.function(averaged), False),
    }


def measure(kind):
    """Returns the wall and CPU seconds of a step for each variant in this process."""
    runs, figures = {}, {}
    for name, (function, is_wrapped) in variants().items():
        torch.manual_seed(0)
        model = kind()
        torch.manual_seed(1 + dist.get_rank())
        data = kind.batch()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        runs[name] = function, DistributedDataParallel(model) if is_wrapped else model, optimizer, data
        for _ in range(4):  # traces; DDP also orders its buckets anew after the first step
            function(runs[name][1], optimizer, *data)
        figures[name] = [[], [], None]
    for _ in range(ROUNDS):
        for name, (function, model, optimizer, data) in runs.items():
            dist.barrier()
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(STEPS):
                loss = function(model, optimizer, *data)
            cpu = time.process_time() - cpu
            dist.barrier()
            figures[name][0].append((time.perf_counter() - wall) / STEPS)
            figures[name][1].append(cpu / STEPS)
            figures[name][2] = loss.item()
    losses = [figure[2] for figure in figures.values()]
    assert max(losses) - min(losses) < 1e-3 * abs(losses[0]), f"the losses differ: {losses}"
    for _, model, _, _ in runs.values():
        sums = torch.stack([parameter.detach().double().sum() for parameter in model.parameters()])
        everywhere = [torch.empty_like(sums) for _ in range(dist.get_world_size())]
        dist.all_gather(everywhere, sums)
        assert all(torch.equal(other, sums) for other in everywhere), "the processes have different parameters"
    return {name: (min(walls), min(cpus)) for name, (walls, cpus, _) in figures.items()}


MODELS = {"LeNet, 50 images": LeNet, "LM, 20 x 10 words": LanguageModel, "policy, 64 states": Policy}


def worker(folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = {name: measure(kind) for name, kind in MODELS.items()}
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def launched(processes):
    """Returns the figures of all processes of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", __file__]
        subprocess.run([*command, "--worker", folder], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
        return [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")]


def main(counts):
    assert counts[0] == 1, "the scale factor needs the figures of one process"
    figures = {count: launched(count) for count in counts}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}\n")
    print("| model | variant | processes | ms a step | CPU ms a step | scale factor | CPU factor |")
    print("|---|---|---|---|---|---|---|")
    for model in MODELS:
        for variant in variants():
            alone = None
            for count, found in figures.items():
                wall = max(process[model][variant][0] for process in found)
                cpu = sum(process[model][variant][1] for process in found) / count
                alone = alone or (wall, cpu)
                row = f"{wall * 1e3:.2f} | {cpu * 1e3:.2f} | {alone[0] / wall:.2f} | {alone[1] / cpu:.2f}"
                print(f"| {model} | {variant} | {count} | {row} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(pathlib.Path(sys.argv[2]))
    else:
        main([int(argument) for argument in sys.argv[1:]] or [1, 2, 4])
