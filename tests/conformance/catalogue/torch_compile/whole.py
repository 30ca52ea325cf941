"""Functions that `torch.compile(fullgraph=True)` rejects, and similar functions that it accepts."""
import contextlib
import itertools
import typing

import numpy as np
import torch
from torch import nn

DIALECT = "torch.compile"


@torch.compile(fullgraph=True)
def branches(x):
    if x.sum() > 0:
        return x
    return x * 2


@torch.compile(fullgraph=True)
def selects(x):
    return torch.where(x.sum() > 0, x, x * 2)


@torch.compile(fullgraph=True)
def searches(x):
    return any(v > 0 for v in x), x * 2


@torch.compile(fullgraph=True)
def asserts_with_shape(x):
    assert x.sum() > 0, f"negative: {x.shape}"
    return x


@torch.compile(fullgraph=True)
def asserts(x):
    assert x.sum() > 0, "negative"
    return x


@torch.compile(fullgraph=True)
def breaks_on_purpose(x):
    torch._dynamo.graph_break()
    return x * 2


@torch.compiler.disable
def plots(x):
    return x


@torch.compile(fullgraph=True)
def calls_disabled(x):
    return plots(x) * 2


@torch.compile(fullgraph=True)
def keeps_handle(x):
    global HANDLE
    HANDLE = x.register_hook(lambda gradient: gradient * 2)
    return x * 2


@torch.compile(fullgraph=True)
def scales_gradient(x):
    x.register_hook(lambda gradient: gradient * 2)
    return x * 2


@torch.compile(fullgraph=True)
def groups_by_value(x):
    return [key for key, _ in itertools.groupby([0, 1, 2], key=lambda i: x[i])]


@torch.compile(fullgraph=True)
def groups_by_number(x):
    return [x * key for key, _ in itertools.groupby([0, 1, 1])]


@torch.compile(fullgraph=True)
def identifies(x):
    return x if id(x * 2) > 3 else x * 2


@torch.compile(fullgraph=True)
def reads_limits(x):
    return x * np.finfo(x.numpy().sum()).max


@torch.compile(fullgraph=True)
def reads_limits_of_type(x):
    return x * torch.finfo(x.dtype).max


@torch.compile(fullgraph=True)
def sums_array(x):
    return np.add.reduce(x.numpy())


@torch.compile(fullgraph=True)
def sums_rows(x):
    return np.sum(x.numpy())


@torch.compile(fullgraph=True)
def gets_attribute(x):
    return getattr(x, x.sum())


@torch.compile(fullgraph=True)
def gets_shape(x):
    return x * getattr(x, "ndim")


@torch.compile(fullgraph=True)
def writes_transposed(x):
    result = torch.empty(3, 3).t()
    torch.mul(x, 2, out=result)
    return result


@torch.compile(fullgraph=True)
def writes(x):
    result = torch.empty(3, 3)
    torch.mul(x, 2, out=result)
    return result


class Options(typing.TypedDict, total=False):
    scale: float


@torch.compile(fullgraph=True)
def builds_options(x):
    return Options(scale=2.0), x * 2


class Config(typing.TypedDict):
    scale: float


@torch.compile(fullgraph=True)
def builds_config(x):
    config = Config(scale=2.0)
    return x * config["scale"]


@torch.compile(fullgraph=True)
def catches_import(x):
    try:
        raise ImportError("plotting", name="matplotlib")
    except ImportError:
        return x


@torch.compile(fullgraph=True)
def catches_value(x):
    try:
        raise ValueError("plotting")
    except ValueError:
        return x


@contextlib.contextmanager
def scaled(value):
    yield value


@torch.compile(fullgraph=True)
def returns_context(x):
    return x * 2, scaled(3)


@torch.compile(fullgraph=True)
def hashes_object(x):
    table = {Keyed(1): 2.0}
    return x * table[Keyed(1)]


class Keyed:
    def __init__(self, key):
        self.key = key

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


@torch.compile(fullgraph=True)
def enters_lock(x):
    with LOCK:
        return x * 2


LOCK = __import__("threading").Lock()


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.register_full_backward_hook(lambda module, given, taken: None)

    def forward(self, x):
        return self.layer(x)


KINDS = {
    "branches": "GB0170",
    "selects": None,
    "searches": "GB0170",
    "asserts_with_shape": "GB0170",
    "asserts": None,
    "breaks_on_purpose": "GB0025",
    "calls_disabled": "GB0098",
    "keeps_handle": "GB0100",
    "scales_gradient": None,
    "groups_by_value": "GB0152",
    "groups_by_number": None,
    "identifies": "GB0141",
    "reads_limits": "GB0300",
    "reads_limits_of_type": None,
    "sums_array": "GB0290",
    "sums_rows": None,
    "gets_attribute": "GB0190",
    "gets_shape": None,
    "writes_transposed": "GB0242",
    "writes": None,
    "builds_options": "GB0257",
    "builds_config": None,
    "catches_import": "GB0273",
    "catches_value": None,
    "returns_context": "GB2533",
    "hashes_object": "GB0364",
    "enters_lock": "GB0142",
    "Hooked": "GB0083",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    weight = torch.ones(3, requires_grad=True)
    print(branches(x))
    print(selects(x))
    print(searches(x))
    print(asserts_with_shape(x))
    print(asserts(x))
    print(breaks_on_purpose(x))
    print(calls_disabled(x))
    print(keeps_handle(weight))
    print(scales_gradient(weight))
    print(groups_by_value(x))
    print(groups_by_number(x))
    print(identifies(x))
    print(reads_limits(x))
    print(reads_limits_of_type(x))
    print(sums_array(x))
    print(sums_rows(x))
    print(gets_attribute(x))
    print(gets_shape(x))
    print(writes_transposed(torch.ones(3, 3)))
    print(writes(torch.ones(3, 3)))
    print(builds_options(x))
    print(builds_config(x))
    print(catches_import(x))
    print(catches_value(x))
    print(returns_context(x))
    print(hashes_object(x))
    print(enters_lock(x))
    print(torch.compile(Hooked(), fullgraph=True)(x))


if __name__ == "__main__":
    main()
