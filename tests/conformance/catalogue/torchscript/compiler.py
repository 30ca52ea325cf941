"""Programs that the compiler of TorchScript rejects: a function or class for each kind of error."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


@torch.jit.script
def branches_differ(x: Tensor, narrow: bool):
    if narrow:
        factor = 1
    else:
        factor = 0.5
    return x * factor


@torch.jit.script
def undefined_in_branch(x: Tensor, narrow: bool):
    if narrow:
        y = x * 2
    return y


@torch.jit.script
def undefined_name(x: Tensor):
    return x * facter


@torch.jit.script
def changes_type(x: Tensor):
    total = 0
    for i in range(3):
        total = total + 0.5
    return x * total


@torch.jit.script
def returns_differ(x: Tensor, both: bool):
    if both:
        return x, x
    return x


@torch.jit.script
def returns_undeclared(x: Tensor) -> Tensor:
    return x.size(0)


@torch.jit.script
def ends_without_return(x: Tensor) -> Tensor:
    if x.dim() > 1:
        return x


@torch.jit.script
def declares_again(x: Tensor, deep: bool):
    sizes: List[int] = []
    if deep:
        sizes: List[int] = [1]
    return sizes


@torch.jit.script
def chooses_types(x: Tensor, both: bool):
    return (x, x) if both else x


@torch.jit.script
def tests_optional(x: Tensor, bias: Optional[Tensor]):
    if bias:
        x = x + 1
    return x


@torch.jit.script
def adds_optional(x: Tensor, bias: Optional[Tensor]):
    return x + bias


@torch.jit.script
def adds_tested(x: Tensor, bias: Optional[Tensor]):
    if bias is not None:
        x = x + bias
    return x


@torch.jit.script
def misses_method(x: Tensor):
    return x.as_python()


@torch.jit.script
def appends_number(x: Tensor):
    found = []
    found.append(x.size(0))
    return found


@torch.jit.script
def mixed_tuple(x: Tensor, index: int):
    pair = (x, 1)
    return pair[index]


LIMIT = 3


@torch.jit.script
def uses_global(x: Tensor):
    return x * LIMIT


@torch.jit.script
def wrong_default(x: Tensor, scale: float = None):
    return x * scale


@torch.jit.script
def spreads_list(x: Tensor, sizes: List[int]):
    return [*sizes, 3]


@torch.jit.script
def unpacks_too_few(x: Tensor):
    a, b, c = (x, x)
    return a


class KeepsNothing(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Tensor):
        self.last = x
        return x


class KeepsDeclared(nn.Module):
    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Tensor):
        self.last = x
        return x


class SetsNewAttribute(nn.Module):
    def forward(self, x: Tensor):
        self.last = x
        return x


class IndexesLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x: Tensor, index: int):
        return self.layers[index](x)


class LooksUpLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": nn.Linear(2, 2)})

    def forward(self, x: Tensor, name: str):
        return self.layers[name](x)


class IteratesLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x: Tensor):
        for layer in self.layers:
            x = layer(x)
        return x


class DeclaresLate(nn.Module):
    def forward(self, x: Tensor):
        self.scale: int = 2
        return x


DIALECT = "torch"
KINDS = {
    "branches_differ": "compiler: branch-type",
    "undefined_in_branch": "compiler: branch-undefined",
    "undefined_name": "compiler: undefined-value",
    "changes_type": "compiler: rebinding",
    "returns_differ": "compiler: return-type",
    "returns_undeclared": "compiler: declared-return",
    "ends_without_return": "compiler: missing-return",
    "declares_again": "compiler: annotated-twice",
    "chooses_types": "compiler: if-expression",
    "tests_optional": "compiler: not-a-bool",
    "adds_optional": "compiler: arguments",
    "adds_tested": None,
    "misses_method": "compiler: no-attribute",
    "appends_number": "compiler: element-type",
    "mixed_tuple": "compiler: tuple-index",
    "uses_global": "compiler: python-value",
    "wrong_default": "compiler: default",
    "spreads_list": "compiler: starred-list",
    "unpacks_too_few": "compiler: too-few-to-unpack",
    "KeepsNothing": "compiler: attribute-assignment",
    "KeepsDeclared": None,
    "SetsNewAttribute": "compiler: new-attribute",
    "IndexesLayers": "compiler: module-index",
    "LooksUpLayers": "compiler: module-key",
    "IteratesLayers": None,
    "DeclaresLate": "frontend: Type annotations on instance attributes must be declared in ",
}


def main():
    x = torch.ones(3)
    adds_tested(x, x)
    torch.jit.script(KeepsNothing())
    torch.jit.script(KeepsDeclared())
    torch.jit.script(SetsNewAttribute())
    torch.jit.script(IndexesLayers())
    torch.jit.script(LooksUpLayers())
    torch.jit.script(IteratesLayers())
    torch.jit.script(DeclaresLate())


if __name__ == "__main__":
    main()
