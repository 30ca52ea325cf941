"""Generators, which are not converted, even inside converted functions."""

from environment import *


def count_to(n):
    i = 0
    while i < n:
        yield i
        i += 1


def evens_of(items):
    for item in items:
        if item % 2 == 0:
            yield item
    return "done"


def delegates(items):
    result = yield from evens_of(items)
    note("result", result)
    yield result


def takes_values():
    total = 0
    while True:
        value = yield total
        if value is None:
            return total
        total += value


def sends(values):
    receiver = takes_values()
    seen = [next(receiver)]
    for value in values:
        seen.append(receiver.send(value))
    try:
        receiver.send(None)
    except StopIteration as stop:
        return seen, stop.value


def cleans_up(n):
    try:
        for i in range(n):
            yield i
    finally:
        note("cleaned")


def closes_early(n):
    source = cleans_up(n)
    for i in source:
        if i == 1:
            source.close()
            break
    return i


def throws(n):
    source = cleans_up(n)
    next(source)
    try:
        source.throw(Oops("thrown"))
    except Oops as error:
        return error.args


def nested_generator(n):
    limit = n

    def inner():
        nonlocal limit
        while limit > 0:
            yield limit
            limit -= 1

    return list(inner()), limit


def nested_reads_unbound(flag):
    def inner():
        yield value

    if flag:
        value = 1
    return list(inner())


def nested_reads_deleted():
    value = 1

    def inner():
        yield value
        yield value

    source = inner()
    seen = [next(source)]
    del value
    try:
        next(source)
    except NameError as error:
        return seen, type(error).__name__, error.args


def fibonacci(limit):
    a, b = 0, 1
    while a < limit:
        yield a
        a, b = b, a + b


def take(n, items):
    for _, item in zip(range(n), items):
        yield item


def primes():
    known = []
    n = 2
    while True:
        if all(n % p for p in known):
            known.append(n)
            yield n
        n += 1


def permutations(items):
    if not items:
        yield []
        return
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1 :]):
            yield [item, *rest]


def walk(tree):
    if isinstance(tree, list):
        for branch in tree:
            yield from walk(branch)
    else:
        yield tree


def pipeline(items):
    def doubled(source):
        for item in source:
            note("double", item)
            yield item * 2

    def small(source):
        for item in source:
            if item < 6:
                yield item
            else:
                return

    return list(small(doubled(items)))


def generator_expression_in_branch(flag):
    n = 2
    if flag:
        source = (n * x for x in range(3))
        n = 3
    else:
        source = iter(())
    return list(source)


def lambda_generator():
    make = lambda: (yield 1)
    return list(make())


def generator_in_loop(n):
    sources = []
    for i in range(n):
        def source():
            yield i

        sources.append(source)
    return [list(s()) for s in sources]


def raises_in_generator(items):
    def halves():
        for item in items:
            if item % 2:
                raise Oops(item)
            yield item // 2

    seen = []
    try:
        for half in halves():
            seen.append(half)
    except Oops as error:
        seen.append(error.args)
    return seen


class Tree:
    def __init__(self, value, *children):
        self.value = value
        self.children = children

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child


def tree_values():
    values = []
    for value in Tree(1, Tree(2, Tree(3)), Tree(4)):
        if value == 4:
            break
        values.append(value)
    return values


def unpack_generator(n):
    first, *rest = count_to(n)
    return first, rest


CALLS = [
    "list(count_to(3))", "list(evens_of([1, 2, 4]))", "list(delegates([2, 3]))", "sends([1, 2])", "sends([])",
    "closes_early(3)", "closes_early(1)", "throws(2)", "nested_generator(3)", "nested_reads_unbound(True)",
    "nested_reads_unbound(False)", "nested_reads_deleted()", "list(fibonacci(20))", "list(take(5, primes()))",
    "list(permutations([1, 2, 3]))", "list(walk([1, [2, [3]], []]))", "pipeline([1, 2, 3, 4])",
    "generator_expression_in_branch(True)", "generator_expression_in_branch(False)", "lambda_generator()",
    "generator_in_loop(3)", "raises_in_generator([2, 4, 3])", "tree_values()", "unpack_generator(3)",
    "unpack_generator(0)",
]
