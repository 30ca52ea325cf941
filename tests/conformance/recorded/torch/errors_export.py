"""Code that torch.export rejects, and similar functions that it exports."""
import torch
from torch import nn

DIALECT = "torch.export"


class IfOnValue(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class IfOnShape(nn.Module):
    def forward(self, x):
        if x.shape[0] > 2:
            return x + 1
        return x - 1


class IfAsCond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))


class IfOnHyperparameter(nn.Module):
    def __init__(self, scale=None):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        if self.scale is not None and self.training:
            return x * self.scale
        return x - 1


class IfOnBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(True))

    def forward(self, x):
        if self.ready:
            return x * 2
        return x


class Ternary(nn.Module):
    def forward(self, x):
        return x * 2 if x.max() > 1 else x


class TernaryOnNone(nn.Module):
    def forward(self, x, bias=None):
        return x * 2 if bias is None else x + bias


class While(nn.Module):
    def forward(self, x):
        while x.norm() > 1:
            x = x / 2
        return x


class WhileOnCounter(nn.Module):
    def forward(self, x):
        count = 0
        while count < 3:
            x, count = x / 2, count + 1
        return x


class BreakOnValue(nn.Module):
    def forward(self, x):
        for _ in range(3):
            x = x / 2
            if (x < 1).all():
                break
        return x


class And(nn.Module):
    def forward(self, x):
        return x + (x[0] > 0 and x[1] > 0)


class AndAsUfunc(nn.Module):
    def forward(self, x):
        return x + ((x[0] > 0) & (x[1] > 0))


class Not(nn.Module):
    def forward(self, x):
        return x if not x.any() else -x


class AssertOnValue(nn.Module):
    def forward(self, x):
        assert x.min() >= 0, "negative"
        return x.sqrt()


class AssertOnShape(nn.Module):
    def forward(self, x):
        assert x.ndim == 1, "one row"
        return x.sqrt()


class RaiseOnValue(nn.Module):
    def forward(self, x):
        if x.isnan().any():
            raise ValueError("not a number")
        return x * 2


class Item(nn.Module):
    def forward(self, x):
        return x / x.sum().item()


class ItemInCondition(nn.Module):
    def forward(self, x):
        if x.sum().item() > 0:
            return x + 1
        return x - 1


class IntAsSize(nn.Module):
    def forward(self, x, n):
        return torch.zeros(int(n)) + x.sum()


class ItemAsSize(nn.Module):
    def forward(self, x, n):
        size = n.item()
        torch._check(size >= 0)
        return torch.zeros(size) + x.sum()


class RangeOfValue(nn.Module):
    def forward(self, x, n):
        for _ in range(n):
            x = x * 2
        return x


class RangeOfLength(nn.Module):
    def forward(self, x):
        total = torch.zeros(())
        for i in range(len(x)):
            total = total + x[i]
        return total


class BooleanMask(nn.Module):
    def forward(self, x):
        return x[x > 0]


class MaskedThenTested(nn.Module):
    def forward(self, x):
        kept = x[x > 0]
        if kept.numel() > 2:
            return kept.sum()
        return x.sum()


class Numpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() * 2)


class ToList(nn.Module):
    def forward(self, x):
        return torch.tensor([2 * v for v in x.tolist()])


class Printed(nn.Module):
    def forward(self, x):
        print("exporting", x.shape)
        return x * 2


class ReturnsObject(nn.Module):
    def forward(self, x):
        return {"value": x + 1, "shape": object()}


class ReturnsString(nn.Module):
    def forward(self, x):
        return {"value": x + 1, "name": "sum"}


class ListOfTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x)
        return x * 2


class BufferUpdate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x):
        self.total = self.total + x.sum()
        return x * 2


class PrivateTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x):
        self.last = x + 1
        return x * 2


RULES = {
    "IfOnValue.forward": "torch-export-branch", "IfOnShape.forward": None, "IfAsCond.forward": None,
    "IfOnHyperparameter.forward": None, "IfOnBuffer.forward": "torch-export-branch",
    "Ternary.forward": "torch-export-branch", "TernaryOnNone.forward": None, "While.forward": "torch-export-branch",
    "WhileOnCounter.forward": None, "BreakOnValue.forward": "torch-export-branch",
    "And.forward": "torch-export-branch", "AndAsUfunc.forward": None, "Not.forward": "torch-export-branch",
    "AssertOnValue.forward": "torch-export-branch", "AssertOnShape.forward": None,
    "RaiseOnValue.forward": "torch-export-branch", "Item.forward": None,
    "ItemInCondition.forward": "torch-export-branch", "IntAsSize.forward": "torch-export-item",
    "ItemAsSize.forward": None, "RangeOfValue.forward": "torch-export-item", "RangeOfLength.forward": None,
    "BooleanMask.forward": None, "MaskedThenTested.forward": "torch-export-branch",
    "Numpy.forward": "torch-export-host", "ToList.forward": None, "Printed.forward": None,
    "ReturnsObject.forward": "torch-export-result", "ReturnsString.forward": None, "ListOfTensors.forward": None,
    "BufferUpdate.forward": None, "PrivateTensor.forward": None,
}


def main():
    x, n = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2)
    print(torch.export.export(IfOnValue(), (x,)))
    print(torch.export.export(IfOnShape(), (x,)))
    print(torch.export.export(IfAsCond(), (x,)))
    print(torch.export.export(IfOnHyperparameter(2.0), (x,)))
    print(torch.export.export(IfOnBuffer(), (x,)))
    print(torch.export.export(Ternary(), (x,)))
    print(torch.export.export(TernaryOnNone(), (x, x)))
    print(torch.export.export(While(), (x,)))
    print(torch.export.export(WhileOnCounter(), (x,)))
    print(torch.export.export(BreakOnValue(), (x,)))
    print(torch.export.export(And(), (x,)))
    print(torch.export.export(AndAsUfunc(), (x,)))
    print(torch.export.export(Not(), (x,)))
    print(torch.export.export(AssertOnValue(), (x,)))
    print(torch.export.export(AssertOnShape(), (x,)))
    print(torch.export.export(RaiseOnValue(), (x,)))
    print(torch.export.export(Item(), (x,)))
    print(torch.export.export(ItemInCondition(), (x,)))
    print(torch.export.export(IntAsSize(), (x, n)))
    print(torch.export.export(ItemAsSize(), (x, n)))
    print(torch.export.export(RangeOfValue(), (x, n)))
    print(torch.export.export(RangeOfLength(), (x,)))
    print(torch.export.export(BooleanMask(), (x,)))
    print(torch.export.export(MaskedThenTested(), (x,)))
    print(torch.export.export(Numpy(), (x,)))
    print(torch.export.export(ToList(), (x,)))
    print(torch.export.export(Printed(), (x,)))
    print(torch.export.export(ReturnsObject(), (x,)))
    print(torch.export.export(ReturnsString(), (x,)))
    print(torch.export.export(ListOfTensors(), (x,)))
    print(torch.export.export(BufferUpdate(), (x,)))
    print(torch.export.export(PrivateTensor(), (x,)))


if __name__ == "__main__":
    main()
