"""Random programs that move lists, dictionaries and tensors between variables, attributes and containers, in branches and loops,
and change them in place through one of their names. Some objects remain after a call."""

from programs import Program

HEADER = '''import random
import torch


class Box:
    def __init__(self):
        self.items, self.table, self.value, self.other = [torch.ones(())], {"k": torch.ones(())}, torch.ones(3), None


BOX, LOG, TABLE = Box(), [torch.zeros(())], {"a": [torch.ones(())]}


def swap(p, q):
    return q, p


def put(target, value):
    target.append(value)
    return target


def reset():
    global BOX, LOG, TABLE
    random.seed(5)
    BOX, LOG, TABLE = Box(), [torch.zeros(())], {"a": [torch.ones(())]}


def state():
    return plain((BOX.items, BOX.table, BOX.value, BOX.other, LOG, TABLE), {})


def plain(value, seen=None):
    """Returns a copy without aliases. If `seen` is given, a container that occurs again is the number of its first occurrence."""
    if seen is not None and isinstance(value, (list, dict)):
        if id(value) in seen:
            return "same", seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: plain(item, seen) for key, item in value.items()}
    return [plain(item, seen) for item in value] if isinstance(value, (list, tuple)) else value


'''

#: Statements after which two places hold the same container or tensor.
MOVES = (
    "p = q", "q = r", "r = p", "p, q = q, p", "p, q, r = q, r, p", "p = [s]", "q = []", "r = list(p)", "p = nest[0]", "nest[1] = q",
    "nest = [p, q]", "nest[0], nest[1] = nest[1], nest[0]", "d['p'] = p", "p = d['p']", "e = d", "d = {'p': q}", "d = dict(e)",
    "box.items = p", "p = box.items", "box.other = q", "box = Box()", "q = box.items", "pair = p, q", "p, q = pair", "q = pair[0]",
    "p, r = swap(p, r)", "q = put(p, s)", "u = v", "v = u * 2", "u, v = v, u", "v = u[:2]", "box.value = u", "u = box.value", "p.append(v)",
    "v = a * 0.5", "d['u'] = u", "p = q or r", "r = p if k > 1 else q", "r = p if s > 0 else q", "u = v if s > 0.5 else u",
)  # fmt: skip
#: Statements that move objects which remain after the call.
OUTER = ("p = LOG", "q = BOX.items", "BOX.items = [s.detach()]", "r = TABLE['a']", "d = BOX.table", "u = BOX.value", "box = BOX",
         "BOX.items = BOX.other or [torch.ones(())]", "BOX.value = BOX.value * 0.5")  # fmt: skip
#: Statements that change a container or tensor in place.
CHANGES = (
    "p.append(s)", "q.append(s * k)", "r.append(s + j)", "p[0] = s * 2", "q[-1:] = [s]", "r += [s]", "p.extend(q[:2])", "nest[0].append(s)",
    "nest[-1].append(s + j)", "d['p'].append(s)", "e['n'] = s", "d['n'] = s * k", "box.items.append(s.detach())", "pair[0].append(s)", "q.insert(0, s)",
    "u.add_(1)", "v.mul_(0.5)", "u[0] = s", "u += 1", "box.value.mul_(0.5)", "d.update(n=s + j)", "put(r, s)", "p.clear()", "q.reverse()",
    "v[:2].add_(0.5)", "box.items[0] = s.detach() + j",
)  # fmt: skip
USES = ("s = s + len(p)", "s = s + len(q) * 0.1", "k = k + len(r)", "s = s + u.sum() * 0.1", "s = s + v[0]", "s = s + (2 if p is q else 1)",
        "k = k + (r is p)", "k = k + (e is d)", "s = s + sum(len(o) for o in nest)", "s = s + len(box.items)")  # fmt: skip


class SharedProgram(Program):
    """A program over the objects of the header."""

    def __init__(self, seed):
        super().__init__(seed)
        self.moves = MOVES if self.random.random() < 0.7 else MOVES + OUTER * 2

    def text(self, name):
        self.lines = [f"def {name}(a, m, n):"]
        for line in ("b = a * 0.5 + 1", "s = a.sum()", "k = int(n)", "j = 1", "out = [a * 1]", "u, v = a * 2, a * 3",
                     "p, q, r, box, pair = [s], [s * 2, s + k], [], Box(), ([s], [s + j])", "nest, d, e = [p, [s * k]], {'p': q}, {'n': s}"):  # fmt: skip
            self.add(1, line)
        self.block(1, self.random.randint(4, 9), budget=3)
        self.add(1, self.result())
        return "\n".join(self.lines) + "\n"

    def result(self):
        return "return a, s, k, plain((p, q, r, nest, d, e, box.items, box.other, box.value, pair, u, v))"

    def statement(self, level, budget):
        chance = self.random.random()
        kinds = [(0.3, self.moves), (0.6, CHANGES), (0.7, USES)]
        lines = next((lines for bound, lines in kinds if chance < bound), None)
        if lines is not None:
            self.add(level, self.random.choice(lines))
        elif budget > 0:
            self.random.choice([self.condition_statement] * 3 + [self.for_loop] * 2 + [self.while_loop])(level, budget)
        else:
            self.add(level, self.random.choice(CHANGES))


def module_text(seeds):
    """Returns the text of a module with one function for each seed."""
    return HEADER + "\n\n".join(SharedProgram(seed).text(f"program_{seed}") for seed in seeds)
