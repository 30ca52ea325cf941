"""Control flow operators of torch (`cond`, `while_loop`, `scan`, `map`) whose arguments torch.compile rejects."""
import torch
from functorch.experimental.control_flow import map as map_rows
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop

DIALECT = "torch.compile"


def doubled(x):
    return x * 2


def negated(x):
    return -x


@torch.compile
def cond_of_keywords(x):
    return torch.cond(x.sum() > 0, doubled, negated, operands=(x,))


@torch.compile
def cond_with_one_operand(x):
    return torch.cond(x.sum() > 0, doubled, negated, x)


@torch.compile
def cond_of_structures(x):
    return torch.cond(x.sum() > 0, lambda v: (v, v * 2), lambda v: v * 2, (x,))


@torch.compile
def cond_of_same_structures(x):
    return torch.cond(x.sum() > 0, lambda v: (v + 1, v * 2), lambda v: (-v, v * 3), (x,))


@torch.compile
def cond_to_text(x):
    return torch.cond(x.sum() > 0, lambda v: "positive", lambda v: "negative", (x,))


@torch.compile
def cond_to_float(x):
    return torch.cond(x.sum() > 0, lambda v: 1.5, lambda v: 2.5, (x,))


@torch.compile
def cond_to_none(x):
    return torch.cond(x.sum() > 0, lambda v: None, lambda v: v, (x,))


@torch.compile
def cond_of_values(x):
    return torch.cond(x.sum() > 0, x * 2, negated, (x,))


@torch.compile
def cond_appends(x):
    seen = []

    def positive(v):
        seen.append(v)
        return v * 2

    return torch.cond(x.sum() > 0, positive, negated, (x,))


@torch.compile
def cond_returns_operand(x):
    return torch.cond(x.sum() > 0, lambda v: v, negated, (x,))


@torch.compile
def cond_adds_in_place(x):
    return torch.cond(x.sum() > 0, lambda v: v.add_(1), lambda v: v.sub_(1), (x,))


@torch.compile
def cond_differs_in_shape(x):
    return torch.cond(x.sum() > 0, lambda v: v.sum(), lambda v: v * 2, (x,))


@torch.compile
def cond_differs_in_dtype(x):
    return torch.cond(x.sum() > 0, lambda v: v > 0, lambda v: v * 2, (x,))


class CountsInBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def positive(self, x):
        self.calls = self.calls + 1
        return x * 2

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.positive, negated, (x,))


@torch.compile
def while_with_one_operand(x):
    return while_loop(lambda v: v.sum() < 10, lambda v: (v * 2,), x)


@torch.compile
def while_of_vector(x):
    return while_loop(lambda v: v < 10, lambda v: (v * 2,), (x,))


@torch.compile
def while_forever(x):
    return while_loop(lambda v: True, lambda v: (v * 2,), (x,))


@torch.compile
def while_below_ten(x):
    return while_loop(lambda v: v.sum() < 10, lambda v: (v * 2,), (x,))


@torch.compile
def scan_of_one_result(x):
    return scan(lambda c, v: c + v, x[0], x)


@torch.compile
def scan_of_sums(x):
    return scan(lambda c, v: (c + v, c.clone()), x[0], x)


@torch.compile
def accumulates(x):
    return associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")


@torch.compile
def maps_by_keyword(x):
    return map_rows(lambda row: row * 2, xs=x)


@torch.compile
def maps(x):
    return map_rows(lambda row: row * 2, x)


@torch.compile
def checkpoints(x):
    return torch.utils.checkpoint.checkpoint(doubled, x, use_reentrant=False)


@torch.compile
def checkpoints_appending(x):
    seen = []

    def step(v):
        seen.append(v)
        return v * 2

    return torch.utils.checkpoint.checkpoint(step, x, use_reentrant=False)


@torch.compile
def vectorizes(x):
    return torch.func.vmap(doubled)(x)


@torch.compile
def checks_with_message(x):
    message = "negative"
    torch._check(x.shape[0] > 2, lambda: f"{message}: {x.shape}")
    return x


@torch.compile
def checks_data(x):
    torch._check(x.sum().item() > 0, lambda: "negative")
    return x


KINDS = {
    "cond_of_keywords": None,
    "cond_with_one_operand": "GB0311",
    "cond_of_structures": "GB0040",
    "cond_of_same_structures": None,
    "cond_to_text": "GB0314",
    "cond_to_float": "GB0314",
    "cond_to_none": "GB0350",
    "cond_of_values": "GB0302",
    "cond_appends": "GB0067",
    "cond_returns_operand": "GB0040",
    "cond_adds_in_place": "GB0041",
    "cond_differs_in_shape": "GB4315",
    "cond_differs_in_dtype": "GB4315",
    "CountsInBranch": "GB0067",
    "while_with_one_operand": "GB7312",
    "while_of_vector": "GB0308",
    "while_forever": "GB0339",
    "while_below_ten": None,
    "scan_of_one_result": "GB0343",
    "scan_of_sums": None,
    "accumulates": None,
    "maps_by_keyword": None,
    "maps": None,
    "checkpoints": None,
    "checkpoints_appending": "GB0067",
    "vectorizes": None,
    "checks_with_message": "GB0288",
    "checks_data": "GB0124",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    rows = torch.ones(3, 3)
    for_all = (x,)
    print(cond_of_keywords(x))
    print(cond_with_one_operand(x))
    print(cond_of_structures(x))
    print(cond_of_same_structures(x))
    print(cond_to_text(x))
    print(cond_to_float(x))
    print(cond_to_none(x))
    print(cond_of_values(x))
    print(cond_appends(x))
    print(cond_returns_operand(x))
    print(cond_adds_in_place(x))
    print(cond_differs_in_shape(x))
    print(cond_differs_in_dtype(x))
    print(torch.compile(CountsInBranch())(x))
    print(while_with_one_operand(x))
    print(while_of_vector(x))
    print(while_forever(x))
    print(while_below_ten(x))
    print(scan_of_one_result(rows))
    print(scan_of_sums(rows))
    print(accumulates(rows))
    print(maps_by_keyword(rows))
    print(maps(rows))
    print(checkpoints(x))
    print(checkpoints_appending(x))
    print(vectorizes(rows))
    print(checks_with_message(x))
    print(checks_data(x))


if __name__ == "__main__":
    main()
