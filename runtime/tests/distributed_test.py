"""Staged code in several processes: collectives, gradients, and the end of a process.

`distributed_checks.py` runs in 2 and 4 processes with gloo, started by `torchrun`; each of its checks is a test here."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import autograph as ag
import distributed_checks
from autograph.errors import StagingError

HERE = pathlib.Path(__file__).parent


def torchrun(processes, *command):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *map(str, command)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module", params=[2, 4])
def outcomes(request, tmp_path_factory):
    """Returns the finished command, and the outcomes of the checks in each process."""
    folder = tmp_path_factory.mktemp("checks")
    programs = 12 if request.param == 2 else 4
    finished = torchrun(request.param, HERE / "distributed_checks.py", folder, programs)
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    assert len(found) == request.param, finished.stdout + finished.stderr
    return finished, found


@pytest.mark.parametrize("name", distributed_checks.CHECKS)
def test_check(outcomes, name):
    finished, found = outcomes
    for process in found:
        if name not in process and any(outcome != "passed" for outcome in process.values()):
            pytest.skip("an earlier check has failed")
        assert process.get(name) == "passed", process.get(name, finished.stderr)


def test_all_processes_end(outcomes):
    finished, _ = outcomes
    assert finished.returncode == 0, finished.stdout + finished.stderr


def ended(how, folder):
    """Trains in two processes; the second one ends early. Asserts that all processes end within 10 seconds, or on a
    busy machine within 10 seconds times the load per processor. Returns the standard error."""
    start = folder / "start"
    finished = torchrun(2, HERE / "distributed_end.py", how, start)
    seconds = time.time() - float(start.read_text())
    assert seconds < 10 * max(1, os.getloadavg()[0] / os.cpu_count())
    assert finished.returncode != 0
    return finished.stderr


def test_a_killed_process_ends_all(tmp_path):
    text = ended("killed", tmp_path)
    cause = text[text.index("Root Cause") :]
    assert "rank      : 1 " in cause and "SIGKILL" in cause, text


def test_a_collective_names_the_process_that_has_ended(tmp_path):
    """`torchrun` does not report a process that has returned. The collective must raise, or it would wait forever."""
    text = ended("returns", tmp_path)
    assert "RuntimeError: rank 1 (process" in text, text
    assert "has ended, so that this collective cannot complete" in text
    assert "distributed_end.py" in text and "ag.average_gradients(model.parameters())" in text


# Tests in one process.


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def order(graph):
    """Returns the operations of a graph without operands, one per line."""
    lines = [line.split(" = ")[-1].strip() for line in graph.splitlines() if " at " in line]
    return [" ".join(line.split("(")[0].split()) for line in lines]


def test_equal_collectives_are_neither_merged_nor_removed(alone):
    @ag.function
    def twice(x):
        functional.all_reduce(x, "sum", alone)
        return functional.all_reduce(x, "sum", alone) + functional.all_reduce(x, "sum", alone)

    found = order(twice.graph(torch.ones(2)))
    assert found == ["start 0", "start 2", "start 4", "python 3", "python 5", "aten.add.Tensor", "python 1"]


def test_the_wait_is_at_the_first_use(alone):
    @ag.function
    def step(x):
        y = functional.all_reduce(x, "sum", alone)
        z = (x @ x).sin()
        if z.sum() > 0:
            z = z.view(-1)[:3] + y.view(-1)[:3]
        else:
            z = z.view(-1)[:3]
        return z

    found = order(step.graph(torch.ones(3, 3)))
    assert found[0] == "start 0"
    assert found.index("aten.sin.default") < found.index("item") < found.index("python 1")


def test_buckets_are_averaged_while_parameters_are_updated(alone, monkeypatch):
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: 2)
    first, second = (torch.zeros(3, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([first, second])

    @ag.function
    def step(x):
        (first * x + second * x * x).sum().backward()
        ag.average_gradients([first, second], bucket_cap_mb=1e-9)
        optimizer.step()

    found = [line for line in order(step.graph(torch.ones(3))) if line.startswith(("start", "python", "aten.add"))]
    updates = [index for index, line in enumerate(found) if line == "aten.add.Tensor"][-2:]
    assert found.index("start 2") < found.index("python 3") < updates[0] < found.index("python 1") < updates[1]


def test_a_bucket_is_started_before_the_gradients_of_other_buckets_are_computed(alone, monkeypatch):
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: 2)
    first, second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 4)

    @ag.function
    def step(x):
        second(first(x).tanh()).sum().backward()
        ag.average_gradients([first.weight, second.weight], bucket_cap_mb=1e-9)

    found = [line for line in order(step.trace(torch.ones(5, 2)).graph.optimized().text()) if line.startswith(("start", "aten.mm"))]
    starts = [index for index, line in enumerate(found) if line.startswith("start")]
    products = [index for index, line in enumerate(found) if line.startswith("aten.mm")]
    assert [found[index] for index in starts] == ["start 0", "start 2"], found
    assert starts[0] < products[-1] < starts[1], found


def refused(function, *arguments):
    with pytest.raises(StagingError) as error:
        function(*arguments)
    assert f'File "{__file__}"' in str(error.value)
    assert "help: " in str(error.value)
    return str(error.value)


def test_a_collective_that_writes_has_no_derivative(alone):
    @ag.function
    def total(x):
        y = x * 2
        dist.all_reduce(y)
        return y.sum()

    x = torch.ones(2, requires_grad=True)
    assert total(x) == 4
    message = refused(lambda: total(x).backward())
    assert "such as `all_reduce`, has no derivative" in message
    assert "dist.all_reduce(y)" in message


def test_a_maximum_has_no_derivative(alone):
    @ag.function
    def gradient(x):
        return torch.autograd.grad(functional.all_reduce(x, "max", alone).sum(), x)

    assert "the reduction `max` has no derivative" in refused(gradient, torch.ones(2, requires_grad=True))


def test_objects_and_groups_are_refused(alone):
    @ag.function
    def of_objects(x):
        dist.all_gather_object([None], 1)
        return x

    @ag.function
    def new_group(x):
        dist.new_group([0])
        return x

    @ag.function
    def from_any(x):
        dist.recv(x * 1)
        return x

    assert "`torch.distributed.all_gather_object` cannot be staged" in refused(of_objects, torch.ones(2))
    assert "`torch.distributed.new_group` cannot be staged" in refused(new_group, torch.ones(2))
    assert "`recv_any_source_` cannot be staged" in refused(from_any, torch.ones(2))


@ag.function
def call(model, x):
    return model(x)


@pytest.mark.parametrize("option", ["find_unused_parameters", "static_graph"])
def test_options_of_ddp_are_refused(alone, option):
    model = DistributedDataParallel(torch.nn.Linear(2, 2), **{option: True})
    message = refused(call, model, torch.ones(2))
    assert f"with `{option}=True` cannot be staged" in message
    assert "ag.average_gradients(ddp.module.parameters())" in message


def test_a_communication_hook_is_refused(alone):
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    model.register_comm_hook(None, fp16_compress_hook)
    assert "with a communication hook cannot be staged" in refused(call, model, torch.ones(2))


def test_an_unused_parameter_is_refused(alone):
    class Partial(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    model = DistributedDataParallel(Partial())

    @ag.function
    def step(x):
        model(x).sum().backward()

    assert "does not depend on the parameter `other.weight`" in refused(step, torch.ones(2))


def test_fsdp_is_refused(alone):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    assert "has parameters that FSDP distributes over processes" in refused(call, model, torch.ones(2))

    @ag.function
    def of_parameters():
        return [p * 2 for p in model.parameters()]

    assert "a tensor of the class `DTensor`" in refused(of_parameters)


def test_average_gradients_names_the_missing_gradient(alone):
    model = torch.nn.Linear(2, 3)
    with pytest.raises(ValueError, match=r"parameter 0 of shape \[3, 2\] has no gradient\nhelp: call `backward` before"):
        ag.average_gradients(model.parameters())
    ag.average_gradients(model.parameters(), missing="zeros")
    assert model.weight.grad.count_nonzero() == 0
    model.weight.requires_grad_(False)
    model.bias.grad = torch.ones(3)
    ag.average_gradients(model.parameters())
    assert model.bias.grad.sum() == 3
    with pytest.raises(ValueError, match="`missing` is"):
        ag.average_gradients(model.parameters(), missing="zero")


def test_average_gradients_needs_a_process_group():
    with pytest.raises(RuntimeError, match="start the program with `torchrun`"):
        ag.average_gradients(torch.ones(2, requires_grad=True))


def test_a_group_that_is_created_again():
    """Traces depend on the rank and the number of processes. A run uses the group that exists at the time of the
    run."""

    @ag.function
    def total(x):
        return functional.all_reduce(x, "sum", dist.group.WORLD) if dist.is_initialized() else x * 5

    x = torch.ones(2)
    assert total(x).sum() == 10
    for _ in range(2):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        assert total(x).sum() == 2
        dist.destroy_process_group()
    assert total(x).sum() == 10
