"""Random programs over objects of user classes and the containers of the standard library.

The classes have properties with setters, `__getattr__`, operators, iterators and context managers. Between the calls, code outside
of the program changes the objects, so that a call must not use what an earlier call has read.
"""

from programs import StateProgram

HEADER = '''import collections
import contextlib
import copy
import functools
import heapq
import itertools
import operator
import random
import weakref

import numpy
import torch


class Box:
    made = 0
    scale = 1.0

    def __init__(self):
        self._x, self.n, self.items, self.extra, self.level, self.log = torch.zeros(()), 1, {"a": 1.0}, {"missing": 2.0}, 0, []
        self.writes = 0

    @property
    def x(self):
        return self.scaled(self._x)

    @x.setter
    def x(self, value):
        self.writes += 1
        self._x = torch.as_tensor(value).detach().clamp(-3, 3)

    def scaled(self, value):
        return value * self.scale

    def __getattr__(self, name):
        if name.startswith("__") or name == "extra":
            raise AttributeError(name)
        return self.lookup(name)

    def lookup(self, name):
        if name not in self.extra:
            raise AttributeError(name)
        return self.extra[name]

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value

    def __len__(self):
        return self.size()

    def size(self):
        return len(self.items) + self.n

    def __contains__(self, key):
        return self.holds(key)

    def holds(self, key):
        return key in self.items

    def __iter__(self):
        for key in list(self.items):
            yield self[key]

    def __enter__(self):
        self.level += 1
        return self

    def __exit__(self, *_):
        self.leave()

    def leave(self):
        self.level -= 1
        self.log.append(self.n)

    def __iadd__(self, value):
        self.put(value)
        return self

    def put(self, value):
        self.log.append(value)

    def __add__(self, value):
        return value + self.weight()

    def weight(self):
        return self.n * Box.scale

    def __mul__(self, value):
        return self._x * value

    def __lt__(self, other):
        return self.weight() < other.weight()

    def __call__(self, value):
        self.n += 1
        return value * 0.5 + self.weight()

    def __repr__(self):
        return f"Box({self.n}, {self.text()})"

    def text(self):
        return "-".join(map(str, self.items))

    def merge(self, a, b):
        return a + b * self.weight()

    @classmethod
    def make(cls):
        cls.made += 1
        return cls()

    @staticmethod
    def double(value):
        return value * 2 + OFFSET


class Steps:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + OFFSET


@contextlib.contextmanager
def guard(value=1):
    DEPTHS.append(len(DEPTHS))
    try:
        yield value + OFFSET
    finally:
        NUMS[0] += 1
        DEPTHS.pop()


def shift(k):
    global OFFSET
    OFFSET += k


def check(k):
    if len(NUMS) > 3:
        raise ValueError("long")
    return k + len(NUMS)


def averaged():
    total, n = 0.0, 0
    while True:
        value = yield total / max(n, 1)
        total, n = total + value, n + 1


def reset():
    global BOX, ORDER, WORDS, TALLY, HEAP, SEEN, NAMES, PAIRS, NUMS, BUF, TABLE, OFFSET, GEN, STACK, TREE, WEAK, DEPTHS
    random.seed(5)
    Box.made, Box.scale = 0, 1.0
    BOX, ORDER, WORDS, TALLY = Box(), collections.OrderedDict(p=1.0, q=2.0), collections.defaultdict(list), collections.Counter(a=1)
    HEAP, SEEN, NAMES, PAIRS, NUMS = [1, 5, 2], {1}, ["n"], [(0, 1.0)], [1, 2, 3]
    BUF, TABLE, OFFSET, GEN = torch.ones(2, 3), numpy.zeros(2), 0, torch.Generator().manual_seed(3)
    STACK, TREE, WEAK = collections.deque([1.0], maxlen=3), {"left": {"v": 1.0}, "right": {"v": 2.0}}, weakref.ref(BOX)
    DEPTHS = []
    torch.manual_seed(9)


def state():
    box = {name: plain(value) for name, value in sorted(vars(BOX).items())}
    rest = BUF, TABLE.tolist(), OFFSET, GEN.get_state(), STACK, TREE, TREE["left"] is TREE["right"], DEPTHS
    mine = Box.made, Box.scale, list(ORDER.items()), list(WORDS.items()), list(TALLY.items()), HEAP, sorted(SEEN), NAMES, PAIRS, NUMS
    return box, plain(mine), plain(rest)


def plain(value):
    """Returns a copy without aliases."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple, collections.deque)) else value


reset()


'''

#: Statements that change objects.
CHANGES = (
    "BOX.x = s", "BOX.x = BOX.x * 0.5 + 1", "BOX.n += 1", "held['box'] += s.detach()", "box += a.sum().detach()", "BOX['a'] = s.detach()",
    "BOX['b'] = k", "BOX.items.pop('b', None)", "Box.made += 1", "box = Box()", "box = copy.copy(BOX)", "box = copy.deepcopy(BOX)",
    "BOX.late = j", "setattr(BOX, 'w', k)", "box = Box.make()", "held['box'] = box", "ORDER['p'] = s.detach()", "ORDER['r'] = k",
    "ORDER.move_to_end('p')", "ORDER.move_to_end('q', last=False)", "WORDS['x'].append(j)", "WORDS[2].append(s.detach())",
    "TALLY.update('ab')", "TALLY['c'] += 1", "heapq.heappush(HEAP, 3)", "k = k + heapq.heappushpop(HEAP, 2)", "SEEN.add(7)",
    "SEEN.update({1, 4})", "SEEN.discard(1)", "NAMES.append(f'{j}')", "PAIRS.append((j, s.detach()))", "PAIRS[:] = PAIRS[-2:]",
    "PAIRS.sort(key=lambda p: -p[1])", "PAIRS.reverse()", "NUMS[1:] = [j, k]", "NUMS[::2] = NUMS[::2][::-1]", "NUMS.insert(1, j)",
    "NUMS.extend(range(2))", "del NUMS[2:]", "s = (w := s * 0.5) + w", "BUF[j % 2].mul_(0.5)", "BUF[0] += a.detach()",
    "BUF.t()[0] = 1.0", "BUF.view(-1)[:2] = s.detach()", "TABLE[j % 2] += 1", "TABLE[:] = TABLE * 0.5 + 1", "shift(1)", "deeper()",
    "s = s + torch.rand((), generator=GEN)", "STACK.appendleft(s.detach())", "STACK.rotate(1)", "TREE['left']['v'] = s.detach()",
    "TREE.setdefault('new', {})['v'] = j", "TREE['left'], TREE['right'] = TREE['right'], TREE['left']", "BOX.items.update(c=s.detach())",
    "BOX.items = dict(BOX.items)", "BOX.log = BOX.log[-2:]", "s = BOX(s)", "NUMS.sort()", "TREE = TREE", "BOX.log.append(j)",
)  # fmt: skip
#: Statements that read objects.
USES = (
    "s = s + BOX.x", "s = s + BOX.missing", "s = s + len(BOX)", "s = s + sum(v for v in BOX)", "s = s + (1 if 'b' in BOX else 2)",
    "s = s + max(TALLY.values(), default=0)", "s = s + len(SEEN)", "s = s + sum(ORDER.values())", "s = s + list(ORDER.values())[0]",
    "s = s + HEAP[0]", "s = s + sum(heapq.nsmallest(2, HEAP))", "k = k + NUMS[-1]", "first, *rest = NUMS; k = k + first + len(rest)",
    "s = s + functools.reduce(operator.add, NUMS)", "s = s + functools.reduce(BOX.merge, [s, s])", "s = s + BOX.double(s)",
    "k = k + sum(itertools.islice(itertools.cycle(NUMS), 4))", "k = k + len(','.join(NAMES))", "s = s + (BOX + s)", "s = s + box * 2",
    "s = s + WEAK().n", "s = s + OFFSET", "a = a + BUF[0]", "a = a + BUF.sum(0)", "s = s + float(TABLE.sum())",
    "s = s + sorted(PAIRS, key=lambda p: p[0])[0][1]", "s = s + TREE['left']['v']", "s = s + sum(len(v) for v in WORDS.values())",
    "print(f'{BOX} {j:>4}')", "k = k + (1 if 0 < j < 3 else 2)", "k = k + sum(i * v for i, v in enumerate(NUMS[:3]))", "s = s + STACK[0]",
    "print(f'{k:03d} {s > 0}')", "k = k + sum(1 for v in SEEN if v > 2)", "s = s + getattr(BOX, 'late', 3)",
    "d = dict(zip('ab', NUMS)); s = s + d['a']", "d = {**ORDER}; s = s + len(d)", "s = s + (1 if BOX < box else 2)", "s = s + box.n",
    "s = s + sum(Steps(2))", "k = k + next(iter(Steps(3)))", "mean = averaged(); next(mean); s = s + mean.send(s)", "s = s + BOX.level",
    "k = k + len(list(itertools.accumulate(NUMS)))", "s = s + min(NUMS, key=lambda v: -v)", "k = k + (NUMS[0] if NUMS else 5)",
    "s = s + sum(map(float, NUMS))", "s = s + sum(v for v, _ in zip(itertools.count(), m))", "k = k + len({*NUMS, *SEEN})",
    "k = k + [*reversed(NUMS)][0]", "s = s + (lambda v: v * OFFSET)(s)", "s = s + len(str(BOX))", "k = k + int(f'{NUMS[0]}')",
)  # fmt: skip
#: Statements with a block.
BLOCKS = (
    "with BOX:", "with box as inner:", "with guard() as g:", "with guard(2):", "for v in NUMS[:4]:", "for v in Steps(2):", "for v in BOX:",
    "for name, v in ORDER.items():", "for f in [lambda v: v + j, BOX.scaled]:", "for i, (p, q) in enumerate(PAIRS[:3]):", "w0 = 0\nwhile len(NUMS) > 4 and (w0 := w0 + 1) < 4:",
    "for v in sorted(SEEN):", "for v in NUMS[1:]:", "match k % 3, j:\n    case (0, v) | (v, 1):\n        s = s + v\n    case _:\n        k = k + 1\nif True:",
    "try:\n    k = check(k)\nexcept ValueError as error:\n    k = k + len(str(error))\nfinally:\n    NUMS[0] -= 1\nif k > 2:",
)  # fmt: skip
#: Statements that run outside of the program, between two calls.
OUTSIDE = (
    "BOX.n = 7", "BOX.items = {'a': 1.5}", "ORDER.move_to_end('p')", "NUMS.append(4)", "NUMS[0] = 9", "SEEN.add(50)", "BUF = torch.ones(2, 3)",
    "OFFSET = 5", "TREE['left'] = {'v': 2.0}", "BOX.extra['missing'] = 3.0", "TALLY.clear()", "HEAP[:] = [3, 4]", "GEN.manual_seed(1)",
    "Box.made = 3", "Box.scale = 3.0", "TABLE[0] = 5", "WORDS.clear()", "STACK.append(1.0)", "PAIRS.append((0, 2.0))", "BOX._x = torch.ones(())",
    "TREE['right'] = TREE['left']", "BOX.log = []", "NUMS = [4, 5, 6]", "BOX.scale = 2.0", "ORDER['p'] = 4.0", "BOX.late = 1", "NAMES.append('xx')",
    "TABLE = numpy.ones(2)", "STACK = collections.deque([2.0], maxlen=3)", "BUF[0, 0] = 5.0", "pass", "pass",
)  # fmt: skip


class ObjectProgram(StateProgram):
    """A program over the objects of the header."""

    def text(self, name):
        self.lines = [f"def {name}(a, m, n):"]
        for line in ("global TREE", "b = a * 0.5 + 1", "s = a.sum()", "k = int(n)", "j = 1", "out = [a * 1]", "total = 0", "box = Box()",
                     "held = {'box': box}", "", "def deeper():", "    def inner():", "        nonlocal total", "        total += k",
                     "    inner()", "    BOX.n += total % 2", ""):  # fmt: skip
            self.add(1, line) if line else self.lines.append("")
        self.block(1, self.random.randint(4, 8), budget=3)
        self.add(1, self.result())
        outside = [self.random.choice(OUTSIDE) for _ in range(4)]
        names = {line.split()[0] for line in outside if line.split()[0].isupper() and " = " in line and line.split()[0].isidentifier()}
        self.lines += ["", "", f"def between_{name}(i):", *([f"    global {', '.join(sorted(names))}"] if names else [])]
        for index, line in enumerate(outside):
            self.lines += [f"    if i == {index}:", f"        {line}"]
        return "\n".join(self.lines) + "\n"

    def result(self):
        return "return a, b, s, k, j, len(out), total, box.n, len(box.log), held['box'].n, torch.stack(out)"

    def statement(self, level, budget):
        chance = self.random.random()
        if chance < 0.3:
            self.add(level, self.random.choice(CHANGES))
        elif chance < 0.55:
            self.add(level, self.random.choice(USES))
        elif chance < 0.65 and budget > 0:
            for line in self.random.choice(BLOCKS).split("\n"):
                self.add(level, line)
            self.block(level + 1, self.random.randint(1, 2), budget - 2)
        else:
            super(StateProgram, self).statement(level, budget)


def module_text(seeds):
    """Returns the text of a module with one function for each seed."""
    return HEADER + "\n\n".join(ObjectProgram(seed).text(f"program_{seed}") for seed in seeds)
