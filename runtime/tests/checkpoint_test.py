"""Checkpoints restore values in place, and torch and other programs read them."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import autograph as ag
from checkpoints import Box, Net, saved


def test_tensors_keep_their_identity(path):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    saved(path, model=model, optimizer=optimizer)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    tensors = [
        *model.parameters(),
        *model.buffers(),
        *(t for state in optimizer.state.values() for t in state.values()),
    ]
    before = [(id(tensor), tensor.data_ptr()) for tensor in tensors]
    with torch.no_grad():
        for tensor in tensors:
            tensor.add_(1)
    ag.Checkpoint(model=model, optimizer=optimizer).restore(path).assert_consumed()
    assert before == [(id(tensor), tensor.data_ptr()) for tensor in tensors]
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


def test_staged_functions_see_restored_values(path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(2.0))
            self.scale, self.count, self.parts = 3, 0, [1.0]
            self.state = None

        @ag.function
        def forward(self, x):
            self.count += 1
            y = x * self.weight * self.scale + sum(self.parts)
            self.state = y if self.state is None else self.state + y
            return self.state

    model = Model()
    checkpoint = ag.Checkpoint(model=model)
    x = torch.tensor(1.0)
    found = [model(x).item() for _ in range(3)]
    checkpoint.save(path)
    after = [model(x).item() for _ in range(2)]
    with torch.no_grad():
        model.weight.fill_(100)
    model.scale, model.parts[0] = 5, 9.0
    model(x)
    checkpoint.restore(path).assert_consumed()
    assert model.count == len(found) and [model(x).item() for _ in range(2)] == after


def test_a_staged_training_sees_restored_values(path):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    checkpoint = ag.Checkpoint(model=model, optimizer=optimizer)

    @ag.function
    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.randn(5, 3)
    step(x), step(x)
    checkpoint.save(path)
    expected = [step(x).item() for _ in range(3)]
    checkpoint.restore(path).assert_consumed()
    assert [step(x).item() for _ in range(3)] == expected
    fresh = Net()
    other = ag.Checkpoint(model=fresh, optimizer=torch.optim.Adam(fresh.parameters(), lr=0.5))
    other.restore(path).assert_consumed()
    model, optimizer = fresh, other.optimizer
    assert [step(x).item() for _ in range(3)] == expected


def test_shared_tensors_are_stored_once(path):
    weight = nn.Parameter(torch.randn(100, 100))
    whole = torch.randn(1000)
    first, second = nn.Linear(100, 100), nn.Linear(100, 100)
    first.weight = second.weight = weight
    saved(path, first=first, second=second, whole=whole, part=whole[10:20], turned=whole.view(10, 100).t(), odd=None)
    assert path.stat().st_size < 4 * (10_000 + 1000 + 200) + 6000
    fresh = ag.Checkpoint(
        first=nn.Linear(100, 100),
        second=nn.Linear(100, 100),
        whole=None,
        part=None,
        turned=torch.zeros(100, 10),
        odd=None,
    )
    fresh.second.weight = fresh.first.weight
    fresh.restore(path).assert_consumed()
    assert torch.equal(fresh.second.weight, weight)
    fresh.whole[15] = 42
    assert fresh.part[5] == 42 and torch.equal(fresh.turned, whole.view(10, 100).t())


def test_views_of_a_tensor_of_the_program_share_its_memory(path):
    x = torch.arange(6.0)
    saved(path, x=x, row=x[2:4])
    checkpoint = ag.Checkpoint(x=torch.zeros(6), row=None)
    checkpoint.restore(path).assert_consumed()
    checkpoint.x[2] = 9
    assert checkpoint.row.tolist() == [9, 3]


@pytest.mark.parametrize(
    "dtype",
    [
        torch.bfloat16,
        torch.float16,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.int8,
        torch.uint16,
        torch.bool,
    ],
)
def test_all_dtypes_and_layouts_round_trip(path, dtype):
    x = torch.arange(24).reshape(2, 3, 2, 2).to(dtype)
    values = {
        "a": x,
        "b": x.contiguous(memory_format=torch.channels_last),
        "c": x[:, ::2],
        "d": x[:0],
        "e": x[0, 0, 0, 0].clone(),
    }
    saved(path, values=values)
    checkpoint = ag.Checkpoint(values={})
    checkpoint.restore(path).assert_consumed()
    for name, value in values.items():
        assert torch.equal(checkpoint.values[name], value) and checkpoint.values[name].stride() == value.stride()


# Interchange with torch.


def test_state_dicts_of_torch(path):
    torch.manual_seed(0)
    model = Net()
    model.tied = model.first
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step(), scheduler.step()
    saved(path, model=model, trainer=Box(optimizer=optimizer, scheduler=scheduler))
    expected = model.state_dict()
    found = ag.Checkpoint.state_dict(path, "model")
    assert list(found) == list(expected) and all(torch.equal(found[name], expected[name]) for name in found)
    torch.testing.assert_close(
        ag.Checkpoint.state_dict(path, "trainer.optimizer"), optimizer.state_dict(), rtol=0, atol=0
    )
    assert ag.Checkpoint.state_dict(path, "trainer.scheduler") == scheduler.state_dict()
    with pytest.raises(ag.CheckpointError, match="help: pass one of .*trainer.optimizer"):
        ag.Checkpoint.state_dict(path, "optimizer")


def test_other_programs_can_read_the_tensors(path):
    model = nn.Linear(2, 2)
    saved(path, model=model, step=np.float32(3))
    assert torch.equal(load_file(path)["model.weight"], model.weight)
    checkpoint = ag.Checkpoint(model=nn.Linear(2, 2), step=None)
    checkpoint.restore(path).assert_consumed()
    assert type(checkpoint.step) is np.float32 and checkpoint.step == 3
