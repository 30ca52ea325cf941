"""What breaks the graph of torch.compile, each fault beside a twin that keeps it whole."""
import random
import time

import numpy as np
import torch
from torch import nn

DIALECT = "torch.compile"
THRESHOLD = 0.5


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
def bool_of_value(x):
    return x * bool(x.any())


@torch.compile
def int_of_value(x):
    return x[:int(x[0])]


@torch.compile
def float_of_value(x):
    return x * float(x.max())


@torch.compile
def float_of_shape(x):
    return x / float(x.shape[0])


@torch.compile
def item_of_value(x):
    return x / x.sum().item()


@torch.compile
def sum_without_item(x):
    return x / x.sum()


@torch.compile
def tolist_of_value(x):
    return torch.tensor([2 * v for v in x.tolist()])


@torch.compile
def numpy_of_value(x):
    return torch.from_numpy(np.sin(x.numpy()))


@torch.compile
def detached_to_host(x):
    return x + x.detach().cpu().numpy().mean()


@torch.compile
def range_of_value(x, n):
    for _ in range(n):
        x = x * 2
    return x


@torch.compile
def range_of_number(x, n):
    for _ in range(n):
        x = x * 2
    return x


@torch.compile
def list_indexed_by_value(x, i):
    return x + [1.0, 2.0, 3.0][i]


@torch.compile
def tensor_indexed_by_value(x, i):
    return x + torch.tensor([1.0, 2.0, 3.0])[i]


@torch.compile
def maximum_of_builtin(x):
    return max(x[0], x[1])


@torch.compile
def chained_compare(x):
    return x * 2 if 0 < x.max() < 1 else x


@torch.compile
def nonzero_of_value(x):
    return x.nonzero()


@torch.compile
def boolean_mask(x):
    return x[x > 0].sum()


@torch.compile
def boolean_mask_as_where(x):
    return torch.where(x > 0, x, 0.0).sum()


@torch.compile
def printed_value(x):
    print("sum", x.sum())
    return x * 2


@torch.compile
def formatted_value(x):
    label = f"sum {x.sum()}"
    return x * len(label)


@torch.compile
def timed(x):
    start = time.time()
    x = x * 2
    return x, time.time() - start


@torch.compile
def random_choice(x):
    return x * 2 if random.random() < THRESHOLD else x


@torch.compile
def generator_of_values(x):
    return sum(v * 2 for v in (x, x + 1))


@torch.compile
def opened_file(x):
    with open("/dev/null") as file:
        file.read()
    return x * 2


@torch.compile
def no_grad_block(x):
    with torch.no_grad():
        return x * 2


@torch.compile
def allclose(x):
    return x if torch.allclose(x, x + 1) else -x


@torch.compile
def equal(x):
    return x if torch.equal(x, x + 1) else -x


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
    "raise_on_value": "torch-graph-break-branch", "bool_of_value": "torch-graph-break-item",
    "int_of_value": "torch-graph-break-item", "float_of_value": "torch-graph-break-item", "float_of_shape": None,
    "item_of_value": "torch-graph-break-item", "sum_without_item": None, "tolist_of_value": "torch-graph-break-item",
    "numpy_of_value": None, "detached_to_host": None, "range_of_value": "torch-graph-break-item",
    "range_of_number": None, "list_indexed_by_value": "torch-graph-break-item", "tensor_indexed_by_value": None,
    "maximum_of_builtin": None, "chained_compare": "torch-graph-break-branch",
    "nonzero_of_value": "torch-graph-break-shape", "boolean_mask": "torch-graph-break-shape",
    "boolean_mask_as_where": None, "printed_value": "torch-graph-break-print",
    "formatted_value": "torch-graph-break-item", "timed": "torch-graph-break-builtin", "random_choice": None,
    "generator_of_values": None, "opened_file": "torch-graph-break-builtin", "no_grad_block": None,
    "allclose": "torch-graph-break-branch", "equal": "torch-graph-break-branch",
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
    print(bool_of_value(x))
    print(int_of_value(x))
    print(float_of_value(x))
    print(float_of_shape(x))
    print(item_of_value(x))
    print(sum_without_item(x))
    print(tolist_of_value(x))
    print(numpy_of_value(x))
    print(detached_to_host(x))
    print(range_of_value(x, torch.tensor(3)))
    print(range_of_number(x, 3))
    print(list_indexed_by_value(x, torch.tensor(1)))
    print(tensor_indexed_by_value(x, torch.tensor(1)))
    print(maximum_of_builtin(x))
    print(chained_compare(x))
    print(nonzero_of_value(x))
    print(boolean_mask(x))
    print(boolean_mask_as_where(x))
    print(printed_value(x))
    print(formatted_value(x))
    print(timed(x))
    print(random_choice(x))
    print(generator_of_values(x))
    print(opened_file(x))
    print(no_grad_block(x))
    print(allclose(x))
    print(equal(x))
    print(torch.compile(Halting())(x))
    print(torch.compile(Counting())(x))


if __name__ == "__main__":
    main()
