"""Random programs: nested conditions and loops, breaks, returns, lists and changes in place, over tensors and numbers.

A program is a function of a vector, a matrix and a number of iterations, all of them tensors. Every statement is valid
after every other statement, but may read a variable that is unbound, as in Python. No list contains a tensor that is
changed in place, because staged code rejects that (`lists_test.py`).
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


def module_text(seeds):
    """A module of one function for each seed."""
    return HEADER + "\n\n".join(Program(seed).text(f"program_{seed}") for seed in seeds)
