"""Strings whose values are known only when the graph runs."""

import fnmatch
import heapq
import json
import os
import re
import warnings

import autograph as ag
import pytest
import torch
from oracle import assert_same, t


def test_comparisons():
    def f(x, n):
        k = 0
        while k < n:
            k += 1
        name = f"step {k}"
        if str(k) == "3":
            x = x + 1
        if name == "step 4":
            x = x + 10
        if "step 5" == name or "2" > str(k):
            x = x + 100
        if "{}/{}".format(k, 1) != "3/1" and name + "!" == "step 4!":
            x = x * 2
        return x, name

    def run(x, n):
        return f(x, int(n))

    staged = ag.function(f)
    for n in range(7):
        found, expected = staged(t(1), torch.tensor(n)), run(t(1), n)
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1], n


class Names:
    v3 = "three"


CHARACTERS = {
    "length": len,
    "item": lambda text: text[-1],
    "key": lambda text: {"v3": 1, "v4": 2}.get(text),
    "keys of results": lambda text: ({text: 1}, {text}, {(text, 1): [text]}),
    "number": lambda text: (int(text[1:]), float(f"{text[1:]}.5")),
    "set": lambda text: text in {"v3"},
    "part": lambda text: ("3" in text, text in "v1 v3", text not in "v3"),
    "method": lambda text: (text.zfill(4), str.upper(text), text * 2, text.encode()),
    "iteration": lambda text: [c for c in text],
    "method of another text": lambda text: ("v3 v4".find(text), "v3".startswith(text), "v3".replace(text, "-"), "v3".__eq__(text)),
    "regular expression": lambda text: (re.match("v3", text) is None, re.sub("[0-9]", "#", text)),
    "library": lambda text: (json.dumps({text: [text]}), os.path.join("a", text), fnmatch.fnmatch(text, "v3*")),
    "attribute": lambda text: getattr(Names, text, None),
    "bytes": lambda text: bytes(text, "utf8"),
    "class": lambda text: type(text) is str and isinstance(text, str),
    "a list that a library changes": lambda text: _pushed(["v9"], text),
}


def _pushed(items, text):
    items.append(text)
    heapq.heapify(items)
    return items, heapq.heappushpop(items, text)


@pytest.mark.parametrize("read", CHARACTERS.values(), ids=CHARACTERS)
def test_use_of_the_characters(read):
    """The trace uses the characters in the traced call. Python runs the calls in which the characters differ."""

    def f(x, n):
        return x, read(f"v{n.item()}"), read("".join(["v", str(n.item())]))

    assert_same(f, *((t(1), torch.tensor(n)) for n in (3, 4, 3)))


def test_the_characters_are_not_known_below_a_condition_that_is_not_decided():
    def f(x, n):
        ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
        if n > 0:
            x = x + len(str(n.item()))
        return x

    with pytest.raises(ag.StagingError, match="Python needs the text"):
        ag.function(f)(t(1), torch.tensor(3))


def test_format_specifications(capsys):
    def f(x):
        number = x.sum().item()
        print(f"{number:>10.3f}|{number!r}", f"{x[0]:.1f}", "a" + f"{number:{6}.1f}")
        return f"{number:.2f}{'%'}"

    assert_same(f, (t(1.5, 2),), (t(-3, 0),))
    out = capsys.readouterr().out.splitlines()  # eager, staged, eager, staged
    assert out[0] == out[1] and out[2] == out[3]


def test_percent():
    class Log:
        def __init__(self):
            self.lines = []

    log = Log()

    def f(x, n):
        mean = x.mean()
        log.lines.append("%d%% of %s" % (n.item(), "all"))
        if mean > 1:
            x = x + 1
        return x, "%.3f" % mean, "%5d|%-6.2f|%s" % (n, mean.item(), x.shape), "%(a)g %(b)r" % {"a": mean, "b": "c"}

    for args in ((t(1, 2), torch.tensor(3)), (t(0, 1), torch.tensor(4))):
        assert_same(f, args, (args[0] * 2, args[1] + 1))
        assert log.lines[-1] == f"{int(args[1]) + 1}% of all"

    def wrong(x):
        return "%d %d" % (x.sum(),)

    assert_same(wrong, (t(1),))


def test_rounding_to_digits():
    def f(x):
        return round(x.sum().item(), 2), round(x[0].item()), round(x.shape[0] + x.sum().int().item(), -1)

    assert_same(f, (t(1.2345, 2.7182),), (t(15.005, 0.125),))


class Named:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"<{self.value}>"


CONVERSIONS = {
    "width": lambda v, s: f"{s:>30}|{s:<12.4}|{s!s:^20}",
    "width after str": lambda v, s: f"{str(v):>30}",
    "percent with width": lambda v, s: "%30s|%-9.3s|%s" % (s, s, v),
    "percent with a form in a variable": lambda v, s: (lambda form: form % v)("%8.2f|"),
    "percent with computed width": lambda v, s: "%*.*f|%-*d" % (12, 3, v, 7, v),
    "percent with a mapping": lambda v, s: "%(a)9s%%|%(b)r" % {"a": s, "b": s},
    "percent of a list": lambda v, s: "%30s|%r" % ([s], (v, s)),
    "repr": lambda v, s: f"{s!r}|{v!r:>30}" + repr(s),
    "ascii": lambda v, s: f"{s!a}é|{[s, 'é']!a}" + ascii("é" + s),
    "containers": lambda v, s: str([s]) + repr({"a": s}) + f"{(s, v)}" + f"{ {'b': [v]} !s:>40}",
    "str.format": lambda v, s: "{!r:>30}|{:>12}|{a[0]!s:<9}|{b.value!a}".format(s, v, a=[s], b=Named("é")),
    "str.format with a width": lambda v, s: "{:>{}}|{:{w}.{p}f}".format(s, 20, v, w=12, p=3),
    "an object": lambda v, s: f"{Named(v)}|{Named(s)!s:>30}" + str(Named(v)),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_conversions(convert):
    def f(x):
        number = x.sum().item()
        return convert(number, f"v = {number}")

    assert_same(f, (t(1.5, 2),), (t(-3, 12345.25),))


def test_a_format_that_cannot_be_staged():
    def width(x, n):
        return "%*d" % (n.item(), 3)

    with pytest.raises(ag.StagingError, match="the width of a format"):
        ag.function(width)(t(1), torch.tensor(3))

    def number(x, n):
        return "%d" % f"{n.item()}"

    with pytest.raises(TypeError):
        ag.function(number)(t(1), torch.tensor(3))


def test_method_of_a_text_is_decided():
    """The call runs as a graph. If Python ran it, there would be a warning."""

    def f(n):
        return f"{n.item()}".zfill(3), len(f"{n.item()}".rjust(4))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.function(f)(torch.tensor(7)) == ("007", 4)


class Log:
    def __init__(self):
        self.lines, self.last = [], ""


def appended(log, x, k):
    log.lines.append(f"[{k:02d}] {x.mean():.3f} {x.max() > 2}")


def inserted(log, x, k):
    log.lines.insert(0, "%5.1f%%" % x.mean())
    log.lines += [str(x[0]), "plain"]


def in_a_structure(log, x, k):
    log.lines.append({"step": k, "text": (f"{x.mean():.3f}", x.sum().item())})


def in_a_loop(log, x, k):
    for i, part in enumerate(x.chunk(2)):
        log.lines.append(f"{i}: {part.mean():.2f}")


def in_a_branch(log, x, k):
    if x.sum() > 3:
        log.lines.append(f"large {x.mean():.3f}")
        log.last = f"{x.max():.1f}"


@pytest.mark.parametrize("note", [appended, inserted, in_a_structure, in_a_loop, in_a_branch])
def test_texts_in_lists_from_outside(note):
    def run(stage):
        log = Log()

        @stage
        def step(x, k):
            note(log, x, k)
            return x + 1

        for k in range(5):
            step(torch.arange(4.0) * k, k)
        return vars(log)

    assert run(ag.function) == run(lambda function: function)
