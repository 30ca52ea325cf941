"""Values, shapes and effects that break the graph of torch.compile, and similar functions that do not."""
import random
import time

import numpy as np
import torch

DIALECT = "torch.compile"
THRESHOLD = 0.5


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
def nonzero_of_value(x):
    return (x * 2).nonzero().sum()


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


RULES = {
    "bool_of_value": "torch-graph-break-item", "int_of_value": "torch-graph-break-item",
    "float_of_value": "torch-graph-break-item", "float_of_shape": None, "item_of_value": "torch-graph-break-item",
    "sum_without_item": None, "tolist_of_value": "torch-graph-break-item", "numpy_of_value": None,
    "detached_to_host": None, "range_of_value": "torch-graph-break-item", "range_of_number": None,
    "list_indexed_by_value": "torch-graph-break-item", "tensor_indexed_by_value": None, "maximum_of_builtin": None,
    "nonzero_of_value": "torch-graph-break-shape", "boolean_mask": "torch-graph-break-shape",
    "boolean_mask_as_where": None, "printed_value": "torch-graph-break-builtin",
    "formatted_value": "torch-graph-break-item", "timed": "torch-graph-break-builtin",
    "random_choice": "torch-graph-break-builtin", "generator_of_values": None,
    "opened_file": "torch-graph-break-builtin", "no_grad_block": None, "allclose": "torch-graph-break-branch",
    "equal": "torch-graph-break-branch",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
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


if __name__ == "__main__":
    main()
