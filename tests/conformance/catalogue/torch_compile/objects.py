"""Objects, predicates, generators and nested compilation that torch.compile does not trace."""
import collections
import datetime

import torch
from torch._higher_order_ops import while_loop

DIALECT = "torch.compile"
DAY = datetime.timedelta(1)


class Marked:
    def __setitem__(self, index, value):
        pass


class Ratio(float):
    pass


@torch.compile
def sets_item_of_list(x):
    Marked.__setitem__([1], 0, 2)
    return x + 1


@torch.compile
def sets_item(x):
    marked = Marked()
    marked[0] = 2
    return x + 1


@torch.compile
def makes_own_float(x):
    return x * Ratio()


@torch.compile
def asks_attribute_of_ordered(x):
    parts = collections.OrderedDict(a=x)
    return parts["a"] + hasattr(parts, "size")


@torch.compile
def asks_attribute_of_dictionary(x):
    parts = {"a": x}
    return parts["a"] + hasattr(parts, "size")


@torch.compile
def compiles_within(x):
    @torch.compile(backend="eager")
    def doubled(y):
        return y * 2

    return doubled(x)


@torch.compile
def compiles_plainly_within(x):
    def doubled(y):
        return y * 2

    return torch.compile(doubled)(x)


@torch.compile
def loops_while_sum(x):
    return while_loop(lambda x: x.sum(), lambda x: (x - 1,), (x,))


@torch.compile
def loops_while_positive(x):
    return while_loop(lambda x: x.sum() > 0, lambda x: (x - 1,), (x,))


@torch.compile
def chooses_by_list(x):
    return torch.cond([x.sum() > 0], lambda x: x + 1, lambda x: x - 1, (x,))


@torch.compile
def chooses_by_tensor(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def collects(x, seen):
    seen.append(1)
    yield x


@torch.compile
def returns_generator(x):
    seen = []
    return collects(x, seen), seen


@torch.compile
def uses_generator(x):
    seen = []
    return list(collects(x, seen)), seen


@torch.compile
def describes_date(x):
    return x + len(repr(DAY))


@torch.compile
def describes_dictionary(x):
    return x + len(repr({"a": 1}))


KINDS = {
    "sets_item_of_list": "GB0131",
    "sets_item": None,
    "makes_own_float": "GB0147",
    "asks_attribute_of_ordered": "GB0217",
    "asks_attribute_of_dictionary": None,
    "compiles_within": "GB0223",
    "compiles_plainly_within": None,
    "loops_while_sum": "GB0308",
    "loops_while_positive": None,
    "chooses_by_list": "GB0310",
    "chooses_by_tensor": None,
    "returns_generator": "GB8335",
    "uses_generator": None,
    "describes_date": "GB9198",
    "describes_dictionary": None,
}


def main():
    x = torch.ones(3)
    print(sets_item_of_list(x))
    print(sets_item(x))
    print(makes_own_float(x))
    print(asks_attribute_of_ordered(x))
    print(asks_attribute_of_dictionary(x))
    print(compiles_within(x))
    print(compiles_plainly_within(x))
    print(loops_while_sum(x))
    print(loops_while_positive(x))
    print(chooses_by_list(x))
    print(chooses_by_tensor(x))
    print(returns_generator(x))
    print(uses_generator(x))
    print(describes_date(x))
    print(describes_dictionary(x))


if __name__ == "__main__":
    main()
