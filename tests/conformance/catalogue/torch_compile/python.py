"""Python statements, classes and builtin functions that break the graph of torch.compile."""
import contextlib
import copy
import enum
import itertools
import logging
import random
import re
import threading
import time
import typing

import torch

DIALECT = "torch.compile"
LOG = logging.getLogger(__name__)
HANDLES = []


class Scale(enum.Enum):
    SMALL = 1
    LARGE = 2


@torch.compile
def yields_rows(x):
    for row in x:
        yield row * 2


@torch.compile
def builds_rows(x):
    return [row * 2 for row in x]


@torch.compile
def defines_function(x):
    def twice(v):
        return v * 2

    return twice(x)


@torch.compiler.disable
def plots(x):
    return x


@torch.compile
def scales_by_constant_member(x):
    return x * Scale(2).value


@torch.compile
def opens_file(x):
    with open("/dev/null") as file:
        return x * len(file.name)


@torch.compile
def locks(x):
    with threading.Lock():
        return x * 2


@torch.compile
def matches_name(x):
    if re.compile("s.m").match("sum"):
        return x
    return x * 2


@torch.compile
def catches_error(x):
    try:
        raise ValueError("no")
    except ValueError:
        return x


@torch.compile
def matches_class(x, scale):
    match scale:
        case float():
            return x * scale
        case _:
            return x


async def waits(x):
    return x * 2


@torch.compile
def groups(x):
    return [list(items) for key, items in itertools.groupby([x[0], x[1]])]


@torch.compile
def accumulates_values(x):
    return list(itertools.accumulate([x[0], x[1]], func=torch.add))


@torch.compile
def multiplies(x):
    return [a * b for a, b in itertools.product(x, repeat=2)]


@torch.compile
def shuffles(x):
    order = [0, 1, 2]
    random.shuffle(order)
    return x[order]


@torch.compile
def draws(x):
    generator = random.Random(3)
    return x * generator.random()


@torch.compile
def draws_from_keywords(x):
    generator = random.Random(x=3)
    return x * generator.random()


@torch.compile
def suppresses(x):
    with contextlib.suppress(ValueError):
        return x * 2


@torch.compile
def redirects(x):
    with contextlib.redirect_stdout(None):
        return x * 2


@contextlib.contextmanager
def no_generator(value):
    return value


@contextlib.contextmanager
def scaled(value):
    yield value


@torch.compile
def enters_generator(x):
    with scaled(2) as factor:
        return x * factor


@torch.compile
def prints_in_context(x):
    with scaled(2) as factor:
        print(factor)
        return x * factor


@torch.compile
def prints_in_loop(x):
    for _ in range(3):
        x = x * 2
        print("step")
    return x


@torch.compile
def logs(x):
    LOG.info("shape %s", x.shape)
    return x


@torch.compile
def reads_clock(x):
    return x * time.perf_counter()


@torch.compile
def copies(x):
    return copy.deepcopy(x) * 2


@torch.compile
def copies_list(x):
    return copy.deepcopy([x, x])[0] * 2


@torch.compile
def clones(x):
    return x.clone() * 2


@torch.compile
def lists_locals(x):
    return x * len(vars())


@torch.compile
def lists_globals(x):
    return x * len(globals())


@torch.compile
def casts(x):
    return typing.cast(torch.Tensor, x)


@torch.compile
def counts_references(x):
    import sys
    return x * sys.getrefcount(x)


@torch.compile
def converts_regex(x):
    return x * len(re.findall("a", "banana"))


@torch.compile
def changes_warnings(x):
    import warnings
    with warnings.catch_warnings():
        return x * 2


@torch.compile
def seeds(x):
    torch.manual_seed(0)
    return x + torch.rand(3)


@torch.compile
def any_positive(x):
    return x * any(v > 0 for v in x)


KINDS = {
    "yields_rows": "GB0003",
    "builds_rows": None,
    "defines_function": None,
    "scales_by_constant_member": None,
    "opens_file": "GB0059",
    "locks": "GB0007",
    "matches_name": None,
    "catches_error": None,
    "matches_class": None,
    "groups": "GB0152",
    "accumulates_values": None,
    "multiplies": None,
    "shuffles": "GB0007",
    "draws": None,
    "draws_from_keywords": "GB0297",
    "suppresses": None,
    "redirects": "GB0262",
    "enters_generator": None,
    "prints_in_context": "GB0059",
    "prints_in_loop": "GB0059",
    "logs": "GB0291",
    "reads_clock": "GB0007",
    "copies": "GB0179",
    "copies_list": "GB0179",
    "clones": None,
    "lists_locals": "GB0270",
    "lists_globals": "GB0059",
    "casts": None,
    "counts_references": "GB0007",
    "converts_regex": None,
    "changes_warnings": None,
    "seeds": "GB0007",
    "any_positive": "GB0170",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    print(list(yields_rows(x)))
    print(builds_rows(x))
    print(defines_function(x))
    print(scales_by_constant_member(x))
    print(opens_file(x))
    print(locks(x))
    print(matches_name(x))
    print(catches_error(x))
    print(matches_class(x, 2.0))
    print(groups(x))
    print(accumulates_values(x))
    print(multiplies(x))
    print(shuffles(x))
    print(draws(x))
    print(draws_from_keywords(x))
    print(suppresses(x))
    print(redirects(x))
    print(enters_generator(x))
    print(prints_in_context(x))
    print(prints_in_loop(x))
    print(logs(x))
    print(reads_clock(x))
    print(copies(x))
    print(copies_list(x))
    print(clones(x))
    print(lists_locals(x))
    print(lists_globals(x))
    print(casts(x))
    print(counts_references(x))
    print(converts_regex(x))
    print(changes_warnings(x))
    print(seeds(x))
    print(any_positive(x))


if __name__ == "__main__":
    main()
