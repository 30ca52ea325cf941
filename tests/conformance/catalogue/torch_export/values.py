"""Modules that `torch.export` does not export, because their `forward` needs values of Tensors."""
import copy

import torch
from torch import nn
from torch.export import export

DIALECT = "torch.export"


class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Selects(nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x, -x)


class BranchesOnItem(nn.Module):
    def forward(self, x):
        total = x.sum().item()
        if total > 3:
            return x
        return x * 2


class Halves(nn.Module):
    def forward(self, x):
        while x.sum() > 1:
            x = x / 2
        return x


class Searches(nn.Module):
    def forward(self, x):
        return x if any(v > 0 for v in x) else x * 2


class Scales(nn.Module):
    def forward(self, x):
        return x * x.sum().item()


class Repeats(nn.Module):
    def forward(self, x, count):
        for _ in range(count.item()):
            x = x * 2
        return x


class Truncates(nn.Module):
    def forward(self, x, count):
        return x[:int(count)]


class Slices(nn.Module):
    def forward(self, x, count):
        return x[:count.item()]


class Chooses(nn.Module):
    def forward(self, x, index):
        return [x, x * 2][index.item()]


class Stacks(nn.Module):
    def forward(self, x, index):
        return torch.stack([x, x * 2]).index_select(0, index[None])


class GoesThroughNumpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() * 2)


class ReadsAddress(nn.Module):
    def forward(self, x):
        return x * (x.data_ptr() % 2)


class Copies(nn.Module):
    def forward(self, x):
        return copy.deepcopy(x) * 2


class Clones(nn.Module):
    def forward(self, x):
        return x.clone() * 2


class Collects(nn.Module):
    def forward(self, x):
        return torch.tensor([x.sum(), 1.0])


class Joins(nn.Module):
    def forward(self, x):
        return torch.stack([x.sum(), x.max()])


class Formats(nn.Module):
    def forward(self, x):
        label = f"{x.sum():.3f}"
        return x * len(label)


class FormatsShape(nn.Module):
    def forward(self, x):
        label = f"{x.shape[0]:3d}"
        return x * len(label)


class Compares(nn.Module):
    def forward(self, x):
        return x if torch.equal(x, x * 2) else x * 2


class Bounds(nn.Module):
    def forward(self, x):
        count = x.sum().int().item()
        torch._constrain_as_size(count, min=5, max=2)
        return torch.zeros(count)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = torch.zeros(8)

    def forward(self, x):
        self.calls.add_(x)
        return x * 2


class TestsMask(nn.Module):
    def forward(self, x):
        kept = x[x > 0]
        if kept.shape[0] > 2:
            return kept
        return kept * 2


KINDS = {
    "Branches": "symbolic_shapes: Could not guard on data-dependent expression",
    "Selects": None,
    "BranchesOnItem": "symbolic_shapes: Could not guard on data-dependent expression",
    "Halves": "symbolic_shapes: Could not guard on data-dependent expression",
    "Searches": "symbolic_shapes: Could not guard on data-dependent expression",
    "Scales": None,
    "Repeats": "symbolic_shapes: Could not extract specialized integer from data-dependent expression",
    "Truncates": "symbolic_shapes: Could not extract specialized integer from data-dependent expression",
    "Slices": None,
    "Chooses": "symbolic_shapes: Could not extract specialized integer from data-dependent expression",
    "Stacks": None,
    "GoesThroughNumpy": "values: numpy",
    "ReadsAddress": "values: address",
    "Copies": "values: address",
    "Clones": None,
    "Collects": "values: memory",
    "Joins": None,
    "Formats": "values: format",
    "FormatsShape": None,
    "Compares": "values: equal",
    "Bounds": "symbolic_shapes: Maximum value to constrain_as_size can't be less than the sp",
    "Counts": "utils: Constant {} is mutated in the forward method. Pls register i",
    "TestsMask": "symbolic_shapes: Could not guard on data-dependent expression",
}


def main():
    x = torch.ones(8)
    count = torch.tensor(1)
    export(Branches(), (x,))
    export(Selects(), (x,))
    export(BranchesOnItem(), (x,))
    export(Halves(), (x,))
    export(Searches(), (x,))
    export(Scales(), (x,))
    export(Repeats(), (x, count))
    export(Truncates(), (x, count))
    export(Slices(), (x, count))
    export(Chooses(), (x, count))
    export(Stacks(), (x, count))
    export(GoesThroughNumpy(), (x,))
    export(ReadsAddress(), (x,))
    export(Copies(), (x,))
    export(Clones(), (x,))
    export(Collects(), (x,))
    export(Joins(), (x,))
    export(Formats(), (x,))
    export(FormatsShape(), (x,))
    export(Compares(), (x,))
    export(Bounds(), (x,))
    export(Counts(), (x,)).run_decompositions()
    export(TestsMask(), (x,))


if __name__ == "__main__":
    main()
