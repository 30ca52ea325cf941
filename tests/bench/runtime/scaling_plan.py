"""JANUS's Figure 8 for more processes than this machine has: computes the scale factor of data-parallel training on GPUs.
Nothing is measured.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/scaling_plan.py [GPUS...]    # default: 2 4 8 16 36 64

The computation of a step takes its floating-point operations (`torch.utils.flop_counter`) divided by `SPEED`: a third of the
time for the forward pass, the rest for the backward pass. The exchange of a bucket of gradients takes the time that
`torch._inductor.comm_analysis` estimates for NCCL on machines with 8 A100 GPUs. NVLink connects the GPUs of a machine, and a
network with the bandwidth `inter_node_bw` connects the machines. Buckets are exchanged one after another:

- with overlap, as in a graph and in `DistributedDataParallel`, as soon as the backward pass has computed their gradients;
- without overlap, after the whole backward pass.

The optimizer and the input of data are left out.
"""

import sys
from pathlib import Path

import torch
from autograph.operators.average_gradients import buckets_of
from torch import nn
from torch._inductor import config
from torch._inductor.comm_analysis import NCCL_COLL, estimate_nccl_collective_runtime_impl
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "staged"))
from language_model import LanguageModel
from resnet import ResNet

#: Floating-point operations per second of one GPU: 40 % of the 19.5 TFLOP/s that an A100 reaches with float32.
SPEED = 0.4 * 19.5e12
BUCKET = 25 * 2**20


def resnet50():
    """ResNet-50 and a batch of 64 images, as in JANUS's Table 2."""
    model = ResNet((3, 4, 6, 3), width=64, classes=1000)
    model.stem = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)
    )
    return model, (torch.empty(64, 3, 224, 224),)


def language_model():
    """A language model with about the 0.83 billion parameters of JANUS's LM, and a batch of 256 sequences of 20 words."""
    model = LanguageModel(words=793_471, width=1024)
    return model, (torch.zeros(20, 256, dtype=torch.int64), *model.initial(256))


def operations(model, arguments):
    """Returns the floating-point operations of a forward pass, and the share of each parameter in them. The operations that
    a module executes itself, without its submodules, are divided equally among its own parameters."""
    with FlopCounterMode(display=False) as counter:
        model(*arguments)
    counts, shares = counter.get_flop_counts(), {}
    for name, module in model.named_modules():
        own = list(module.parameters(recurse=False))
        executed = sum(counts.get(f"{type(model).__name__}.{name}", {}).values())
        shares.update((parameter, executed / len(own)) for parameter in own)
    return counter.get_total_flops(), shares


def scale_factor(processes, total, shares, overlaps):
    """Returns the time of a step in one process, divided by the time of a step in `processes` processes."""
    forward, backward = total / SPEED * 1e3, 2 * total / SPEED * 1e3
    computed = communicated = forward
    for bucket in reversed(buckets_of(shares, BUCKET)):
        computed += backward * sum(shares[parameter] for parameter in bucket) / sum(shares.values())
        bytes = sum(parameter.numel() * parameter.element_size() for parameter in bucket)
        ready = computed if overlaps else forward + backward
        exchange = estimate_nccl_collective_runtime_impl(bytes, processes, NCCL_COLL.ALL_REDUCE)
        communicated = max(communicated, ready) + exchange
    return (forward + backward) / max(communicated, forward + backward)


def main():
    counts = [int(argument) for argument in sys.argv[1:]] or [2, 4, 8, 16, 36, 64]
    print(f"intra_node_bw {config.intra_node_bw} GB/s, inter_node_bw {config.inter_node_bw} GB/s\n")
    print(f"| model | parameters | GFLOP forward | exchange | {' | '.join(f'{count} GPUs' for count in counts)} |")
    print("|---" * (len(counts) + 4) + "|")
    for create in (resnet50, language_model):
        with torch.device("meta"):
            model, arguments = create()
            total, shares = operations(model, arguments)
        size = f"{sum(parameter.numel() for parameter in shares) / 1e6:.1f} M | {total / 1e9:.0f}"
        for text, overlaps in (("overlaps", True), ("after the backward pass", False)):
            factors = [scale_factor(count, total, shares, overlaps) for count in counts]
            assert all(0 < factor <= 1 for factor in factors)
            print(f"| {create.__name__} | {size} | {text} | {' | '.join(f'{factor:.2f}' for factor in factors)} |")


main()
