"""Checkpoints: restored values, reported differences, and errors, which change nothing. A program that is resumed from a
checkpoint has bitwise the same results as one that was not interrupted."""

import collections
import gc
import json
import os
import random
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import autograph as ag


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, 2)
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.losses = []
        self.best = float("inf")

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def saved(path, **roots):
    return ag.Checkpoint(**roots).save(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint"


# Interrupted training.

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

    path, count, kill_at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
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

    def run(name, kill_at):
        command = [sys.executable, program, tmp_path / name, "8", str(kill_at)]
        return subprocess.run(command, capture_output=True, text=True)

    whole = run("whole", 0)
    assert whole.returncode == 0, whole.stderr
    assert run("parts", 3).returncode == -signal.SIGKILL
    assert run("parts", 5).returncode == -signal.SIGKILL
    rest = run("parts", 100)
    assert rest.returncode == 0, rest.stderr
    assert_same_file(tmp_path / "whole.end", tmp_path / "parts.end")


def assert_same_file(a, b):
    """Whether two checkpoints have the same objects and tensors, to the last bit."""
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


# Restored in place.


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


# What did not match.


class Box:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def test_both_directions_are_listed(path):
    saved(path, box=Box(a=nn.Parameter(torch.ones(2)), old=nn.Linear(1, 1), n=1, gone=2), step=3)
    checkpoint = ag.Checkpoint(box=Box(a=nn.Parameter(torch.zeros(2)), new=nn.Linear(1, 1), n=0, fresh=0))
    status = checkpoint.restore(path)
    assert sorted(status.unused) == ["box.gone", "box.old", "step"]
    assert sorted(status.unmatched) == ["box.fresh", "box.new"]
    assert checkpoint.box.n == 1 and checkpoint.box.a.tolist() == [1, 1]
    with pytest.raises(AssertionError, match="not in the program: .*box.old(.|\n)*not in the checkpoint: .*box.new"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="box.fresh"):
        status.assert_existing_objects_matched()
    assert "box.old" in str(status)


def test_a_restore_in_part_is_a_warning(path):
    saved(path, x=1, y=2)
    with pytest.warns(UserWarning, match="restored in part\n  not in the program: y\n"):
        ag.Checkpoint(x=0).restore(path)
        gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.Checkpoint(x=0).restore(path).expect_partial()
        ag.Checkpoint(x=0).restore(path).assert_existing_objects_matched()
        ag.Checkpoint(x=0, y=0).restore(path)
        gc.collect()


def test_what_cannot_be_saved_is_a_warning(path):
    with pytest.warns(UserWarning, match=r"`box.lock` \(_thread.lock\)"):
        saved(
            path,
            box=Box(lock=threading.Lock(), function=test_both_directions_are_listed, dtype=torch.int8),
        )


def test_parts_that_cannot_be_saved_stay(path):
    def f():
        pass

    lock = threading.Lock()
    with pytest.warns(UserWarning, match=r"`a\[1\]` \(_thread.lock\)"):
        saved(path, a=[1, lock, f, 4, 5], b={"x": 1, "f": f}, c=(1, f, 2), d={1, f}, e=[f, 1])
    checkpoint = ag.Checkpoint(a=[0, lock, f], b={"x": 0, "f": f}, c=(0, f, 0), d={0, f}, e=[])
    status = checkpoint.restore(path)
    assert (checkpoint.a, checkpoint.b, checkpoint.c) == ([1, lock, f, 4, 5], {"x": 1, "f": f}, (1, f, 2))
    assert checkpoint.d == {0, f} and checkpoint.e == [] and sorted(status.unused) == ["d[1]", "e[1]"]
    with pytest.raises(AssertionError):
        status.assert_consumed()


def test_conflicting_references_are_reported(path):
    shared = nn.Parameter(torch.ones(2))
    saved(path, a=shared, b=shared)
    checkpoint = ag.Checkpoint(a=nn.Parameter(torch.zeros(2)), b=nn.Parameter(torch.zeros(2)))
    status = checkpoint.restore(path)
    assert status.conflicts == [("b", "a")] and checkpoint.a.tolist() == [1, 1] and checkpoint.b.tolist() == [0, 0]
    with pytest.raises(AssertionError, match="one object on one side, two on the other"):
        status.assert_consumed()
    saved(path, a=nn.Parameter(torch.ones(2)), b=nn.Parameter(torch.full((2,), 2.0)))
    checkpoint = ag.Checkpoint(a=shared, b=shared)
    with pytest.raises(AssertionError, match="not in the program: b"):
        checkpoint.restore(path).assert_consumed()


def test_the_nearest_object_is_matched_first(path):
    shared = nn.Parameter(torch.ones(1))
    saved(path, a=Box(x=shared), b=Box(inner=Box(x=shared)))
    near, far = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
    status = ag.Checkpoint(a=Box(x=near), b=Box(inner=Box(x=far))).restore(path).expect_partial()
    assert (near.item(), far.item()) == (1, 0) and status.conflicts == [("b.inner.x", "a.x")]


def test_data_is_replaced_by_the_saved_data(path):
    history = [1, 2, 3]
    saved(
        path,
        history=history,
        again=history,
        todo={"b": 1},
        seen={1, (2, 3)},
        queue=collections.deque([1], maxlen=2),
        state=None,
    )
    queue, old = collections.deque([5, 6], maxlen=2), [7]
    checkpoint = ag.Checkpoint(history=[], again=old, todo={"a": 0, "b": 0}, seen={9}, queue=queue, state=[1])
    checkpoint.restore(path).assert_consumed()
    assert checkpoint.history is old is checkpoint.again and old == history
    assert checkpoint.todo == {"b": 1} and checkpoint.seen == {1, (2, 3)} and list(queue) == [1] and queue.maxlen == 2
    assert checkpoint.state is None


def test_optimizers_are_matched_by_parameters(path):
    class Model(nn.Module):
        def __init__(self, names):
            super().__init__()
            for name in names:
                self.register_parameter(name, nn.Parameter(torch.randn(2)))

    def trained(names):
        model = Model(names)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        sum((index + 1) * p.sum() for index, p in enumerate(model.parameters())).backward()
        optimizer.step()
        return ag.Checkpoint(model=model, optimizer=optimizer)

    before = trained("abc")
    before.save(path)
    after = trained("cxa")
    status = after.restore(path)
    assert sorted(status.unused) == ["model.b", "optimizer.state[model.b]"]
    for name in "ca":
        states = [c.optimizer.state[getattr(c.model, name)]["momentum_buffer"] for c in (before, after)]
        assert torch.equal(*states)
    with pytest.raises(AssertionError, match="model.x"):
        status.assert_consumed()


def test_an_optimizer_alone_is_matched_by_positions(path):
    x = nn.Parameter(torch.ones(2))
    saved(path, optimizer=torch.optim.SGD([x], lr=0.5))
    other = nn.Parameter(torch.zeros(2))
    checkpoint = ag.Checkpoint(optimizer=torch.optim.SGD([other], lr=0.1))
    checkpoint.restore(path).assert_consumed()
    assert other.tolist() == [1, 1] and checkpoint.optimizer.param_groups[0]["lr"] == 0.5
    checkpoint = ag.Checkpoint(optimizer=torch.optim.Adam([other], lr=0.1))
    assert checkpoint.restore(path).expect_partial().unused and checkpoint.optimizer.param_groups[0]["lr"] == 0.1


# Deferred restores.


class Lazy(nn.Module):
    """Creates its layers when it is first called."""

    def __init__(self):
        super().__init__()
        self.layer = None

    def forward(self, x):
        if self.layer is None:
            self.layer = nn.Sequential(nn.Linear(x.shape[-1], 2), nn.ReLU())
            self.scale = nn.Parameter(torch.ones(2))
        return self.layer(x) * self.scale


def test_modules_are_restored_when_they_are_registered(path):
    x, model = torch.randn(4, 3), Lazy()
    model(x)
    with torch.no_grad():
        model.scale.fill_(3)
    saved(path, model=model)
    other = Lazy()
    checkpoint = ag.Checkpoint(model=other)
    status = checkpoint.restore(path)
    assert sorted(status.unused) == ["model.layer", "model.scale"]
    assert torch.equal(other(x), model(x))
    status.assert_consumed()
    wrong = Lazy()
    checkpoint = ag.Checkpoint(model=wrong)
    checkpoint.restore(path).expect_partial()
    with pytest.raises(ag.CheckpointError, match=r"model.layer.0.weight.*\[2, 5\].*\[2, 3\]"):
        wrong(torch.randn(4, 5))


def test_other_objects_are_restored_by_the_status(path):
    saved(path, box=Box(inner=Box(w=nn.Parameter(torch.ones(1)), n=4)))
    checkpoint = ag.Checkpoint(box=Box())
    status = checkpoint.restore(path)
    checkpoint.box.inner = Box(w=nn.Parameter(torch.zeros(1)), n=0)
    status.assert_consumed()
    assert checkpoint.box.inner.w.item() == 1 and checkpoint.box.inner.n == 4
    checkpoint.box.inner.n = 5
    status.assert_consumed()
    assert checkpoint.box.inner.n == 5


def test_an_update_keeps_what_the_program_has_changed(path):
    saved(path, a=Box(n=1, history=[1], pair=(1, 2), x=torch.ones(1)), late=nn.Parameter(torch.ones(1)))
    checkpoint = ag.Checkpoint(a=Box(n=0, history=[], pair=(0, 0), x=torch.zeros(1)))
    status = checkpoint.restore(path)
    checkpoint.a.n, checkpoint.a.pair = 7, (7, 8)
    checkpoint.a.history.append(7)
    checkpoint.a.x += 5
    checkpoint.late = nn.Parameter(torch.zeros(1))
    status.update().expect_partial()
    assert checkpoint.late.item() == 1
    assert vars(checkpoint.a) == {"n": 7, "history": [1, 7], "pair": (7, 8), "x": torch.tensor([6.0])}


def test_lazy_parameters_get_their_shape(path):
    saved(path, layer=nn.Linear(3, 2))
    lazy = nn.LazyLinear(2)
    weight = lazy.weight
    ag.Checkpoint(layer=lazy).restore(path).expect_partial()
    assert lazy.weight is weight and lazy.weight.shape == (2, 3) and lazy(torch.ones(1, 3)).shape == (1, 2)


# Errors change nothing.


def state_of(checkpoint):
    return checkpoint.n, checkpoint.box.values[:], checkpoint.x.clone(), checkpoint.generator.get_state()


def fresh():
    return ag.Checkpoint(
        n=5, box=Box(values=[5]), x=torch.full((3,), 5.0), generator=torch.Generator().manual_seed(5), z=None
    )


def assert_refused(path, error, match):
    checkpoint = fresh()
    before = state_of(checkpoint)
    with pytest.raises(error, match=match):
        checkpoint.restore(path)
    for old, new in zip(before, state_of(checkpoint)):
        assert torch.equal(old, new) if isinstance(old, torch.Tensor) else old == new


def good(path, **others):
    values = {"n": 1, "box": Box(values=[1, 2]), "x": torch.ones(3), "generator": torch.Generator(), **others}
    return saved(path, **values)


def test_missing_file(path):
    assert_refused(path, FileNotFoundError, "no checkpoint")
    assert_refused(path.parent, FileNotFoundError, "no checkpoint")


@pytest.mark.parametrize("other, text", [
    (torch.ones(4), r"`x` has the shape \[3\] in the program and \[4\] in"),
    (torch.ones(3, dtype=torch.int32), "`x` has the dtype torch.float32 in"),
])  # fmt: skip
def test_other_shapes_and_dtypes(path, other, text):
    good(path, x=other)
    assert_refused(path, ag.CheckpointError, text)


def test_a_state_that_does_not_fit_is_undone(path):
    class Picky:
        def __init__(self):
            self.loaded = {"v": 0}

        def state_dict(self):
            return dict(self.loaded)

        def load_state_dict(self, state):
            self.loaded = dict(state)
            if state["v"] == 13:
                raise ValueError("unlucky")

    picky = Picky()
    picky.loaded["v"] = 13
    good(path, z=picky)
    checkpoint = fresh()
    checkpoint.z = Picky()
    before = state_of(checkpoint)
    with pytest.raises(ag.CheckpointError, match="does not fit `z`: unlucky"):
        checkpoint.restore(path)
    assert checkpoint.z.loaded == {"v": 0}
    assert all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(before, state_of(checkpoint))
    )


def test_memory_that_is_shared_in_the_program_only(path):
    saved(path, a=torch.zeros(2), b=torch.ones(2))
    x = torch.full((2,), 7.0)
    with pytest.raises(ag.CheckpointError, match="`a`, `b` share memory"):
        ag.Checkpoint(a=x, b=x.view(2)).restore(path)
    assert x.tolist() == [7, 7]


def test_truncated_and_changed_files(path):
    good(path)
    content = path.read_bytes()
    rng = random.Random(0)
    for _ in range(60):
        path.write_bytes(content[: rng.randrange(len(content))])
        assert_refused(path, ag.CheckpointError, "is damaged(.|\n)*help:")
    for _ in range(200):
        changed = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(2000)] = rng.randrange(256)
        path.write_bytes(changed)
        try:
            fresh().restore(path).expect_partial()
        except (ag.CheckpointError, FileNotFoundError):
            assert_refused(path, ag.CheckpointError, None)


def rewritten(path, change):
    """Changes the JSON of a checkpoint."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    document = json.loads(header["__metadata__"]["autograph.objects"])
    found = change(document)
    header["__metadata__"]["autograph.objects"] = found if isinstance(found, str) else json.dumps(document)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


def tensor(document):
    return next(node for node in document["nodes"] if node["kind"] == "tensor")


@pytest.mark.parametrize("change", [
    lambda d: "[" * 100_000,
    lambda d: d.update(version=2),
    lambda d: d.update(nodes=[]),
    lambda d: d.update(nodes={}),
    lambda d: d["nodes"][0].update(kind="os.system"),
    lambda d: d["nodes"][0]["edges"][0].__setitem__(1, {"node": 99}),
    lambda d: d["nodes"][0]["edges"][0].__setitem__(1, {"node": -1}),
    lambda d: d["nodes"][0]["edges"][0].__setitem__(1, {"eval": "1"}),
    lambda d: d["nodes"][0]["edges"][0].__setitem__(1, [1]),
    lambda d: d["nodes"][0]["edges"][0].__setitem__(0, 3),
    lambda d: tensor(d).update(tensor="missing"),
    lambda d: tensor(d).update(shape=[1 << 60]),
    lambda d: tensor(d).update(shape=[-1]),
    lambda d: tensor(d).update(stride=[1 << 40]),
    lambda d: tensor(d).update(offset=1 << 40),
    lambda d: tensor(d).update(dtype="float128"),
    lambda d: tensor(d).update(dtype="int64"),
    lambda d: d["nodes"].append({"kind": "list", "items": []}),
    lambda d: d["nodes"].append({"kind": "array", "tensor": "x", "dtype": "O", "shape": [1]}),
])  # fmt: skip
def test_hostile_documents(path, change):
    good(path)
    rewritten(path, change)
    assert_refused(path, ag.CheckpointError, "not a checkpoint of this package, or it is damaged(.|\n)*help:")


def test_a_file_of_tensors_only(path):
    save_file({"x": torch.ones(3)}, path)
    assert_refused(path, ag.CheckpointError, "no objects")


def test_deep_structures(path):
    def chain(length):
        first = last = Box(n=length)
        for index in range(length):
            last.next = Box(n=index, values=[index])
            last = last.next
        return first

    nested = []
    for _ in range(5000):
        nested = [nested]
    saved(path, chain=chain(5000), nested=nested)
    checkpoint = ag.Checkpoint(chain=chain(5000), nested=[])
    checkpoint.restore(path).assert_consumed()
    depth = 0
    while checkpoint.nested:
        checkpoint.nested, depth = checkpoint.nested[0], depth + 1
    assert depth == 5000


def test_a_checkpoint_in_staged_code_is_an_error(path):
    checkpoint = ag.Checkpoint(x=torch.ones(1))

    @ag.function
    def function(x):
        checkpoint.save(path)
        return x

    with pytest.raises(ag.StagingError, match="`Checkpoint.save` cannot be part of a graph(.|\n)*checkpoint.save"):
        function(torch.ones(1))
    with pytest.raises(TypeError, match="`save`"):
        ag.Checkpoint(save=1)


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
