"""Random graphs of objects with cycles and shared parts: after a restore, a new program has the same graph of objects as the
program that saved the checkpoint. The environment variables `PROGRAMS` and `FIRST` select the seeds."""

import collections
import os
import random

import numpy as np
import pytest
import torch

import autograph as ag

PROGRAMS = int(os.environ.get("PROGRAMS", 300))
FIRST = int(os.environ.get("FIRST", 0))


class Plain:
    pass


class Slots:
    __slots__ = ("a", "b", "c", "d")


class Pair(collections.namedtuple("Pair", "left right")):
    pass


def program(shape, data, has_data):
    """Returns the checkpoint of a random program. The generator `shape` chooses its objects, the generator `data` its
    values."""
    objects = [shape.choice([Plain, Slots, torch.nn.Module])() for _ in range(shape.randint(2, 7))]
    parameters = [torch.nn.Parameter(_tensor(data)) for _ in range(3)]
    pool = []
    for index in range(1, len(objects)):  # makes every object reachable
        free = [(owner, name) for owner in objects[:index] for name in "abcd" if not hasattr(owner, name)]
        setattr(*shape.choice(free), objects[index])
    for owner in objects:
        for name in "abcd" if isinstance(owner, Slots) else "abcdefg":
            if not hasattr(owner, name):
                choice = shape.randrange(8)
                if choice == 0:
                    value = shape.choice(objects)
                elif choice == 1:
                    value = shape.choice(parameters)
                elif choice == 2:
                    value = [
                        shape.choice(objects),
                        shape.choice(parameters),
                        (shape.choice(parameters), _data(data, [], 2, has_data)),
                    ]
                elif choice == 3:
                    value = {
                        "p": shape.choice(parameters),
                        ("x", 1): _data(data, pool, 1, has_data),
                        "o": shape.choice(objects),
                    }
                elif choice == 4 and isinstance(owner, torch.nn.Module):
                    owner.register_buffer(name, _tensor(data))
                    continue
                else:
                    value = _data(data, pool, 0, has_data)
                setattr(owner, name, value)
    return ag.Checkpoint(root=objects[0], step=data.randint(0, 99))


def _tensor(rng):
    return torch.tensor([rng.random(), rng.random()])


def _data(rng, pool, depth, has_tensors):
    choice = rng.randrange(15)
    if pool and choice < 3:
        return rng.choice(pool)
    if depth > 3 or choice < 7:
        return rng.choice([
            1, 0, True, None, "", "ä\ud800", 2.5, -0.0, float("inf"), float("nan"), 1 << 80, -7, 3 + 0.5j, b"\x00\xff",
        ])  # fmt: skip
    if choice in (7, 8) and has_tensors:
        tensor = _tensor(rng)
        value = rng.choice(
            [tensor, tensor[:1], tensor.to(torch.complex128), tensor.expand(3, 2), tensor > 0.5, tensor[:0]]
        )
        pool += [value, tensor]
        return value
    if choice == 9 and has_tensors:
        return rng.choice([np.arange(rng.randrange(4)), np.float32(rng.random()), np.array(["a", "bc"])])

    def parts():
        return [_data(rng, pool, depth + 1, has_tensors) for _ in range(rng.randrange(4))]

    kind = rng.randrange(6)
    if kind == 0:
        return tuple(parts())
    if kind == 1:
        return Pair(*(parts() + [1, 2])[:2])
    if kind == 2:
        return {rng.choice([1, "k", (2, "t")]) for _ in range(rng.randrange(3))}
    if kind == 3:
        value = {}
        pool.append(value)
        value.update(zip(["k", 3, (1, None)], parts()))
        return value
    value = []
    pool.append(value)
    value.extend(parts())
    return value


def assert_equal_graphs(a, b):
    """Asserts that two graphs of objects have equal values and the same references."""
    partners, others, memories, back, kept = {}, {}, {}, {}, []
    stack = [(a, b, "")]
    while stack:
        a, b, path = stack.pop()
        is_tuple = isinstance(a, tuple)
        assert type(a) is type(b) or is_tuple and isinstance(b, tuple), (path, a, b)
        if type(a) in (int, bool, str, type(None), complex, bytes):
            assert a == b, (path, a, b)
            continue
        if type(a) is float:
            assert repr(a) == repr(b), (path, a, b)
            continue
        if isinstance(a, (np.generic, np.ndarray)):
            np.testing.assert_array_equal(a, b, path, strict=True)
            continue
        if not is_tuple:
            assert partners.setdefault(id(a), b) is b and others.setdefault(id(b), a) is a, f"{path}: other references"
            kept += [a, b]
            if sum(other is a for other in kept) > 1:
                continue
        if isinstance(a, torch.Tensor):
            if a.numel():
                memory = a.untyped_storage().data_ptr(), b.untyped_storage().data_ptr()
                assert memories.setdefault(memory[0], memory[1]) == memory[1], f"{path}: shares other memory"
                assert back.setdefault(memory[1], memory[0]) == memory[0], f"{path}: shares other memory"
            assert a.dtype == b.dtype and torch.equal(a, b) and a.requires_grad == b.requires_grad, (path, a, b)
        elif isinstance(a, (list, tuple)):
            assert len(a) == len(b), (path, a, b)
            stack += [(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
        elif isinstance(a, dict):
            assert list(a) == list(b), (path, a, b)
            stack += [(a[key], b[key], f"{path}[{key!r}]") for key in a]
        elif isinstance(a, set):
            assert a == b, (path, a, b)
        else:
            assert attributes(a).keys() == attributes(b).keys(), path
            stack += [(value, attributes(b)[name], f"{path}.{name}") for name, value in attributes(a).items()]


def attributes(value):
    if isinstance(value, Slots):
        return {name: getattr(value, name) for name in value.__slots__ if hasattr(value, name)}
    found = dict(vars(value))
    if isinstance(value, torch.nn.Module):
        found = {n: v for n, v in found.items() if n in "abcdefg"} | value._parameters | value._buffers | value._modules
    return {name: part for name, part in found.items() if name != "_ag_restoring"}


@pytest.mark.parametrize("block", range(10))
def test_random_graphs_round_trip(block, tmp_path):
    count = max(PROGRAMS // 10, 1)
    for seed in range(FIRST + block * count, FIRST + (block + 1) * count):
        try:
            saving = program(random.Random(seed), random.Random(seed + 0.5), True)
            saving.save(tmp_path / "checkpoint")
            restoring = program(random.Random(seed), random.Random(-seed - 1), False)
            status = restoring.restore(tmp_path / "checkpoint")
            assert_equal_graphs(saving, restoring)
            status.assert_consumed()
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
