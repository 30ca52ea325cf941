"""Assignment, rebinding and deletion of names, attributes, items, and several targets."""

from environment import *


def chained(value):
    a = b = c = value
    a += 1
    return a, b, c


def chained_list():
    a = b = []
    a.append(1)
    return b


def order_of_targets(box):
    note("one", box).x = note("two", box).y = note("value", 3)
    return box


def swap(a, b):
    a, b = b, a
    return a, b


def rotate(items):
    items[0], items[1], items[2] = items[1], items[2], items[0]
    return items


def index_uses_new_value():
    i, items = 0, [0, 0, 0]
    i, items[i] = 2, 5
    return i, items


def stars(items):
    first, *middle, last = items
    return first, middle, last


def nested_targets(pair):
    (a, [b, *c]), d = pair
    return a, b, c, d


def wrong_count(items):
    a, b = items
    return a, b


def augmented_name(x):
    x += 1
    x *= 3
    x -= 2
    x //= 2
    x **= 2
    x %= 7
    x |= 8
    x &= 13
    x ^= 1
    x <<= 2
    x >>= 1
    return x


def augmented_is_in_place(items):
    alias = items
    items += [1]
    return alias is items, items


def augmented_rebinds_tuples(items):
    alias = items
    items += (1,)
    return alias is items, items


def augmented_attribute(box):
    box.x += 1
    box.x -= 3
    return box


def augmented_item(table):
    table["a"] += 1
    table["b", 1] = table["a"]
    table["b", 1] *= 2
    return table


def augmented_order(items):
    note("target", items)[note("index", 0)] += note("value", 1)
    return items


def augmented_once(box):
    box().x += 1
    return box().x


def augmented_tuple_element():
    t = ([],)
    try:
        t[0] += [1]
    except TypeError as error:
        return t, str(error)


def augmented_unbound():
    x += 1
    return x


def augmented_missing_attribute(box):
    box.missing += 1


def augmented_missing_key(table):
    table["missing"] += 1


def augmented_in_loop(words):
    counts, text = {}, ""
    for word in words:
        counts[word] = counts.get(word, 0)
        counts[word] += 1
        text += word[0]
    return counts, text


def augmented_matmul():
    class M:
        def __imatmul__(self, other):
            return f"imatmul {other}"

    m = M()
    m @= 3
    return m


def augmented_with_logic(x, y):
    x += y and 2 or 3
    x -= 1 if y else 2
    return x


def augmented_in_branch(flag):
    total = 0
    if flag:
        total += 1
    else:
        total -= 1
    total += total
    return total


def annotated():
    a: int = 1
    b: "no such type"
    c: print("not evaluated") = 2
    (d): int = 3
    return a, c, d


def annotated_unbound():
    x: int
    return x


def annotated_attribute(box):
    box.x: int = 5
    box.y: note("annotation", int)
    return box


def delete_name():
    x = 1
    del x
    return x


def delete_twice():
    x = 1
    del x
    del x


def delete_unbound(flag):
    if flag:
        x = 1
    del x
    return "deleted"


def delete_many(table, items, box):
    a = b = 1
    del a, table["k"], items[0], box.x, b
    return table, items, box


def delete_slice(items):
    del items[1:3], items[-1]
    return items


def delete_nested():
    a, b, c = 1, 2, 3
    del (a, [b]), c
    return [n for n in ("a", "b", "c") if n in vars()]


def delete_in_while(items):
    while items:
        item = items[0]
        del items[0]
        if item:
            del item
    return item


def delete_and_rebind(n):
    for i in range(n):
        x = i
        del x
    x = "rebound"
    return x


def delete_parameter(x):
    if x:
        del x
    return x


def delete_global():
    global temporary
    temporary = 1
    del temporary
    return temporary


def slice_assignment(items):
    items[1:2] = [7, 8]
    items[::2] = [0] * len(items[::2])
    return items


def slice_augmented(items):
    items[:1] += [9]
    return items


def attribute_chain(box):
    box.inner = Bag(x=Bag(y=1))
    box.inner.x.y += 1
    box.inner.x.z = box.inner.x.y
    return box


def computed_attribute(box, names):
    for i, name in enumerate(names):
        setattr(box, name, i)
        if not getattr(box, name):
            delattr(box, name)
    return box


def import_inside(flag):
    if flag:
        import math as m
        from os.path import join, sep
    else:
        m = sep = None
    return m and m.floor(2.5), sep and join("a", "b") == f"a{sep}b"


def import_missing():
    try:
        import no_such_module
    except ImportError:
        no_such_module = None
    return no_such_module


def import_in_loop(names):
    for name in names:
        import string
        if name == "digits":
            break
    return string.digits


def starred_assignment_in_loop(rows):
    heads = []
    for head, *heads[len(heads):] in rows:
        pass
    return head, heads


def tuple_without_parentheses():
    x = 1,
    y = *x, 2
    return x, y


def function_rebound(flag):
    def f():
        return 1

    if flag:
        def f():
            return 2
    return f()


def name_is_parameter_and_loop(n):
    for n in range(n):
        n += 1
    return n


CALLS = [
    "chained(1)", "chained_list()", "order_of_targets(Bag())", "swap(1, 2)", "rotate([1, 2, 3])", "rotate([1])",
    "index_uses_new_value()", "stars([1, 2, 3])", "stars([1])", "nested_targets([(1, 'abc'), 2])", "nested_targets(3)",
    "wrong_count([1])", "wrong_count([1, 2, 3])", "wrong_count(None)", "augmented_name(5)", "augmented_name('a')",
    "augmented_is_in_place([])", "augmented_rebinds_tuples(())", "augmented_attribute(Bag(x=1))",
    "augmented_attribute(Probe('p', x=1))", "augmented_item({'a': 1})", "augmented_order([1])", "augmented_order([])",
    "augmented_once(lambda box=Bag(x=1): note('get', box))", "augmented_tuple_element()", "augmented_unbound()",
    "augmented_missing_attribute(Bag())", "augmented_missing_key({})", "augmented_in_loop(['a', 'b', 'a'])",
    "augmented_matmul()", "augmented_with_logic(1, 1)", "augmented_with_logic(1, 0)", "augmented_in_branch(1)",
    "augmented_in_branch(0)", "annotated()", "annotated_unbound()", "annotated_attribute(Bag())", "delete_name()",
    "delete_twice()", "delete_unbound(1)", "delete_unbound(0)", "delete_many({'k': 1}, [1], Bag(x=1))",
    "delete_many({}, [1], Bag(x=1))", "delete_slice([1, 2, 3, 4, 5])", "delete_in_while([0, 1])",
    "delete_in_while([1, 0])", "delete_and_rebind(2)", "delete_parameter(1)", "delete_parameter(0)", "delete_global()",
    "slice_assignment([1, 2, 3])", "slice_augmented([1, 2])", "attribute_chain(Bag())",
    "computed_attribute(Bag(), ['a', 'b'])", "import_inside(1)", "import_inside(0)", "import_missing()",
    "import_in_loop(['a', 'digits'])", "import_in_loop([])", "starred_assignment_in_loop([[1, 2], [3, 4, 5]])",
    "tuple_without_parentheses()", "function_rebound(1)", "function_rebound(0)", "name_is_parameter_and_loop(3)",
    "name_is_parameter_and_loop(0)",
]
