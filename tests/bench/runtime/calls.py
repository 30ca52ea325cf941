"""Measures the overhead of calls: CPU microseconds of a call, eager and staged, in alternating batches of one process.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/calls.py [NAME...]

Each program does so little that almost all of a call is overhead: finding the graph, checking its guards, converting
arguments and results. The results are compared with those of eager torch. Prints the minimum and the median of the batches.
"""

import statistics
import sys
import time

import autograph as ag
import torch
from harness import difference

BATCHES = 41


def add(x, y):
    return x + y


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 0.5
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x * self.weight * self.rate


def in_dictionary(batch):
    return {"sum": batch["x"] + batch["y"], "count": batch["count"]}


def optimized(layers):
    """Returns the program of a step of Adam over small layers."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(layers)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)

    def step():
        optimizer.step()
        return [parameter.detach() for parameter in model.parameters()]

    return step, ()


def tensors(**options):
    torch.manual_seed(0)
    return torch.randn(8, **options), torch.randn(8)


def of_module():
    torch.manual_seed(0)
    model = Scale()
    return model.forward, (torch.randn(8),)


def of_module_without_gradients():
    program, arguments = of_module()
    return torch.no_grad()(program), arguments


def of_dictionary():
    x, y = tensors()
    return in_dictionary, ({"x": x, "y": y, "count": 3},)


#: name -> (a function that makes the program and its arguments, calls per batch)
PROGRAMS = {
    "add": (lambda: (add, tensors()), 500),
    "add, gradient wanted": (lambda: (add, tensors(requires_grad=True)), 200),
    "module": (of_module, 200),
    "module, no gradient": (of_module_without_gradients, 200),
    "dictionary": (of_dictionary, 200),
    "Adam, 200 layers": (lambda: optimized(200), 2),
}


def batch(program, arguments, count):
    start = time.process_time()
    for _ in range(count):
        program(*arguments)
    return (time.process_time() - start) / count * 1e6


def measure(name):
    make, count = PROGRAMS[name]
    (eager, arguments), (program, same) = make(), make()
    staged = ag.function(program)
    variants, times = [("eager", eager, arguments), ("staged", staged, same)], {"eager": [], "staged": []}
    for _ in range(BATCHES):
        for variant, function, given in variants:
            times[variant].append(batch(function, given, count))
        variants.reverse()
    worst = difference(staged(*same), eager(*arguments))
    assert worst < 1e-5, f"{name}: the results differ by {worst}"
    cells = [f"{min(found):.1f} | {statistics.median(found[1:]):.1f}" for found in times.values()]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| call | eager, us, minimum | median | staged, us, minimum | median |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or PROGRAMS:
        measure(name)


main()
