"""Random statements. Each method returns the lines of one statement, without indentation."""

from grammar.scope import BAG, INT, LIST, TABLE, TEXT, TRUTH


def indented(lines):
    return [f"    {line}" if line else line for line in lines]


class Statements:
    """The mixin that generates statements and blocks. `self.left` is the number of statements that may still be added."""

    def block(self, scope, depth, size=None):
        lines = []
        for _ in range(size or self.random.randint(1, 3)):
            if self.left <= 0:
                break
            self.left -= 1
            lines += self.noise() + self.statement(scope, depth)
        return lines or [f"note({self.label()})"]

    def branch(self, scope, depth, before, ends, size=None):
        """Returns a block that starts in the state `before`. Appends its final state to `ends`."""
        scope.bound, scope.functions = dict(before[0]), dict(before[1])
        lines = indented(self.block(scope, depth, size))
        ends.append(scope.snapshot())
        return lines

    def noise(self):
        if self.chance(0.05):
            return [""]
        if self.chance(0.05):
            return [f"# about {self.label()}"]
        return []

    def statement(self, scope, depth):
        compound = self.flow if depth > 0 and self.left > 0 else 0
        leave = self.flow if depth < 3 else 0
        function = scope.kind == "function"
        return self.weighted(
            (9, self.assign), (6, self.augment), (6, self.expression_statement), (2, self.unpack), (2, self.delete),
            (1, self.annotate), (1, self.assertion), (leave, self.raising), (1, self.passing),
            (2, self.keep_lambda), (2, self.append), (1, self.on_one_line),
            (7 * leave if scope.in_loop else 0, self.leave_loop),
            (3 * leave if scope.can_return else 0, self.leave_function),
            (2 if scope.is_generator else 0, self.give),
            (9 * compound, self.if_), (6 * compound, self.while_), (8 * compound, self.for_),
            (4 * compound, self.try_), (3 * compound, self.with_), (2 * compound, self.match_),
            (4 * compound if depth > 1 else 0, self.function_and_call), (1 * compound if depth > 1 and function else 0, self.class_),
            (1 if scope.is_async and compound else 0, self.async_loop),
        )(scope, depth)  # fmt: skip

    def function_and_call(self, scope, depth):
        lines = self.function(scope, depth)
        called = f"note({self.label()}, {self.call(scope, 1)})"
        return lines + [called] if self.chance(0.7) else lines

    def target_name(self, scope, kind):
        names = [n for n, k in scope.own.items() if k == kind]
        return self.random.choice(names) if names else None

    def assign(self, scope, depth):
        kind = self.random.choice([INT, INT, INT, INT, LIST, TEXT, TABLE, BAG, TRUTH])
        value = self.expression(kind, scope)
        if kind == INT and self.chance(0.3):
            if self.chance(0.3):
                return [f"{self.list_of(scope, 0)}[{self.integer(scope, 1)}:] = [{value}]"]
            return [f"{self.place(scope)} = {value}"]
        name = self.target_name(scope, kind)
        if name is None:
            return [f"note({self.label()}, {value})"]
        targets = [name]
        if kind == INT and self.chance(0.1):
            targets.append(self.place(scope) if self.chance(0.3) else self.target_name(scope, INT))
        scope.bind(name, kind)
        return [" = ".join(targets + [value]) + ("  # set" if self.chance(0.05) else "")]

    def place(self, scope):
        """Returns an attribute or item that can be assigned."""
        if scope.instance and self.chance(0.6):
            return f"{scope.instance}.{self.random.choice(['x', 'y', '__z'])}"
        if self.chance(0.5):
            return f"{self.bag(scope)}.{self.random.choice('xy')}"
        if self.chance(0.5):
            return f"{self.table(scope, 0)}[{self.integer(scope, 1)}]"
        name = self.name(LIST, scope)
        return f"{name}[{self.integer(scope, 1)}]" if name else f"{self.table(scope, 0)}['k']"

    def augment(self, scope, depth):
        operator = self.random.choice(["+=", "-=", "+=", "|=", "^="])
        value = self.integer(scope)
        if self.chance(0.35):
            return [f"{self.place(scope)} {operator} {value}"]
        if self.chance(0.15):
            name = self.target_name(scope, LIST)
            if name and name in scope.bound:
                return [f"{name} += {self.list_of(scope, 1)}[:2]"]
        names = [n for n, k in scope.own.items() if k == INT and (n in scope.bound or self.chance(0.1))]
        if not names:
            return self.assign(scope, depth)
        return [f"{self.random.choice(names)} {operator} {value}"]

    def expression_statement(self, scope, depth):
        names = scope.visible(self.random.choice([INT, LIST, TABLE, TEXT, BAG]))
        if names and self.chance(0.5):
            shown = ", ".join(self.random.sample(names, min(len(names), 2)))
            return [f"note({self.label()}, ({shown},))"]
        return [self.integer(scope, 2) if self.chance(0.7) else f"note({self.label()}, {self.text(scope)})"]

    def append(self, scope, depth):
        name = self.name(LIST, scope)
        if not name:
            return self.assign(scope, depth)
        method = self.random.choice(["append({})", "append({})", "insert(0, {})", "extend([{}])"])
        return [f"if len({name}) < 8: {name}.{method.format(self.integer(scope))}"]

    def keep_lambda(self, scope, depth):
        """Returns a statement that keeps a closure, or calls those in `later` after their variables have changed."""
        if "later" in scope.bound and self.chance(0.4):
            return [f"note({self.label()}, [g() for g in later])"]
        if "later" in scope.bound:
            return [f"later.append({self.lambda_of(scope, 1, 0)})"]
        name = f"f{self.label()}"
        signature_of = self.signature(required=1)
        text = self.lambda_of(scope, 1, 1)
        scope.functions[name] = signature_of
        scope.maybe[name] = "function"
        return [f"{name} = {text}"]

    def unpack(self, scope, depth):
        first, second = self.target_name(scope, INT), self.target_name(scope, INT)
        rest = self.target_name(scope, LIST)
        if not first or not second:
            return self.assign(scope, depth)
        values = f"{self.integer(scope)}, {self.integer(scope)}"
        form = self.random.randint(0, 4)
        if form == 0 and rest:
            text, names = f"{first}, *{rest} = {values}, 3", [(first, INT), (rest, LIST)]
        elif form == 1 and rest:
            text, names = f"[{first}, (*{rest}, {second})] = {self.integer(scope)}, [{values}]", [
                (first, INT), (rest, LIST), (second, INT),
            ]  # fmt: skip
        elif form == 2:
            text, names = f"{first}, {self.place(scope)} = {values}", [(first, INT)]
        elif form == 3:
            text, names = f"{first}, {second} = {self.list_of(scope)}", [(first, INT), (second, INT)]
        else:
            text, names = f"{first}, {second} = {values}", [(first, INT), (second, INT)]
        for name, kind in names:
            scope.bind(name, kind)
        return [text]

    def annotate(self, scope, depth):
        name = self.target_name(scope, INT)
        if not name or name in scope.declared:
            return self.passing(scope, depth)
        if self.chance(0.5):
            return [f"{name}: int"]
        value = self.integer(scope)
        scope.bind(name, INT)
        return [f"{name}: int = {value}"]

    def delete(self, scope, depth):
        if self.chance(0.5):
            return [f"del {self.place(scope)}"]
        names = [n for n, k in scope.own.items() if n in scope.bound]
        if len(names) < 3:
            return self.assign(scope, depth)
        chosen = self.random.sample(names, 1 + self.chance(0.2))
        for name in chosen:
            scope.unbind(name)
        return [f"del {', '.join(chosen)}"]

    def assertion(self, scope, depth):
        message = f", {self.noted(scope, 1)}" if self.chance(0.6) else ""
        return [f"assert {self.test(scope)}{message}"]

    def raising(self, scope, depth):
        if scope.in_handler and self.chance(0.5):
            return ["raise"]
        error = self.random.choice(["Oops({})", "Fault({}, 1)", "ValueError({})", "Oops", "KeyError({})", "StopIteration({})"])
        if "StopIteration" in error and (scope.is_async or scope.is_generator):
            error = "Fault({})"
        cause = self.random.choice(["", "", "", " from Fault('cause')", " from None"])
        return [f"raise {error.format(self.integer(scope))}{cause}"]

    def passing(self, scope, depth):
        return [self.random.choice(["pass", "...", '"a text on its own"', f"note({self.label()}); pass"])]

    def on_one_line(self, scope, depth):
        before = scope.snapshot()
        test = self.test(scope)
        scope.lazy += 1
        lines = self.assign(scope, 0)
        scope.lazy -= 1
        del before
        if len(lines) > 1 or "\n" in lines[0]:
            return lines
        return [f"if {test}: {lines[0]}"] + ([f"else: note({self.label()})"] if self.chance(0.4) else [])

    def leave_loop(self, scope, depth):
        return [self.random.choice(["break", "continue"])]

    def leave_function(self, scope, depth):
        if self.chance(0.1):
            return ["return"]
        if scope.is_generator and scope.is_async:
            return ["return"]
        kind = self.random.choice([INT, INT, INT, LIST, TEXT])
        value = self.expression(kind, scope)
        return [f"return {value}" if self.chance(0.9) else f"return {value}, {self.integer(scope)}"]

    def give(self, scope, depth):
        if self.chance(0.3) and not scope.is_async:
            return [f"yield from {self.list_of(scope)}[:3]"]
        name = self.target_name(scope, INT)
        if name and self.chance(0.3):
            scope.bind(name, INT)
            return [f"{name} = (yield {self.integer(scope)}) or {self.integer(scope, 0)}"]
        return [f"yield {self.integer(scope)}"]

    # Compound statements

    def if_(self, scope, depth):
        test = self.test(scope)
        before, ends = scope.snapshot(), []
        lines = [f"if {test}:"] + self.branch(scope, depth - 1, before, ends)
        while self.chance(0.25):
            scope.bound, scope.functions = dict(before[0]), dict(before[1])
            scope.lazy += 1
            test = self.test(scope)
            scope.lazy -= 1
            lines += [f"elif {test}:"] + self.branch(scope, depth - 1, before, ends)
        if self.chance(0.5):
            lines += ["else:"] + self.branch(scope, depth - 1, before, ends)
        else:
            ends.append(before)
        scope.join(before, ends)
        return lines

    def loop(self, scope, depth, head, targets, first, before, may_else=True):
        """Returns a loop with the header `head`. The body binds the names in `targets`, and begins with `first`."""
        ends = [before]
        was_in_loop, scope.in_loop = scope.in_loop, True
        scope.bound, scope.functions = dict(before[0]), dict(before[1])
        for name, kind in targets:
            scope.bind(name, kind)
        body = indented(first + self.block(scope, depth - 1))
        ends.append(scope.snapshot())
        scope.in_loop = was_in_loop
        lines = [head] + body
        scope.join(before, ends)
        if may_else and self.chance(0.25):
            after, ends = scope.snapshot(), []
            lines += ["else:"] + self.branch(scope, depth - 1, after, ends, 1)
            ends.append(after)
            scope.join(after, ends)
        return lines

    def while_(self, scope, depth):
        site = self.label()
        if self.chance(0.3):
            before = scope.snapshot()
            stop = [f"if not more({site}): break"] if self.chance(0.5) else [f"if not more({site}):", "    break"]
            return self.loop(scope, depth, "while True:", [], stop, before)
        scope.lazy += 1
        test = self.test(scope)
        scope.lazy -= 1
        before = scope.snapshot()
        test = f"more({site}) and {test}" if self.chance(0.7) else f"{test} and more({site})"
        return self.loop(scope, depth, f"while {test}:", [], [], before)

    def for_(self, scope, depth):
        name, other = self.target_name(scope, INT), self.target_name(scope, INT)
        if not name or not other:
            return self.if_(scope, depth)
        first, targets, target = [], [(name, INT)], name
        form = self.random.randint(0, 8)
        if form <= 2:
            iterable = f"range({self.random.randint(0, 4)})"
        elif form == 3:
            iterable = f"{self.list_of(scope)}"
            first = [f"if not more({self.label()}): break"]
        elif form == 4:
            iterable, target = f"enumerate({self.list_of(scope)}[:3])", f"{name}, {other}"
            targets.append((other, INT))
        elif form == 5:
            iterable, target = f"[{self.integer(scope)}, {self.integer(scope)}]", self.place(scope)
            targets = []
        elif form == 6:
            generators = [(n, s) for n, s in scope.callables() if s.kind == "generator"]
            if not generators:
                iterable = "Probe('it')"
            else:
                function, signature = self.random.choice(generators)
                iterable = f"{function}({self.arguments(signature, scope, 1)})"
        elif form == 7:
            iterable = f"note({self.label()}, [{self.integer(scope)}, {self.integer(scope)}])"
        else:
            rest = self.target_name(scope, LIST)
            iterable, target = f"[({self.integer(scope)}, 2, 3), [1]]", f"{name}, *{rest}" if rest else name
            targets = [(name, INT), (rest, LIST)] if rest else []
        return self.loop(scope, depth, f"for {target} in {iterable}:", targets, first, scope.snapshot())

    def async_loop(self, scope, depth):
        name = self.target_name(scope, INT)
        if not name:
            return self.passing(scope, depth)
        return self.loop(scope, depth, f"async for {name} in ticks(3):", [(name, INT)], [], scope.snapshot())

    def try_(self, scope, depth):
        before, ends = scope.snapshot(), []
        finishing = self.chance(0.4)
        handlers = self.random.randint(0, 2) if finishing else self.random.randint(1, 2)
        lines = ["try:"] + self.branch(scope, depth - 1, before, ends)
        if handlers and self.chance(0.3):
            after = ends.pop()
            lines_of_else = ["else:"] + self.branch(scope, depth - 1, after, ends, 1)
        else:
            lines_of_else = []
        kinds = ["Oops", "(TypeError, ValueError)", "ZeroDivisionError", "LookupError", "Fault", "Exception", "NameError"]
        for i in range(handlers):
            kind = self.random.choice(kinds)
            if i == handlers - 1 and self.chance(0.15):
                lines += self.handler(scope, depth, "except:", None, before, ends)
                continue
            name = None
            if self.chance(0.5):
                name = self.target_name(scope, INT) if self.chance(0.15) else "err"
            if name in scope.declared:
                name = None
            head = f"except {kind} as {name}:" if name else f"except {kind}:"
            lines += self.handler(scope, depth, head, name, before, ends)
        lines += lines_of_else
        scope.join(before, ends)
        if finishing:
            after, ends = scope.snapshot(), []
            scope.bound = {n: k for n, k in scope.bound.items() if n in before[0]}
            scope.functions = {n: s for n, s in scope.functions.items() if n in before[1]}
            lines += ["finally:"] + indented(self.block(scope, depth - 1, 1))
            for name, kind in after[0].items():
                if name not in scope.maybe:
                    scope.bound[name] = kind
        return lines

    def handler(self, scope, depth, head, name, before, ends):
        scope.bound, scope.functions = dict(before[0]), dict(before[1])
        if name:
            scope.unbind(name)
        was, scope.in_handler = scope.in_handler, True
        first = [f"note({self.label()}, {name})"] if name and self.chance(0.7) else []
        lines = [head] + indented(first + self.block(scope, depth - 1))
        scope.in_handler = was
        if name:
            scope.unbind(name)
        ends.append(scope.snapshot())
        return lines

    def with_(self, scope, depth):
        before = scope.snapshot()
        items, swallows = [], False
        for _ in range(1 + self.chance(0.3)):
            options = self.random.choice(["", "", ", True", ", True", ", fail='enter'", ", fail='exit'", f", {self.test(scope, 1)}"])
            swallows |= bool(options)
            item = f"Guard({self.label()!r}{options})".replace("Guard(", "Guard('g' + str(").replace(options + ")", f"){options})")
            if self.chance(0.4):
                name = self.target_name(scope, INT)
                if name and self.chance(0.8):
                    item += f" as {name}"
                    scope.bind(name, INT)
                elif name:
                    item += f" as {self.place(scope)}"
            items.append(item)
        head = "async with " if scope.is_async and self.chance(0.5) else "with "
        joined = ", ".join(items) if self.chance(0.8) else f"({', '.join(items)})"
        lines = [f"{head}{joined}:"] + indented(self.block(scope, depth - 1))
        if swallows:
            scope.join(before, [before, scope.snapshot()])
        return lines

    def match_(self, scope, depth):
        subject = self.random.choice([
            self.integer(scope), f"({self.integer(scope)}, {self.integer(scope)})", self.bag(scope), self.table(scope),
            self.list_of(scope), self.text(scope), f"{self.integer(scope)}, {self.integer(scope)}",
        ])  # fmt: skip
        before, ends = scope.snapshot(), []
        lines = [f"match {subject}:"]
        for _ in range(self.random.randint(1, 3)):
            scope.bound, scope.functions = dict(before[0]), dict(before[1])
            pattern, names = self.pattern(scope)
            for name, kind in names:
                scope.bind(name, kind)
            guard = ""
            if self.chance(0.3):
                scope.lazy += 1
                guard = f" if {self.test(scope)}"
                scope.lazy -= 1
            lines.append(f"    case {pattern}{guard}:")
            lines += indented(indented(self.block(scope, depth - 1, 1)))
            ends.append(scope.snapshot())
        if self.chance(0.4):
            scope.bound, scope.functions = dict(before[0]), dict(before[1])
            lines += ["    case _:"] + indented(indented(self.block(scope, depth - 1, 1)))
            ends.append(scope.snapshot())
        else:
            ends.append(before)
        scope.join(before, ends)
        return lines

    def pattern(self, scope):
        names = [n for n, k in scope.own.items() if k == INT]
        lists = [n for n, k in scope.own.items() if k == LIST]
        if len(names) < 2 or not lists:
            return str(self.random.randint(0, 3)), []
        first, second = self.random.sample(names, 2)
        rest = self.random.choice(lists)
        return self.random.choice([
            ("0 | 1 | -1", []), (f"int({first})", [(first, INT)]), (f"[{first}, {second}]", [(first, INT), (second, INT)]),
            (f"[{first}, *{rest}]", [(first, INT), (rest, LIST)]), ("[]", []), (f"(0, {first}) | ({first}, 0)", [(first, INT)]),
            (f"Bag(x={first})", [(first, INT)]), (f"Bag(x=int({first}), y=_)", [(first, INT)]), ("None | True | False", []),
            (f"{{'k': {first}, **others}}", [(first, INT)]), (f"{{0: _, 'k': ({first} as {second})}}", [(first, INT), (second, INT)]),
            ("str()", []), (f"[int() as {first}, int({second})]", [(first, INT), (second, INT)]), ("'k' | ''", []),
        ])  # fmt: skip
