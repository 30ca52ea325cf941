"""Random programs over tensors and numbers: nested conditions and loops, breaks, returns, lists and changes in place.

A program is a function of a vector, a matrix and a number of iterations, all of them tensors. Every statement is valid after
every other statement, but may read an unbound variable, as in Python. No list contains a tensor that is changed in place,
because staged code rejects that (`lists_test.py`).
"""

import random

HEADER = "import torch\n\n\n"


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.fresh = 0
        self.depth = 0
        self.loops = 0

    def text(self, name):
        self.lines = [f"def {name}(a, m, n):"]
        for line in ("b = a * 0.5 + 1", "s = a.sum()", "k = int(n)", "j = 1", "out = [a * 1]"):
            self.add(1, line)
        self.block(1, self.random.randint(3, 7), budget=4)
        self.add(1, self.result())
        return "\n".join(self.lines) + "\n"

    def add(self, level, line):
        self.lines.append("    " * level + line)

    def result(self):
        return "return a, b, s, k, j, len(out), torch.stack(out)"

    def block(self, level, statements, budget):
        for _ in range(statements):
            self.statement(level, budget)

    def statement(self, level, budget):
        kinds = [self.vector, self.vector, self.number, self.scalar, self.in_place, self.append, self.temporary]
        if budget > 0:
            kinds += [self.condition_statement] * 3 + [self.for_loop] * 2 + [self.while_loop]
        if self.loops:
            kinds += [self.jump]
        elif self.random.random() < 0.15:
            kinds = [self.early_return]
        self.random.choice(kinds)(level, budget)

    # Expressions.

    def vec(self):
        return self.random.choice(
            ["a", "b", "torch.tanh(a)", "torch.sin(b)", "a * 0.5", "b + s", "a - b", "a * k * 0.1", "m[0]", "m[j % 2]",
             "torch.relu(a)", "b * m[1]", "out[-1]", "torch.where(a > b, a, b)", f"({self.cond_expression('a', '-b')})"]
        )  # fmt: skip

    def cond_expression(self, yes, no):
        return f"{yes} if {self.condition(0)} else {no}"

    def num(self):
        return self.random.choice(["k + 1", "j + 1", "k - j", "k // 2", "(k + j) % 5", "max(k, j)", "min(k, 3)", "len(out)", "abs(k)"])

    def condition(self, depth=1):
        simple = self.random.choice(
            ["a.sum() > b.sum()", "s > 0.5", "a[0] < b[1]", "k > 2", "j < k", "(a > 0).any()", "k % 2 == 0", "len(out) < 4",
             "0 < s < 3", "j == 2", "bool((a < 1).all())", "s.item() > k"]
        )  # fmt: skip
        if depth and self.random.random() < 0.35:
            other = self.condition(0)
            return self.random.choice([f"{simple} and {other}", f"{simple} or {other}", f"not ({simple})"])
        return simple

    # Statements.

    def vector(self, level, budget):
        self.add(level, f"{self.random.choice('ab')} = torch.tanh({self.vec()} + {self.vec()})")

    def number(self, level, budget):
        self.add(level, self.random.choice([f"k = {self.num()}", f"j = {self.num()}", "j += 1", "k -= 1"]))

    def scalar(self, level, budget):
        self.add(level, self.random.choice(["s = a.mean() + b.max()", "s = s * 0.5 + j", "s = torch.sin(s) + k * 0.1"]))

    def in_place(self, level, budget):
        self.add(
            level,
            self.random.choice(
                ["a = a * 1; a += b * 0.1", "b = b.clone(); b[0] = s", "b = b + 0; b[j % 3] += 1", "m[0] += a * 0.1",
                 "m[j % 2, 1] = 0.5", "b = b * 1; v = b[1:]; v.mul_(0.5)", "a = a.clone(); a.clamp_(-1, 1)"]
            ),
        )  # fmt: skip

    def append(self, level, budget):
        self.add(level, self.random.choice(["out.append(a)", "out.append(b * 0.5)", f"out.append({self.vec()} + 0)", "out[-1] = a + 1",
                                            "out = out + [b]", "out.insert(0, a)"]))  # fmt: skip
        if self.random.random() < 0.15:
            self.add(level, "if len(out) > 2:")
            self.add(level + 1, "b = b + out.pop() * 0.1")

    def temporary(self, level, budget):
        self.fresh += 1
        name = f"t{self.fresh}"
        self.add(level, f"{name} = {self.vec()}")
        self.add(level, f"a = a + {name} * 0.1")

    def condition_statement(self, level, budget):
        self.add(level, f"if {self.condition()}:")
        self.block(level + 1, self.random.randint(1, 3), budget - 1)
        if self.random.random() < 0.3:
            self.add(level, f"elif {self.condition()}:")
            self.block(level + 1, self.random.randint(1, 2), budget - 1)
        if self.random.random() < 0.5:
            self.add(level, "else:")
            self.block(level + 1, self.random.randint(1, 3), budget - 1)

    def for_loop(self, level, budget):
        self.fresh += 1
        i = f"i{self.fresh}"
        over, target = self.random.choice(
            [("range(n)", i), ("range(3)", i), ("range(k % 4)", i), ("range(4, 0, -2)", i), ("m", f"r{i}"),
             ("enumerate(m)", f"{i}, r{i}"), ("zip(m, out[:])", f"r{i}, o{i}"), ("range(20)", i)]
        )  # fmt: skip
        if over == "range(20)" and self.loops:
            over = "range(2)"
        self.add(level, f"for {target} in {over}:")
        self.loops += 1
        if "r" + i in target:
            self.add(level + 1, f"b = torch.tanh(b + r{i})")
        if target.startswith(i):
            self.add(level + 1, f"s = s * 0.5 + {i}")
        self.block(level + 1, self.random.randint(1, 3), budget - 2)
        self.loops -= 1
        if self.random.random() < 0.15:
            self.add(level, "else:")
            self.block(level + 1, 1, 0)

    def while_loop(self, level, budget):
        self.fresh += 1
        w = f"w{self.fresh}"
        self.add(level, f"{w} = 0")
        test = self.random.choice([f"{w} < n", f"{w} < 3 and {self.condition(0)}", f"{w} < k % 5", "True"])
        self.add(level, f"while {test}:")
        self.loops += 1
        self.add(level + 1, f"{w} += 1")
        if test == "True":
            self.add(level + 1, f"if {w} > 2 or {self.condition(0)}:")
            self.add(level + 2, "break")
        self.block(level + 1, self.random.randint(1, 3), budget - 2)
        self.loops -= 1

    def jump(self, level, budget):
        self.add(level, f"if {self.condition()}:")
        if self.random.random() < 0.3:
            self.vector(level + 1, 0)
        self.add(level + 1, self.random.choice(["break", "break", "continue", self.result()]))

    def early_return(self, level, budget):
        self.add(level, f"if {self.condition()}:")
        self.add(level + 1, self.result())


STATE_HEADER = '''import collections
import random

import numpy
import torch


class Counter:
    total = 0

    def __init__(self):
        self.n, self.log, self.inner = 0, [], None

    def add(self, k=1):
        self.n += k
        return self.n

    def add_to_all(self):
        Counter.total += 1
        return self.add(2)


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 1


def bump(d, k=1):
    d["n"] = d["n"] + k
    return d


def remember(x, cache={}, seen=[]):
    cache["last"] = x
    seen.append(1)
    return len(seen)


def count_up(k=0):
    while True:
        k += 2
        yield k


def reset():
    random.seed(5)
    numpy.random.seed(5)
    Counter.total = 0
    remember.__defaults__[0].clear()
    remember.__defaults__[1].clear()
    STATE.__init__()
    LOG.clear()
    QUEUE.clear()
    QUEUE.extend([0, 1])
    ARRAY[:] = 0


def state():
    return STATE.n, len(STATE.log), STATE.inner, Counter.total, len(LOG), list(QUEUE), ARRAY.tolist(), remember.__defaults__[1]


STATE, LOG, QUEUE, ARRAY = Counter(), [], collections.deque([0, 1], maxlen=2), numpy.zeros(2)


'''

#: Statements over objects, containers, iterators, generators, closures and random numbers. A graph can represent the
#: objects that statements in `HELD` change. Statements in `OPAQUE` may be refused below a staged condition.
HELD = (
    "c.add()", "c.add(j)", "STATE.add()", "c.add_to_all()", "Counter.total += 1", "bump(d)", "bump(d, k)", "d['n'] += 1", "up()",
    "slots.n += 1", "holder[0].add(3)", "c.inner = b * 1", "STATE.inner = b.detach() * 1", "c.log.append(s)", "LOG.append(s)",
    "alias.append(s * 2)", "STATE.log.append(k)", "STATE.log = STATE.log + [k]", "s = s + random.random()", "k = k + random.randint(0, 2)",
    "s = s + numpy.random.rand()", "last.append(k)", "QUEUE.append(j)", "c = Counter()", "d = {'n': k}", "counts['a'] += 1",
    "k = k + remember(k)", "c.n = k", "up.calls = up.calls + 1", "z = torch.zeros_like(a); z[0] = s; a = a + z", "holder = [c, holder[0]]",
)  # fmt: skip
OPAQUE = (
    "seen.add(1)", "seen.add(len(seen))", "s = s + next(it)", "s = s + next(numbers)", "ARRAY[0] += 1", "buffer.append(1)",
    "random.shuffle(order)", "s = s + order[0]", "queue.append(s)", "data = list(zip(it, 'ab'))",
)  # fmt: skip
READS = (
    "s = s + c.n * 0.1", "s = s + STATE.n", "s = s + Counter.total", "s = s + d['n']", "s = s + total * 0.1", "s = s + len(seen)",
    "s = s + sum(last)", "s = s + QUEUE[0]", "s = s + slots.n", "s = s + counts['a']", "k = k + len(c.log)", "s = s + float(ARRAY[0])",
    "s = s + len(alias)", "k = k + up.calls",
)  # fmt: skip


class StateProgram(Program):
    """A program that also uses objects, containers, iterators, generators, closures and random numbers."""

    def __init__(self, seed):
        super().__init__(seed)
        self.statements = HELD if self.random.random() < 0.75 else HELD + OPAQUE * 2

    def text(self, name):
        self.lines = [f"def {name}(a, m, n):"]
        for line in ("b = a * 0.5 + 1", "s = a.sum()", "k = int(n)", "j = 1", "out = [a * 1]", "total = 0", "alias = LOG",
                     "c, d, seen, slots, counts = Counter(), {'n': 0}, set(), Slots(), collections.Counter(a=1)",
                     "last, queue = collections.deque([0, 0, 0], maxlen=3), collections.deque()",
                     "it, numbers, holder, buffer, order = iter(range(999)), count_up(), [c], bytearray(), [1, 2, 3]",
                     "", "def up():", "    nonlocal total", "    total += 1", "    return total", "",
                     "up.calls = 0"):  # fmt: skip
            self.add(1, line) if line else self.lines.append("")
        self.block(1, self.random.randint(4, 8), budget=4)
        returns = any("return a" in line for line in self.lines)
        self.add(1, self.result() + ("" if returns else ", next(it), next(numbers)"))
        return "\n".join(self.lines) + "\n"

    def result(self):
        return (
            "return a, b, s, k, j, len(out), c.n, len(c.log), d['n'], total, len(seen), list(last), len(queue), "
            "slots.n, up.calls, counts['a'], holder[0].n, len(buffer), torch.stack(out)"
        )

    def statement(self, level, budget):
        chance = self.random.random()
        if chance < 0.35:
            self.add(level, self.random.choice(self.statements))
        elif chance < 0.5:
            self.add(level, self.random.choice(READS))
        else:
            super().statement(level, budget)


PLANTED_HEADER = '''import hashlib
import itertools
import os
import sys


class Meter:
    def __init__(self):
        self.values, self.best = [], None

    def update(self, x):
        value = float(x.detach().numpy().sum())
        self.values.append(value)
        self.best = value if self.best is None else max(self.best, value)
        return self.best


def smoothed(x):
    values = x.detach().numpy()
    return torch.from_numpy(numpy.convolve(values, [0.5, 0.5], "same")).to(x.dtype)


def scaled(x, by=2.0):
    text = f"{x.sum():.2f}"
    return x * (by + len(text.encode()) * 0.01)


def noisy(x):
    print("noisy", x.tolist())
    return x + torch.rand(3, dtype=x.dtype) * float(numpy.float64(random.random()))


def logged(x):
    FOUND.append(x.detach().numpy().round(4).tolist())
    return x * 1.0


def fickle(x):
    """Returns results of different kinds."""
    STEPS.append(x.tolist()[0])
    if len(STEPS) % 5 == 3:
        return torch.cat([x, torch.rand(1, dtype=x.dtype)])
    return x.double() * 0.9 if len(STEPS) % 5 == 4 else x * 0.9


def reset_planted():
    global DIGEST, NUMBERS, METER, GENERATOR
    STEPS.clear()
    DIGEST, NUMBERS, METER, GENERATOR = hashlib.md5(), itertools.count(), Meter(), torch.Generator().manual_seed(3)
    FOUND.clear()
    UNIQUE.clear()
    torch.manual_seed(9)


def planted_state():
    return DIGEST.hexdigest(), next(NUMBERS), plain(METER), plain(FOUND), plain(STEPS), plain(sorted(UNIQUE)), GENERATOR.get_state()


FOUND, STEPS, UNIQUE = [], [], set()


'''

#: Statements that cannot be staged, or that can only be staged by a call of Python in the graph.
PLANTED = (
    "b = torch.from_numpy(numpy.tanh(b.detach().numpy()))", "s = s + len(str(float(s)))", "UNIQUE.add(round(float(s), 3))",
    "k = int(str(k % 7))", "s = s + next(NUMBERS)", "DIGEST.update(b'x')", "a = a + torch.randn(3, generator=GENERATOR)",
    "s = s + METER.update(b)", "sys.stdout.write(f'{k}\\n')", "os.environ['PLANTED'] = str(j)", "print(a.tolist(), k, j)",
    "d[str(float(s))] = k", "b = smoothed(b)", "a = scaled(a)", "a = scaled(a, by=0.5)", "b = noisy(b)", "a = logged(a)",
    "b = fickle(b)[:3].to(b.dtype)", "a = a + fickle(a).to(a.dtype)[:3]", "s = s + fickle(a).sum().to(s.dtype)", "print('s', s)",
    "s = s + collections.Counter(b.tolist()).most_common(1)[0][1]", "s = s + eval('k + 1')", "print('k', k)",
    "s = s + sum(int(c) for c in str(abs(k)))", "FOUND.extend(b.tolist())", "b = torch.cat([smoothed(b)[:2], noisy(a)[:1]])",
)  # fmt: skip


class PlantedProgram(StateProgram):
    """A program into which statements that cannot be staged are inserted at random."""

    def __init__(self, seed):
        super().__init__(seed)
        self.rate = self.random.choice([0.02, 0.1, 0.2])
        self.planted = self.random.sample(PLANTED, 3)

    def statement(self, level, budget):
        if self.random.random() < self.rate:
            self.add(level, self.random.choice(self.planted))
        super().statement(level, budget)


class SpeculativeProgram(StateProgram):
    """A program in which an item of `f` determines each condition, and an item of `t` each number of iterations and each
    integer, so that a call can change them one by one. `q` is a Python number."""

    def __init__(self, seed):
        super().__init__(seed)
        self.conditions = self.counts = 0

    def text(self, name):
        text = super().text(name)
        return text.replace(f"def {name}(a, m, n):", f"def {name}(a, m, n, f, t, q):", 1)

    def flag(self):
        self.conditions += 1
        return self.random.choice(["f[{}] > 0", "bool(f[{}] > 0)", "f[{}].item() > 0"]).format(self.conditions - 1)

    def count(self):
        self.counts += 1
        return f"t[{self.counts - 1}]"

    def condition(self, depth=1):
        return self.flag() if self.random.random() < 0.6 else super().condition(depth)

    def statement(self, level, budget):
        chance = self.random.random()
        if chance < 0.06:
            self.add(level, f"k = k + int({self.count()})")
        elif chance < 0.12:
            self.add(level, self.random.choice(["a = a * q", "k = k + int(q)", "s = s + q", "j = j + (q > 1)"]))
        elif chance < 0.17:
            self.add(level, self.random.choice(["a = a + torch.rand_like(a)", "b = b * torch.rand(3, dtype=b.dtype)"]))
        elif chance < 0.2:
            self.add(level, self.random.choice(["print('k', k)", "print(a.shape, j)", "print('s', s > 0)"]))
        elif chance < 0.3 and budget > 0:
            self.counted_loop(level, budget)
        else:
            super().statement(level, budget)

    def counted_loop(self, level, budget):
        self.fresh += 1
        i, count = f"i{self.fresh}", self.count()
        if self.random.random() < 0.4:
            self.add(level, f"{i} = 0")
            self.add(level, f"while {i} < {count}:")
            self.add(level + 1, f"{i} += 1")
        else:
            over = self.random.choice([f"range({count})", f"range(int({count}))", f"m[:{count}]", f"range({count} + 1, 0, -1)"])
            self.add(level, f"for {i} in {over}:")
        self.loops += 1
        self.block(level + 1, self.random.randint(1, 3), budget - 2)
        self.loops -= 1


def module_text(seeds, kind=Program):
    """Returns the text of a module with one function for each seed."""
    headers = {Program: HEADER, StateProgram: STATE_HEADER, PlantedProgram: STATE_HEADER + PLANTED_HEADER}
    header = headers.get(kind, STATE_HEADER)
    return header + "\n\n".join(kind(seed).text(f"program_{seed}") for seed in seeds)
