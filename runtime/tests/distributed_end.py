"""A training run in which one process ends early: `torchrun distributed_end.py killed|returns FILE`. The time of the
end is written to the file."""

import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the group exists: default arguments in this module would keep the group alive

import autograph as ag

dist.init_process_group("gloo")
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters())


@ag.function
def step(x):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    ag.average_gradients(model.parameters())
    optimizer.step()


for count in range(1_000_000):
    step(torch.ones(4, 8))
    if count == 20 and dist.get_rank() == 1:
        pathlib.Path(sys.argv[2]).write_text(str(time.time()))
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        break

# Ends the threads of gloo. A thread that releases a tensor while the interpreter exits aborts the process. This also
# happens in eager torch.
dist.destroy_process_group()
