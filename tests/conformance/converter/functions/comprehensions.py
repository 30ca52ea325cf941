"""Comprehensions and generator expressions: their scopes, conditions and order."""

from environment import *


def squares(n):
    return [x * x for x in range(n)]


def evens(items):
    return [x for x in items if x % 2 == 0]


def flatten(rows):
    return [cell for row in rows for cell in row]


def flatten_some(rows):
    return [cell for row in rows if row for cell in row if cell]


def matrix(n):
    return [[1 if i == j else 0 for j in range(n)] for i in range(n)]


def inverted(table):
    return {value: key for key, value in table.items()}


def letters(words):
    return {letter for word in words for letter in word if letter not in "aeiou"}


def lazily(items):
    source = (note("take", item) for item in items)
    first = next(source)
    note("between")
    return first, list(source)


def first_iterable_is_eager():
    try:
        (x for x in note("evaluated", None))
    except TypeError as error:
        return str(error)


def target_does_not_leak(x):
    ys = [x for x in range(3)]
    return x, ys


def conditions_with_logic(items):
    return [x for x in items if x and not (x > 2 or x == 1) or x is None]


def ternary_elements(items):
    return ["even" if x % 2 == 0 else "odd" if x > 0 else "minus" for x in items]


def walrus_keeps_last(items):
    kept = [y for x in items if (y := x - 1) > 0]
    return kept, y


def walrus_unbound_when_empty(items):
    kept = [y := x for x in items]
    return y


def any_all(items):
    return any(x > 2 for x in items), all(x > 0 for x in items)


def any_stops_early(items):
    return any(note("look", x) for x in items)


def sum_of_products(a, b):
    return sum(x * y for x, y in zip(a, b))


def comprehension_over_calls(items):
    return [abs(x) for x in map(int, items)]


def closures_in_comprehension(n):
    return [f() for f in [lambda: i for i in range(n)]]


def comprehension_in_condition(items):
    if [x for x in items if x]:
        return "some"
    return "none"


def comprehension_in_loop(n):
    rows = []
    for i in range(n):
        rows.append([i * j for j in range(i)])
    return rows


def comprehension_reads_changing_variable(items):
    total = 0
    out = []
    for item in items:
        total += item
        out.append([total for _ in range(item)])
    return out


def reads_possibly_unbound(flag):
    if flag:
        scale = 2
    return [scale * x for x in range(2)]


def nested_scopes(n):
    return [(lambda: [x + y for y in range(x)])() for x in range(n)]


def unpacking_targets(pairs):
    return [(a, rest) for a, *rest in pairs], {k: v for k, (v, _) in pairs}


def error_inside(items):
    return [1 // x for x in items]


def generator_captures_late():
    n = 1
    source = (n + x for x in range(3))
    n = 10
    return list(source)


def star_in_display(a, b):
    return [*a, *b], {*a, *b}, (*a,), {**dict.fromkeys(a, 1), **dict.fromkeys(b, 2)}


def sorted_by(items):
    return sorted((item for item in items), key=lambda item: (-len(item), item))


def grouped(words):
    groups = {}
    for word in words:
        groups.setdefault(len(word), []).append(word)
    return {size: sorted(group) for size, group in sorted(groups.items()) if len(group) > 1}


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def running(items):
    total = 0
    return [total := total + item for item in items], total


def table_of_tables(keys):
    return {k: {j: k + j for j in keys if j != k} for k in keys}


class Catalogue:
    sizes = [1, 2, 3]
    doubled = [s * 2 for s in sizes]

    def total(self):
        return sum(s for s in self.sizes if s in self.doubled)


def in_class_body():
    return Catalogue.doubled, Catalogue().total()


CALLS = [
    "squares(4)", "squares('x')", "evens(range(5))", "flatten([[1], [], [2, 3]])", "flatten([1])",
    "flatten_some([[0, 1], [], [2]])", "matrix(3)", "inverted({'a': 1})", "inverted({'a': []})",
    "letters(['hello', 'you'])", "lazily([1, 2, 3])", "lazily([])", "first_iterable_is_eager()",
    "target_does_not_leak(9)", "conditions_with_logic([0, 1, 2, 3, None])", "ternary_elements([2, 1, -1])",
    "walrus_keeps_last([1, 2, 3])", "walrus_unbound_when_empty([1])", "walrus_unbound_when_empty([])",
    "any_all([1, 2, 3])", "any_all([])", "any_stops_early([0, 1, 2])", "sum_of_products([1, 2], [3, 4])",
    "comprehension_over_calls(['-1', '2'])", "comprehension_over_calls(['x'])", "closures_in_comprehension(3)",
    "comprehension_in_condition([0])", "comprehension_in_condition([1])", "comprehension_in_loop(4)",
    "comprehension_reads_changing_variable([1, 2])", "reads_possibly_unbound(True)", "reads_possibly_unbound(False)",
    "nested_scopes(3)", "unpacking_targets([('a', (1, 2)), ('b', (3, 4))])", "error_inside([1, 0])",
    "generator_captures_late()", "star_in_display('ab', 'bc')", "star_in_display(1, 2)",
    "sorted_by(['bb', 'a', 'ccc', 'aa'])", "grouped(['a', 'bb', 'b', 'ccc'])", "transposed([[1, 2], [3, 4]])",
    "running([1, 2, 3])", "table_of_tables([1, 2])", "in_class_body()",
]
