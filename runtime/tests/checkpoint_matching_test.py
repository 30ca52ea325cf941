"""A restore matches the objects of a checkpoint with those of a program, including objects that the program creates later.
It reports the objects that have no match."""

import collections
import gc
import threading
import warnings

import pytest
import torch
from torch import nn

import autograph as ag
from checkpoints import Box, saved


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


def test_a_partial_restore_is_a_warning(path):
    saved(path, x=1, y=2)
    with pytest.warns(UserWarning, match="was partially restored\n  not in the program: y\n"):
        ag.Checkpoint(x=0).restore(path)
        gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.Checkpoint(x=0).restore(path).expect_partial()
        ag.Checkpoint(x=0).restore(path).assert_existing_objects_matched()
        ag.Checkpoint(x=0, y=0).restore(path)
        gc.collect()


def test_an_object_that_cannot_be_saved_is_a_warning(path):
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
