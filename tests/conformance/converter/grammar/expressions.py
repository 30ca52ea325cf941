"""Random expressions, parenthesized so that they can be used anywhere."""

from grammar.scope import BAG, INT, LIST, TABLE, TEXT, TRUTH, Scope


class Expressions:
    """The mixin that generates expressions. `self.random` makes the choices; `self.label()` numbers the events."""

    def expression(self, kind, scope, depth=2):
        return {
            INT: self.integer,
            LIST: self.list_of,
            TEXT: self.text,
            TABLE: self.table,
            BAG: self.bag,
            TRUTH: self.test,
        }[kind](scope, depth)

    def name(self, kind, scope):
        """Returns a variable of a kind, rarely one that may be unbound; None if no variable of this kind is visible."""
        if self.chance(0.015):
            risky = scope.risky(kind)
            if risky:
                return self.random.choice(risky)
        names = scope.visible(kind)
        return self.random.choice(names) if names else None

    def integer(self, scope, depth=2):
        if depth <= 0 or self.chance(0.3):
            return (self.name(INT, scope) if self.chance(0.7) else None) or str(self.random.randint(-2, 5))
        return self.weighted(
            (14, self.noted), (8, self.arithmetic), (6, self.call), (4, self.ternary), (4, self.lazy_value),
            (3, self.walrus), (2, self.measured), (3, self.attribute), (3, self.item), (2, self.reduced),
            (1, self.applied_lambda), (2, self.awaited), (1, self.picked), (1, self.risky_arithmetic),
            (1, self.not_as_number), (2, self.comparison_as_number),
        )(scope, depth - 1)  # fmt: skip

    def noted(self, scope, depth):
        return f"note({self.label()}, {self.integer(scope, depth)})"

    def arithmetic(self, scope, depth):
        left, right = self.integer(scope, depth), self.integer(scope, depth)
        operator = self.random.choice(["+", "-", "+", "-", "&", "|", "^"])
        if self.chance(0.2):
            return f"({left} * {right} % 7)"
        if self.chance(0.1):
            return f"(-{left})" if self.chance(0.5) else f"(~{left})"
        if self.chance(0.1):
            return f"({left}\n        {operator} {right})"
        return f"({left} {operator} {right})"

    def risky_arithmetic(self, scope, depth):
        operator = self.random.choice(["//", "%"])
        return f"({self.integer(scope, depth)} {operator} {self.integer(scope, depth)})"

    def lazily(self, scope, make, *args):
        scope.lazy += 1
        try:
            return make(*args)
        finally:
            scope.lazy -= 1

    def ternary(self, scope, depth):
        test = self.test(scope, depth)
        then = self.lazily(scope, self.integer, scope, depth)
        other = self.lazily(scope, self.integer, scope, depth)
        return f"({then} if {test} else {other})"

    def lazy_value(self, scope, depth):
        """Returns `a and b` or `a or b`, of which the value is used and not only its truth."""
        operands = [self.integer(scope, depth)]
        for _ in range(self.random.randint(1, 2)):
            operands.append(self.lazily(scope, self.integer, scope, depth))
        return "(" + self.random.choice([" and ", " or "]).join(operands) + ")"

    def walrus(self, scope, depth):
        names = [n for n, k in scope.own.items() if k == INT]
        if not scope.walrus or not names:
            return self.integer(scope, depth)
        name = self.random.choice(names)
        value = self.integer(scope, depth)
        scope.bind(name, INT)
        return f"({name} := {value})"

    def measured(self, scope, depth):
        return f"len({self.list_of(scope, depth) if self.chance(0.6) else self.text(scope, depth)})"

    def attribute(self, scope, depth):
        if scope.instance and self.chance(0.7):
            return f"{scope.instance}.{self.random.choice(['x', 'x', 'y', '__z'])}"
        return f"{self.bag(scope, depth)}.{self.random.choice('xxxxxy')}"

    def item(self, scope, depth):
        if self.chance(0.2):
            return f"{self.table(scope, depth)}[{self.random.choice(['0', '0', chr(34) + 'k' + chr(34)])}]"
        if self.chance(0.2):
            return f"{self.table(scope, depth)}.get({self.integer(scope, depth)}, {self.integer(scope, depth)})"
        return f"{self.list_of(scope, depth)}[{self.random.choice(['0', '-1', '0', self.integer(scope, depth)])}]" if self.chance(0.4) else f"([*{self.list_of(scope, depth)}, 3])[{self.random.choice(['0', '-1'])}]"

    def reduced(self, scope, depth):
        function = self.random.choice(["sum", "max", "min"])
        if function == "sum":
            return f"sum({self.comprehension(scope, depth, '()')[1:-1]})"
        return f"{function}({self.integer(scope, depth)}, {self.integer(scope, depth)})"

    def lambda_of(self, scope, depth, parameters=1):
        inner = Scope("lambda", scope, {f"v{i}": INT for i in range(parameters)})
        inner.own["w"] = INT
        head = []
        for i in range(parameters):
            default = f"={self.integer(scope, 0)}" if self.chance(0.2) or (head and "=" in head[-1]) else ""
            head.append(f"v{i}{default}")
            inner.bound[f"v{i}"] = INT
        if self.chance(0.1):
            head.append("*rest")
        body = self.integer(inner, depth)
        return f"(lambda {', '.join(head)}: {body})" if head else f"(lambda: {body})"

    def applied_lambda(self, scope, depth):
        return f"{self.lambda_of(scope, depth)}({self.integer(scope, depth)})"

    def awaited(self, scope, depth):
        if not scope.is_async:
            return self.noted(scope, depth)
        return f"(await pause({self.integer(scope, depth)}))"

    def picked(self, scope, depth):
        arguments = [self.integer(scope, depth)]
        if self.chance(0.5):
            arguments.append(f"*{self.list_of(scope, depth)}")
        if self.chance(0.3):
            arguments.append(self.integer(scope, depth))
        if self.chance(0.3):
            arguments.append(f"k={self.integer(scope, depth)}")
        if self.chance(0.3):
            arguments.append(f"**{self.random.choice(['{}', '{' + chr(39) + 'm' + chr(39) + ': 1}'])}")
        return f"pick({', '.join(arguments)})"

    def not_as_number(self, scope, depth):
        return f"(1 + (not {self.test(scope, depth)}))"

    def comparison_as_number(self, scope, depth):
        return f"(0 + bool({self.test(scope, depth)}))"

    def call(self, scope, depth):
        candidates = [(n, s) for n, s in scope.callables() if s.kind != "class" or self.chance(0.5)]
        if not candidates:
            return self.noted(scope, depth)
        name, signature = candidates[0] if self.chance(0.3) else self.random.choice(candidates)
        if signature.kind == "class":
            return f"{name}({self.arguments(signature, scope, depth)}).{self.random.choice(['x', 'size', 'step()', 'own()'])}"
        call = f"{name}({self.arguments(signature, scope, depth)})"
        if signature.kind == "generator":
            return self.random.choice([f"sum({call})", f"len(list({call}))", f"next({call}, 0)"])
        if signature.kind == "async":
            return f"(await {call})" if scope.is_async else f"drive({call})"
        return call

    def arguments(self, signature, scope, depth):
        """Returns arguments for a call. They are invalid in one of twenty calls."""
        given = signature.required + self.random.randint(0, signature.optional)
        if self.chance(0.05):
            given = max(0, given - 1)
        positional = [self.integer(scope, depth) for _ in range(given)]
        keywords = []
        names = signature.names
        if given and given > signature.positional_only and len(names) >= given and self.chance(0.2):
            keywords.append(f"{names[given - 1]}={positional.pop()}")
        elif signature.star and self.chance(0.4):
            positional.append(f"*{self.list_of(scope, depth)}")
        elif given and self.chance(0.1):
            last = positional.pop()
            positional.append(f"*[{last}]")
        keywords += [f"{name}={self.integer(scope, depth)}" for name in signature.keyword_only]
        if signature.double and self.chance(0.4):
            keywords.append(f"**dict(q={self.integer(scope, depth)})")
        return ", ".join(positional + keywords)

    # Values of other kinds

    def list_of(self, scope, depth=1):
        name = self.name(LIST, scope)
        if name and (depth <= 0 or self.chance(0.5)):
            return name if self.chance(0.8) else f"{name}[:2]"
        if depth <= 0 or self.chance(0.5):
            return "[" + ", ".join(self.integer(scope, depth - 1) for _ in range(self.random.randint(0, 3))) + "]"
        if self.chance(0.2):
            return f"[*{self.list_of(scope, depth - 1)}, {self.integer(scope, depth - 1)}][:5]"
        return self.comprehension(scope, depth - 1, "[]")

    def comprehension(self, scope, depth, brackets):
        inner = Scope("comprehension", scope)
        inner.is_async = scope.is_async and brackets != "()"
        inner.instance = scope.instance
        # `:=` in a comprehension binds in the enclosing function.
        inner.own = dict(scope.own) if scope.walrus and scope.kind in ("function", "lambda") else {}
        inner.walrus, inner.lazy = bool(inner.own), 1
        inner.maybe = scope.maybe
        inner.bound = dict(scope.bound) if scope.kind != "class" else {}
        inner.functions = dict(scope.functions) if scope.kind != "class" else {}
        walrus, scope.walrus = scope.walrus, False
        first = self.iterable(scope, depth)
        scope.walrus = walrus
        clauses = []
        for level in range(1 + self.chance(0.2)):
            target = "uv"[level]
            iterable = first
            if level:
                allowed, inner.walrus = inner.walrus, False
                iterable = self.iterable(inner, depth - 1)
                inner.walrus = allowed
            if inner.is_async and self.chance(0.3):
                clauses.append(f"async for {target} in ticks(2)")
            else:
                clauses.append(f"for {target} in {iterable}")
            inner.bound[target] = INT
            if self.chance(0.4):
                clauses.append(f"if {self.test(inner, depth)}")
        element = self.integer(inner, depth)
        return f"{brackets[0]}{element} {' '.join(clauses)}{brackets[1]}"

    def iterable(self, scope, depth):
        if self.chance(0.5):
            return f"range({self.random.randint(0, 3)})"
        return f"{self.list_of(scope, depth)}[:3]"

    def text(self, scope, depth=1):
        name = self.name(TEXT, scope)
        if name and self.chance(0.5):
            return name
        if depth <= 0 or self.chance(0.3):
            return self.random.choice(['"k"', "''", "'one two'", "'''it's\n  two'''", 'r"\\d"'])
        return self.f_string(scope, depth - 1)

    def f_string(self, scope, depth):
        value = self.integer(scope, depth).replace("\n", " ")
        if '"' in value or "'" in value or "\\" in value:
            value = self.name(INT, scope) or "3"
        value = f"({value})" if any(mark in value for mark in ":!{}") else value
        conversion = self.random.choice(["", "", "!r", ":3", ":>{1 + 2}", "=", "!s:>4"])
        return f'f"<{{{value}{conversion}}}>"' if self.chance(0.7) else f"f'''{{{value}}} {{{{}}}}\n {{{value}}}'''"

    def table(self, scope, depth=1):
        name = self.name(TABLE, scope)
        if name and self.chance(0.7):
            return name
        if self.chance(0.3):
            body = self.comprehension(scope, depth - 1, "()")[1:-1]
            return "{" + f"0: 1, **{{1: {self.integer(scope, 0)}}}" + "}" if self.chance(0.5) else f"dict(enumerate([{body}]))"
        return "{" + f"{self.integer(scope, depth - 1)}: {self.integer(scope, depth - 1)}, 'k': 2" + "}"

    def bag(self, scope, depth=1):
        name = self.name(BAG, scope)
        if name:
            return name if self.chance(0.8) else f"note({self.label()}, {name})"
        if self.chance(0.2):
            return f"Probe('p', x={self.integer(scope, depth - 1)})"
        return f"Bag(x={self.integer(scope, depth - 1)}, y={self.integer(scope, depth - 1)})"

    # Tests

    def test(self, scope, depth=2):
        if depth <= 0:
            return self.random.choice([self.truth, self.comparison])(scope, 0)
        return self.weighted(
            (5, self.comparison), (4, self.truth), (3, self.negated), (5, self.joined), (3, self.chained),
            (2, self.membership), (2, self.integer), (1, self.list_of), (1, self.identity), (1, self.chosen_test),
            (1, self.text), (1, self.instance),
        )(scope, depth - 1)  # fmt: skip

    def comparison(self, scope, depth):
        operator = self.random.choice(["<", ">", "==", "!=", "<=", ">="])
        return f"({self.integer(scope, depth)} {operator} {self.integer(scope, depth)})"

    def truth(self, scope, depth):
        name = self.name(TRUTH, scope)
        if name and self.chance(0.6):
            return name
        if self.chance(0.4):
            return f"Truth({self.label()}, {self.random.choice(['True', 'False', 'True', 'False', 'None'])})"
        return f"note({self.label()}, {self.random.choice(['True', 'False', '0', '3', '[]', 'None'])})"

    def negated(self, scope, depth):
        return f"(not {self.test(scope, depth)})"

    def joined(self, scope, depth):
        operands = [self.test(scope, depth)]
        for _ in range(self.random.randint(1, 2)):
            operands.append(self.lazily(scope, self.test, scope, depth))
        return "(" + self.random.choice([" and ", " or "]).join(operands) + ")"

    def chained(self, scope, depth):
        parts = [self.integer(scope, depth), self.integer(scope, depth)]
        parts += [self.lazily(scope, self.integer, scope, depth) for _ in range(self.random.randint(1, 2))]
        if self.chance(0.1):
            parts[1] = "Probe('c')"
        text = parts[0]
        for part in parts[1:]:
            text += f" {self.random.choice(['<', '<=', '==', '>', '!='])} {part}"
        return f"({text})"

    def membership(self, scope, depth):
        operator = self.random.choice(["in", "not in"])
        container = self.list_of(scope, depth) if self.chance(0.7) else self.table(scope, depth)
        return f"({self.integer(scope, depth)} {operator} {container})"

    def identity(self, scope, depth):
        return f"({self.integer(scope, depth)} {self.random.choice(['is', 'is not'])} None)"

    def chosen_test(self, scope, depth):
        test = self.test(scope, depth)
        then = self.lazily(scope, self.test, scope, depth)
        return f"({then} if {test} else {self.lazily(scope, self.test, scope, depth)})"

    def instance(self, scope, depth):
        return f"isinstance({self.integer(scope, depth)}, {self.random.choice(['int', 'str', '(int, list)'])})"
