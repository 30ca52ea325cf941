"""Lists, tuples, dicts, comprehensions, named tuples, nested structures."""

import collections

import tensorflow as tf
from cases import T, case

Pair = collections.namedtuple("Pair", ["left", "right"])


@case(T(2))
def list_built(x):
    items = []
    items.append(x)
    items.append(x + 1)
    return items


@case(T(2))
def list_comprehension(x):
    return [x * n for n in range(3)]


@case(T(2))
def comprehension_with_condition(x):
    return [x * n for n in range(6) if n % 2 == 0 if n > 0]


@case(T(2))
def nested_comprehension(x):
    return [[x + a * b for a in range(2)] for b in range(2)]


@case(T(2))
def dict_comprehension(x):
    return {name: x + len(name) for name in ("a", "bb")}


@case(T(2))
def generator_expression(x):
    return sum(x * n for n in range(4))


@case(T(2))
def comprehension_calls_converted(x):
    def f(v):
        if v > 3:
            return v * 10
        return v

    return [f(x * n) for n in range(4)]


@case(T(2))
def comprehension_with_ternary(x):
    return [x if n > 1 else -x for n in range(3)]


@case(T(3))
@case(T(-3))
def dict_in_branch(x):
    d = {"a": T(1)}
    if x > 0:
        d["a"] = x
    return d


@case(T(3))
@case(T(-3))
def dict_two_keys(x):
    d = {"a": T(1), "b": T(2)}
    if x > 0:
        d["a"] = d["a"] + x
    else:
        d["b"] = d["b"] - x
    return d


@case(T(3))
def list_item_in_loop(n):
    items = [T(0), T(1)]
    for i in tf.range(n):
        items[0] = items[0] + i
        items[1] = items[1] * 2
    return items


@case(T(3))
def named_tuple(x):
    p = Pair(x, x + 1)
    if x > 0:
        p = Pair(p.right, p.left)
    return p.left, p.right


@case(T(3))
def named_tuple_in_loop(n):
    p = Pair(T(0), T(1))
    for _ in tf.range(n):
        p = Pair(p.right, p.left + p.right)
    return p


@case(T(3))
def nested_structure_in_loop(n):
    state = {"pair": (T(0), T(1)), "list": [T(5)]}
    for i in tf.range(n):
        state = {"pair": (state["pair"][1], i), "list": [state["list"][0] + 1]}
    return state


@case([3, 1, 2])
def python_sort(items):
    items = list(items)
    items.sort()
    return items


@case(T(4))
def subscripts(x):
    items = [3, 1, 2]
    items[0] = x
    items[1] += 1
    del items[2]
    return items


@case(T(4))
def dict_methods(x):
    d = {"b": 1}
    d.update(a=x)
    d.setdefault("c", x + 1)
    return {key: d[key] for key in sorted(d)}


@case(T([1, 2, 3]))
def tensor_sliced_in_loop(v):
    out = T(0)
    for i in tf.range(tf.shape(v)[0]):
        out = out + v[i] * v[-1]
    return out


@case(T(3))
def ordered(x):
    d = collections.OrderedDict()
    d["first"] = x
    d["second"] = x + 1
    for name in d:
        d[name] = d[name] * 2
    return list(d.values())


@case(T(3))
def set_of_python(x):
    seen = {1, 2}
    seen.add(3)
    return x * len(seen)


@case(T(3))
def swapped_items(x):
    items = [x, x + 1, x + 2]
    items[0], items[2] = items[2], items[0]
    return items


@case(T(3))
def star_in_display(x):
    first = [x, x]
    return [*first, x + 1], (*first,), {**{"a": x}, "b": x}


@case(T(2))
def list_of_functions(x):
    operations = [lambda v: v + 1, lambda v: v * 2]
    for operation in operations:
        x = operation(x)
    return x


@case(T(3))
def dict_key_in_while(n):
    d = {"sum": T(0)}
    while n > 0:
        d["sum"] += n
        n -= 1
    return d["sum"]
