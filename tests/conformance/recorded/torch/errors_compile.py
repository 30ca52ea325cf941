"""Control flow that breaks the graph of torch.compile, and similar functions that do not."""
import torch
from torch import nn

DIALECT = "torch.compile"


@torch.compile
def if_on_value(x):
    if x.sum() > 0:
        return x
    return -x


@torch.compile
def if_on_shape(x):
    if x.size(0) > 2 and x.dim() == 1:
        return x
    return -x


@torch.compile
def if_as_where(x):
    return torch.where(x.sum() > 0, x, -x)


@torch.compile
def if_as_cond(x):
    return torch.cond(x.sum() > 0, lambda v: v.clone(), lambda v: -v, (x,))


@torch.compile
def elif_on_value(x, scale=None):
    if scale is not None:
        x = x * scale
    elif x.max() > 1:
        x = x / x.max()
    return x


@torch.compile
def ternary_on_value(x):
    return x if x.any() else x + 1


@torch.compile
def ternary_on_none(x, y=None):
    return x if y is None else x + y


@torch.compile
def while_on_value(x):
    while x.norm() > 1:
        x = x / 2
    return x


@torch.compile
def while_on_counter(x):
    count = 0
    while count < 3:
        x, count = x / 2, count + 1
    return x


@torch.compile
def break_on_value(x):
    for _ in range(4):
        x = x * 0.5
        if (x < 0.1).all():
            break
    return x


@torch.compile
def loop_over_rows(x):
    total = torch.zeros(())
    for row in x:
        total = total + row.sum()
    return total


@torch.compile
def and_on_values(x):
    return x[0] > 0 and x[1] > 0


@torch.compile
def and_of_values_as_ufunc(x):
    return (x[0] > 0) & (x[1] > 0)


@torch.compile
def not_on_value(x):
    return not x.any()


@torch.compile
def assert_on_value(x):
    assert x.min() >= 0, "negative"
    return x.sqrt()


@torch.compile
def assert_on_shape(x):
    assert x.shape[0] == 3, f"three wanted, got {x.shape}"
    return x.sqrt()


@torch.compile
def raise_on_value(x):
    if x.isnan().any():
        raise ValueError("not a number")
    return x * 2


@torch.compile
def chained_compare(x):
    return x * 2 if 0 < x.max() < 1 else x


class Halting(nn.Module):
    def __init__(self, limit=3):
        super().__init__()
        self.limit = limit
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        if self.calls > self.limit:
            return x
        return x * 2


class Counting(nn.Module):
    def __init__(self, limit=3):
        super().__init__()
        self.limit = limit
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > self.limit or not self.training:
            return x
        return x * 2


RULES = {
    "if_on_value": "torch-graph-break-branch", "if_on_shape": None, "if_as_where": None, "if_as_cond": None,
    "elif_on_value": "torch-graph-break-branch", "ternary_on_value": "torch-graph-break-branch",
    "ternary_on_none": None, "while_on_value": "torch-graph-break-branch", "while_on_counter": None,
    "break_on_value": "torch-graph-break-branch", "loop_over_rows": None,
    "and_on_values": "torch-graph-break-branch", "and_of_values_as_ufunc": None,
    "not_on_value": "torch-graph-break-branch", "assert_on_value": None, "assert_on_shape": None,
    "raise_on_value": "torch-graph-break-branch", "chained_compare": "torch-graph-break-branch",
    "Halting.forward": "torch-graph-break-branch", "Counting.forward": None,
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    print(if_on_value(x))
    print(if_on_shape(x))
    print(if_as_where(x))
    print(if_as_cond(x))
    print(elif_on_value(x))
    print(ternary_on_value(x))
    print(ternary_on_none(x, x))
    print(while_on_value(x))
    print(while_on_counter(x))
    print(break_on_value(x))
    print(loop_over_rows(x))
    print(and_on_values(x))
    print(and_of_values_as_ufunc(x))
    print(not_on_value(x))
    print(assert_on_value(x))
    print(assert_on_shape(x))
    print(raise_on_value(x))
    print(chained_compare(x))
    print(torch.compile(Halting())(x))
    print(torch.compile(Counting())(x))


if __name__ == "__main__":
    main()
