"""Generates random programs: `python generate.py SEED [INDEX]` prints one.

The program only depends on seed and index. It consists of module text, in which all names end in the index, and of
calls.
"""

import dataclasses
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from grammar.definitions import Definitions
from grammar.expressions import Expressions
from grammar.scope import INT, LIST, TABLE, TEXT, Scope
from grammar.statements import Statements

ARGUMENTS = {
    "p": ["0", "1", "2", "-1", "3", "True", "5"],
    "xs": ["[]", "[1, 2, 3]", "[0]", "[4, 0, 2, 1]"],
    "box": ["Bag(x=1, y=2)", "Bag(x=0)", "Probe('box', x=1, y=0)"],
    "flag": ["True", "False", "Truth('flag', True)", "Truth('flag', False)", "None"],
}
"""Argument expressions for the parameters of a program, by the prefix of their names."""


@dataclasses.dataclass
class Program:
    text: str
    calls: list
    globals: list
    """The module variables that the program may modify."""


class Generator(Expressions, Statements, Definitions):
    def __init__(self, seed, index):
        self.random = random.Random(f"{seed}/{index}")
        self.index = index
        self.labels = 0
        self.left = self.random.choice([6, 8, 10, 12, 16])
        # Every third program consists mostly of control flow.
        self.flow = 4 if index % 3 == 0 else 1

    def chance(self, probability):
        return self.random.random() < probability

    def weighted(self, *choices):
        total = sum(weight for weight, _ in choices)
        at = self.random.random() * total
        for weight, choice in choices:
            at -= weight
            if at < 0:
                return choice
        return choices[0][1]

    def label(self):
        self.labels += 1
        return self.labels

    def program(self):
        """Returns the text of a module and the calls."""
        suffix = f"_{self.index}"
        self.module = module = Scope("module")
        module.declared, module.global_names = set(), set()
        lines = []
        for name, kind in (("G", INT), ("H", LIST)):
            lines.append(f"{name}{suffix} = {'3' if kind == INT else '[1, 2]'}")
            module.bound[f"{name}{suffix}"] = kind
        changing = list(module.bound)
        if self.chance(0.3):
            lines += self.class_(module, 2, f"K{suffix}")
        if self.chance(0.4):
            lines += self.function(module, 2, f"g{suffix}")
        name = f"main{suffix}"
        parameters = {f"p{i}": INT for i in range(self.random.randint(1, 2))}
        for extra, kind in (("xs", LIST), ("box", "bag"), ("flag", "truth")):
            if self.chance(0.5):
                parameters[extra] = kind
        is_async = self.chance(0.08)
        scope = Scope("function", module, self.own_names(taken=parameters))
        scope.declared, scope.global_names = set(), set()
        scope.is_async = is_async
        body = []
        for local, kind in scope.own.items():
            if self.chance(0.7):
                body.append(f"    {local} = {self.expression(kind, scope, 1)}")
                scope.bound[local] = kind
        for parameter, kind in parameters.items():
            scope.own[parameter] = scope.bound[parameter] = kind
        self.left = max(self.left, 3)
        body += [f"    {line}" if line else "" for line in self.block(scope, 4, self.random.randint(2, 5))]
        shown = [n for n in scope.own if n in scope.bound]
        body.append(f"    return {', '.join(shown) or 0}" + ("," if len(shown) == 1 else ""))
        keyword = "async def" if is_async else "def"
        lines += [f"{keyword} {name}({', '.join(parameters)}):"] + body
        return Program("\n".join(lines) + "\n", self.calls(name, parameters, is_async), changing)

    def calls(self, name, parameters, is_async):
        found = []
        for _ in range(3):
            arguments = [self.random.choice(ARGUMENTS[p.rstrip("012")]) for p in parameters]
            call = f"{name}({', '.join(arguments)})"
            found.append(f"drive({call})" if is_async else call)
        return list(dict.fromkeys(found))


def program(seed, index):
    return Generator(seed, index).program()


if __name__ == "__main__":
    made = program(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(made.text)
    print("\n".join(f"# {call}" for call in made.calls))
