"""A training run that is killed and resumed from a checkpoint has bitwise the same results as an uninterrupted run."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
from safetensors import safe_open

import autograph as ag
from checkpoints import saved


TRAINING = """
    import os, random, signal, sys
    import numpy as np, torch, autograph as ag
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))
            self.calls, self.recent, self.average = 0, [], None

        def forward(self, x):
            return self.layers(x)

    class Trainer:
        def __init__(self, seed):
            torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)
            self.model = Net()
            self.optimizer = {optimizer}
            self.scheduler = torch.optim.lr_scheduler.{scheduler}
            self.noise = torch.Generator().manual_seed(seed)
            self.draws = random.Random(seed)
            self.arrays = np.random.default_rng(seed)
            self.step_ = {wrap}(self.step)

        def step(self, x, y):
            self.optimizer.zero_grad()
            loss = (self.model(x) - y).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            self.model.calls += 1
            return loss.detach()

        def train(self):
            x = torch.randn(6, 4) + torch.randn(6, 4, generator=self.noise) + self.draws.random() + random.random()
            y = torch.as_tensor(np.random.rand(6, 1) + self.arrays.random((6, 1)), dtype=torch.float32)
            loss = self.step_(x, y)
            self.scheduler.step()
            self.model.recent = [*self.model.recent[-3:], loss.item()]
            self.model.average = loss if self.model.average is None else self.model.average * 0.9 + loss * 0.1

    def run(path, count, kill_at):
        resumes = os.path.exists(path)
        trainer = Trainer(99 if resumes else 1)
        checkpoint = ag.Checkpoint(trainer=trainer, random=ag.RandomState(), done=0)
        if resumes:
            checkpoint.restore(path).assert_consumed()
        while checkpoint.done < count:
            trainer.train()
            checkpoint.done += 1
            if kill_at:
                checkpoint.save(path)
                if checkpoint.done == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        checkpoint.save(path + ".end")

    # Each run is a process of its own. Forked processes do not import torch again.
    for path, kill_at in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
        child = os.fork()
        if child == 0:
            run(path, 8, kill_at)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
"""

OPTIMIZERS = {
    "adam": "torch.optim.Adam(self.model.parameters(), lr=0.01, amsgrad=True)",
    "sgd": "torch.optim.SGD([dict(params=self.model.layers[0].parameters()), "
    "dict(params=self.model.layers[4].parameters(), lr=0.3)], lr=0.1, momentum=0.9)",
    "rmsprop": "torch.optim.RMSprop(self.model.parameters(), lr=0.01, centered=True)",
}
SCHEDULERS = {
    "steps": "MultiStepLR(self.optimizer, [2, 5, 5])",
    "cycle": "OneCycleLR(self.optimizer, 0.1, 20)",
    "lambda": "LambdaLR(self.optimizer, lambda epoch: 0.9 ** epoch)",
    "chain": "SequentialLR(self.optimizer, [torch.optim.lr_scheduler.ConstantLR(self.optimizer), "
    "torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 5)], [3])",
}


@pytest.mark.parametrize("wrap", ["", "ag.function"])
@pytest.mark.parametrize("optimizer, scheduler", list(zip([*OPTIMIZERS, "adam"], SCHEDULERS)))
def test_a_killed_training_continues_bitwise_equal(tmp_path, wrap, optimizer, scheduler):
    program = tmp_path / "train.py"
    text = TRAINING.replace("{optimizer}", OPTIMIZERS[optimizer]).replace("{scheduler}", SCHEDULERS[scheduler])
    program.write_text(textwrap.dedent(text.replace("{wrap}", wrap)))

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    command = [sys.executable, program, whole, "0", parts, "3", parts, "5", parts, "100"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "-9", "-9", "0"], done.stderr
    assert_same_file(tmp_path / "whole.end", tmp_path / "parts.end")


def assert_same_file(a, b):
    """Asserts that two checkpoints have the same objects and tensors, bit for bit."""
    with safe_open(a, "np") as a, safe_open(b, "np") as b:
        assert a.metadata() == b.metadata() and a.keys() == b.keys()
        for name in a.keys():
            assert a.get_tensor(name).tobytes() == b.get_tensor(name).tobytes(), name


def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_checkpoint(path):
    program = """
        import sys, torch, autograph as ag
        checkpoint = ag.Checkpoint(x=torch.zeros(200_000), step=0)
        while True:
            checkpoint.step += 1
            checkpoint.x += 1
            checkpoint.save(sys.argv[1])
            print(checkpoint.step, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), path], stdout=subprocess.PIPE)
    process.stdout.readline()
    for delay in (0.05, 0.011, 0.023):
        time.sleep(delay)
        process.send_signal(signal.SIGSTOP)  # at any point
        checkpoint = ag.Checkpoint(x=torch.zeros(200_000), step=0)
        checkpoint.restore(path).assert_consumed()
        assert (checkpoint.x == checkpoint.step).all()
        process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def test_a_save_that_fails_leaves_the_old_file(path):
    class Broken:
        def state_dict(self):
            raise KeyError("no state")

        def load_state_dict(self, state):
            pass

    saved(path, x=torch.ones(2))
    content = path.read_bytes()
    for broken, error in [(Broken(), KeyError), (torch.ones(2).to_sparse(), ag.CheckpointError)]:
        with pytest.raises(error):
            saved(path, x=torch.zeros(2), y=broken)
    assert path.read_bytes() == content and os.listdir(path.parent) == [path.name]
