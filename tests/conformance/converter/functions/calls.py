"""Calls: all kinds of arguments and callees."""

import functools
import operator

from environment import *


def positional_only(a, b=2, /, c=3):
    return a, b, c


def keyword_only(*, a, b=2):
    return a, b


def everything(a, /, b, c=3, *rest, d, e=5, **options):
    return a, b, c, rest, d, e, options


def calls_everything():
    args, options = [2, 3, 4], {"e": 6, "z": 7}
    return everything(1, *args, d=5, **options)


def wrong_calls(which):
    if which == 0:
        return positional_only()
    if which == 1:
        return positional_only(1, 2, 3, 4)
    if which == 2:
        return positional_only(a=1)
    if which == 3:
        return keyword_only(1)
    if which == 4:
        return keyword_only()
    if which == 5:
        return keyword_only(a=1, c=2)
    return None


def stars_in_the_middle(a, b):
    return pick(*a, 1, *b, 2)


def several_mappings(a, b):
    return pick(**a, k=1, **b)


def star_of_generator():
    return pick(*(note("i", i) for i in range(3)))


def star_of_not_iterable(x):
    return pick(*x)


def double_star_of_not_mapping(x):
    return pick(**x)


def repeated_keyword(options):
    return pick(k=1, **options)


def not_callable(x):
    return x()


def callee_evaluated_first(x):
    return x.method(note("argument"))


def method_of_literal():
    return "a,b".split(","), [3, 1].copy(), {"a": 1}.get("b", 2), (1, 2).index(2)


def bound_method_kept(items):
    add = items.append
    for i in range(3):
        add(i)
    return items


def partials():
    add = functools.partial(operator.add, 1)
    power = functools.partial(pow, exp=2)
    nested = functools.partial(functools.partial(pick, 1), k=2)
    return add(2), power(3), nested(3, m=4)


def higher_order(function, items):
    return list(map(function, items)), list(filter(function, items)), functools.reduce(lambda a, b: a + b, items, 0)


def maps_with_logic(items):
    return list(map(lambda x: x and x > 1 or None, items)), list(filter(None, items))


def builtins_with_effects(items):
    return (
        sorted(items, key=lambda x: note("key", -x)),
        max(items, key=lambda x: note("max", x % 3)),
        any(map(bool, items)),
        sum(items, start=1),
        dict(zip("ab", items)),
    )


def type_calls():
    return int("3"), str(3), list("ab"), dict(a=1), set([1]), tuple([1]), bool([]), float("1.5"), type(3), type("T", (), {"x": 1}).x


def isinstance_and_issubclass(x):
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return "number"
    return issubclass(type(x), str)


def introspects(box):
    return getattr(box, "x", None), hasattr(box, "y"), callable(box), sorted(vars(box)), id(box) == id(box)


def recursion_with_default(n, seen=None):
    seen = seen if seen is not None else []
    seen.append(n)
    if n:
        recursion_with_default(n - 1, seen)
    return seen


def mutable_default(x, seen=[]):
    if x not in seen:
        seen.append(x)
    return list(seen)


def default_from_global(x=len("abc")):
    return x


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def returns_function(kind):
    def plus(a, b):
        return a + b

    table = {"plus": plus, "minus": lambda a, b: a - b}
    return table.get(kind, pick)


def calls_result(kind):
    return returns_function(kind)(5, 3)


def call_of_call_of_call():
    return (lambda: lambda: lambda x: x * 2)()()(21)


def keyword_order():
    return pick(b=note("b"), a=note("a"))


def uses_locals(a, b=2):
    c = a + b
    return sorted(locals().items())


def uses_eval(a):
    b = 2
    return eval("a + b")


def uses_eval_with_names(a):
    return eval("a + c", {"a": 1, "c": a}), eval("x", {}, {"x": a})


def uses_globals(name):
    return name in globals()


def uses_exec():
    space = {}
    exec("y = 3", space)
    return space["y"]


def uses_dir():
    x = 1
    return "x" in dir()


def iter_with_sentinel(items):
    source = iter(items)
    return list(iter(lambda: next(source), 3))


def arguments_change_receiver():
    items = [1, 2]
    items.extend(items)
    items.insert(items.pop(), items.pop(0))
    return items


def trailing_comma_and_comments():
    return pick(
        1,  # one
        # nothing
        2,
        k=3,
    )


def generator_as_only_argument(n):
    return sum(i for i in range(n)), max((i for i in range(n)), default=-1)


def print_goes_somewhere():
    import io

    out = io.StringIO()
    print("a", 1, sep="-", end="!", file=out)
    return out.getvalue()


def class_as_callee(n):
    return Bag(x=n).x, Oops(n).args, type(Oops("a")) is Oops


def unbound_methods():
    return str.upper("a"), list.append([], 1), int.__add__(1, 2), dict.fromkeys("ab", 0)


def functools_cache(n):
    @functools.lru_cache(maxsize=None)
    def paths(a, b):
        if a == 0 or b == 0:
            return 1
        return paths(a - 1, b) + paths(a, b - 1)

    return paths(n, n), paths.cache_info().misses


CALLS = [
    "positional_only(1)", "positional_only(1, 5, c=6)", "keyword_only(a=1)", "calls_everything()",
    "everything(1, 2, d=4)", "everything(1, b=2, d=4, a=9)", "wrong_calls(0)", "wrong_calls(1)", "wrong_calls(2)", "wrong_calls(3)", "wrong_calls(4)", "wrong_calls(5)", "wrong_calls(6)",
    "stars_in_the_middle([1], (2,))", "several_mappings({'a': 1}, {'b': 2})", "star_of_generator()",
    "star_of_not_iterable('ab')", "not_callable(3)", "not_callable(None)", "callee_evaluated_first(3)",
    "method_of_literal()", "bound_method_kept([])", "partials()", "higher_order(lambda x: x % 2, [1, 2, 3])",
    "higher_order(bool, [])", "maps_with_logic([0, 1, 2])", "builtins_with_effects([3, 1, 2])", "type_calls()",
    "isinstance_and_issubclass(1)", "isinstance_and_issubclass(True)", "isinstance_and_issubclass('a')",
    "introspects(Bag(x=1))", "recursion_with_default(3)", "[mutable_default(x) for x in (1, 2, 1)]",
    "default_from_global()", "ackermann(2, 2)", "calls_result('plus')", "calls_result('minus')", "calls_result('other')",
    "call_of_call_of_call()", "keyword_order()", "uses_eval_with_names(3)", "uses_globals('uses_globals')", "uses_exec()",
    "iter_with_sentinel([1, 2, 3, 4])", "arguments_change_receiver()", "trailing_comma_and_comments()",
    "generator_as_only_argument(4)", "generator_as_only_argument(0)", "print_goes_somewhere()", "class_as_callee(2)",
    "unbound_methods()", "functools_cache(4)", "double_star_of_not_mapping({'m': 3})",
    "repeated_keyword({'m': 2})", "uses_locals(1)", "uses_eval(1)", "uses_dir()",
]
