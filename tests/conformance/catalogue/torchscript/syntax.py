"""Python syntax that TorchScript does not compile: a function for each kind of error."""
from typing import Dict, List

import torch
from torch import Tensor


@torch.jit.script
def starred_parameters(*rows: Tensor):
    return rows[0]


@torch.jit.script
def declares_without_value(x: Tensor):
    scale: int
    scale = 2
    return x * scale


@torch.jit.script
def floor_divides_in_place(x: Tensor, count: int):
    count //= 2
    return x * count


@torch.jit.script
def divides_in_place(x: Tensor, count: float):
    count /= 2
    return x * count


@torch.jit.script
def for_with_else(x: Tensor):
    for i in range(3):
        x = x * i
    else:
        x = x + 1
    return x


@torch.jit.script
def reserved_name(x: Tensor):
    __jit_total = x.sum()
    return __jit_total


@torch.jit.script
def expands_dictionary(base: Dict[str, Tensor], x: Tensor):
    return {**base, "x": x}


@torch.jit.script
def two_generators(rows: List[int], columns: List[int]):
    return [row * column for row in rows for column in columns]


@torch.jit.script
def filtered_comprehension(rows: List[int]):
    return [row for row in rows if row > 2]


@torch.jit.script
def plain_comprehension(rows: List[int]):
    return [row * 2 for row in rows]


def with_keywords(x: Tensor, scale: float):
    return x * scale


@torch.jit.script
def expands_keywords(x: Tensor, options: Dict[str, float]):
    return with_keywords(x, **options)


@torch.jit.script
def converts_in_string(x: Tensor, name: str):
    print(f"{name!r}")
    return x


@torch.jit.script
def formats_in_string(x: Tensor, count: int):
    print(f"{count:03d}")
    return x


@torch.jit.script
def plain_string(x: Tensor, count: int):
    print(f"{count} rows")
    return x


@torch.jit.script
def defines_function(x: Tensor):
    def twice(y: Tensor):
        return y * 2

    return twice(x)


@torch.jit.script
def defines_class(x: Tensor):
    class Pair:
        pass

    return x


@torch.jit.script
def imports_module(x: Tensor):
    import math
    return x * math.pi


@torch.jit.script
def imports_name(x: Tensor):
    from math import pi
    return x * pi


@torch.jit.script
def declares_global(x: Tensor):
    global TOTAL
    TOTAL = 3
    return x


@torch.jit.script
def catches_errors(x: Tensor):
    try:
        x = x.sqrt()
    except RuntimeError:
        x = -x
    return x


@torch.jit.script
def matches_value(x: Tensor, mode: int):
    match mode:
        case 0:
            x = -x
    return x


@torch.jit.script
def names_inside(x: Tensor):
    if (count := x.size(0)) > 2:
        x = x * count
    return x


@torch.jit.script
def makes_function(x: Tensor):
    double = lambda y: y * 2
    return double(x)


@torch.jit.script
def makes_set(x: Tensor):
    sizes = {1, 2}
    return x * len(sizes)


@torch.jit.script
def makes_set_of_all(rows: List[int]):
    return len({row for row in rows})


@torch.jit.script
def yields_rows(x: Tensor):
    yield x[0]


@torch.jit.script
def yields_from_rows(x: Tensor):
    yield from [x[0]]


@torch.jit.script
def sums_generator(rows: List[int]):
    return sum(row for row in rows)


@torch.jit.script
def catches_groups(x: Tensor):
    try:
        x = x.sqrt()
    except* RuntimeError:
        x = -x
    return x


@torch.jit.script
def defines_coroutine(x: Tensor):
    async def twice(y: Tensor):
        return y * 2

    return x


def runs_later():
    @torch.jit.script
    async def step(x: Tensor):
        return x

    return step


def counter():
    total = 0

    @torch.jit.script
    def declares_nonlocal(x: Tensor):
        nonlocal total
        total = 3
        return x

    return declares_nonlocal


@torch.jit.script
def uses_bytes(x: Tensor):
    name = b"x"
    return x


DIALECT = "torch"
KINDS = {
    "starred_parameters": "frontend: varargs",
    "declares_without_value": "frontend: without assigned value",
    "floor_divides_in_place": "frontend: unsupported kind of augmented assignment: ",
    "divides_in_place": None,
    "for_with_else": "frontend: else branches of for loops aren't supported",
    "reserved_name": "frontend: names of variables used in JIT-ed functions can't start with",
    "expands_dictionary": "frontend: Dict expansion (e.g. `{**dict}`) is not supported",
    "two_generators": "frontend: Only a single generator is currently supported",
    "filtered_comprehension": "frontend: Comprehension ifs are not supported yet",
    "plain_comprehension": None,
    "expands_keywords": "frontend: keyword-arg expansion is not supported",
    "converts_in_string": "frontend: Don't support conversion in JoinedStr",
    "formats_in_string": "frontend: Don't support formatting in JoinedStr",
    "plain_string": None,
    "defines_function": "syntax: FunctionDef",
    "defines_class": "syntax: ClassDef",
    "imports_module": "syntax: Import",
    "imports_name": "syntax: ImportFrom",
    "declares_global": "syntax: Global",
    "catches_errors": "syntax: Try",
    "matches_value": "syntax: Match",
    "names_inside": "syntax: NamedExpr",
    "makes_function": "syntax: Lambda",
    "makes_set": "syntax: Set",
    "makes_set_of_all": "syntax: SetComp",
    "yields_rows": "syntax: Yield",
    "yields_from_rows": "syntax: YieldFrom",
    "sums_generator": None,
    "catches_groups": "syntax: TryStar",
    "defines_coroutine": "syntax: AsyncFunctionDef",
    "runs_later": "frontend: Expected a single top-level function: ",
    "counter": "syntax: Nonlocal",
    "uses_bytes": "frontend: Unknown Constant expression type",
}


def main():
    x = torch.ones(3)
    divides_in_place(x, 2.0)
    plain_comprehension([1, 2])
    plain_string(x, 3)
    sums_generator([1, 2])
    counter()
    runs_later()


if __name__ == "__main__":
    main()
