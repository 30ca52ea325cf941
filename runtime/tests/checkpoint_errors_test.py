"""The restore of an invalid checkpoint, such as a damaged file, raises an error and changes nothing."""

import json
import random
import struct

import pytest
import torch
from safetensors.torch import save_file

import autograph as ag
from checkpoints import Box, saved


def state_of(checkpoint):
    return checkpoint.n, checkpoint.box.values[:], checkpoint.x.clone(), checkpoint.generator.get_state()


def fresh():
    return ag.Checkpoint(
        n=5, box=Box(values=[5]), x=torch.full((3,), 5.0), generator=torch.Generator().manual_seed(5), z=None
    )


def assert_refused(path, error, match):
    """Asserts that a restore raises this error, and that the program keeps its values."""
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
    """Replaces the JSON header of a checkpoint by a changed one."""
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
