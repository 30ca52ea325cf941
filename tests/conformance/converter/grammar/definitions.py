"""Random functions, generators, coroutines and classes."""

from grammar.scope import BAG, CONVERTERS_OWN, INT, LIST, NAMES, TABLE, TEXT, TRUTH, Scope, Signature
from grammar.statements import indented


class Definitions:
    """The mixin that generates definitions."""

    def signature(self, **options):
        return Signature(**options)

    def own_names(self, taken=()):
        """Returns name -> kind for the variables of a new function. A converter might generate some of these names."""
        own = {}
        for name in self.random.sample(NAMES[INT], self.random.randint(2, 4)):
            own[name] = INT
        for kind, chance in ((LIST, 0.6), (TEXT, 0.3), (TABLE, 0.3), (BAG, 0.3), (TRUTH, 0.2)):
            if self.chance(chance):
                own[self.random.choice(NAMES[kind])] = kind
        if self.chance(0.15):
            own[self.random.choice(CONVERTERS_OWN)] = INT
        return {name: kind for name, kind in own.items() if name not in taken}

    def parameters(self, scope, outer, method=False):
        """Returns a parameter list and its signature. Binds the parameters in `scope`; defaults use names of `outer`."""
        signature = Signature()
        parts, names = [], [f"p{i}" for i in range(self.random.randint(0, 3))]
        optional = self.random.randint(0, len(names)) if self.chance(0.5) else 0
        signature.required, signature.optional = len(names) - optional, optional
        signature.names = names
        for i, name in enumerate(names):
            default = f"={self.integer(outer, 1)}" if i >= signature.required else ""
            note = self.random.choice([": int", ": 'Later'", ""]) if self.chance(0.2) else ""
            parts.append(f"{name}{note}{' = ' if note and default else ''}{default[1:] if note else default}")
            scope.bound[name] = scope.own[name] = INT
        if parts and self.chance(0.1):
            signature.positional_only = self.random.randint(1, len(parts))
            parts.insert(signature.positional_only, "/")
        if self.chance(0.15):
            signature.star = True
            parts.append("*rest")
            scope.bound["rest"] = LIST
        if self.chance(0.15):
            if not signature.star:
                parts.append("*")
            signature.keyword_only = ("key",)
            parts.append("key" + (f"={self.integer(outer, 0)}" if self.chance(0.5) else ""))
            scope.bound["key"] = scope.own["key"] = INT
        if self.chance(0.1):
            signature.double = True
            parts.append("**options")
        if method:
            if signature.positional_only:
                signature.positional_only = 0
                parts.remove("/")
            parts.insert(0, method)
        return ", ".join(parts), signature

    def function(self, outer, depth, name=None, method=None):
        """Returns the lines of a function, generator or coroutine."""
        name = name or f"f{self.label()}"
        kind = "plain" if method else self.weighted((8, "plain"), (2, "generator"), (2, "async"))
        scope = Scope("function", outer)
        scope.declared = set()
        scope.instance = method if method == "self" else None
        head, signature = self.parameters(scope, outer, method)
        signature.kind = kind
        scope.is_async, scope.is_generator = kind == "async", kind == "generator"
        own = self.own_names(taken=set(scope.own) | {"rest", "options", "key"})
        lines = []
        if self.chance(0.2):
            lines.append(f'"""{self.random.choice(["Says what it does.", "Two lines,", "One"])}"""')
        enclosing, outer_names = outer, {}
        while enclosing is not None and enclosing.kind in ("function", "class"):
            if enclosing.kind == "function":
                assigned = {**enclosing.maybe, **enclosing.bound}
                outer_names = {
                    n: k for n, k in enclosing.own.items() if n in assigned and n not in enclosing.global_names
                }
                break
            enclosing = enclosing.parent
        shared = [n for n in outer_names if n not in scope.own]
        scope.global_names = set()
        if shared and self.chance(0.4):
            chosen = self.random.sample(shared, min(len(shared), self.random.randint(1, 2)))
            lines.append(f"nonlocal {', '.join(chosen)}")
            for shared_name in chosen:
                own[shared_name] = outer_names[shared_name]
                scope.declared.add(shared_name)
                if enclosing.bound.get(shared_name) == outer_names[shared_name]:
                    scope.bound[shared_name] = outer_names[shared_name]
        if self.chance(0.2):
            chosen = self.random.choice(list(self.module.bound))
            if self.module.bound[chosen] in (INT, LIST):
                lines.append(f"global {chosen}")
                own[chosen] = scope.bound[chosen] = self.module.bound[chosen]
                scope.declared.add(chosen)
                scope.global_names.add(chosen)
        scope.own.update(own)
        for local, local_kind in own.items():
            if local not in scope.bound and self.chance(0.75):
                lines.append(f"{local} = {self.expression(local_kind, scope, 1)}")
                scope.bound[local] = local_kind
        if self.chance(0.2):
            lines.append("later = []")
            scope.bound["later"] = "closures"
        if kind == "generator":
            self.left += 1
            lines += self.give(scope, 0)
        if kind == "plain" and self.chance(0.15):
            # The function may call itself; a fuel counter bounds the recursion.
            scope.functions[name] = signature
            lines.append(f"if not more({self.label()}): return 0")
        lines += self.block(scope, depth - 1, self.random.randint(1, 4))
        if kind == "plain" and self.chance(0.5):
            lines.append(f"return {self.integer(scope)}")
        if scope.bound.get("later") and self.chance(0.7):
            lines.append(f"note({self.label()}, [g() for g in later])")
        keyword = "async def" if kind == "async" else "def"
        decorators = []
        if not method and self.chance(0.12):
            decorators.append(self.random.choice(["@traced", "@(lambda function: function)", f"@note({self.label()}, traced)"]))
        if outer.kind != "class":
            outer.functions[name] = signature
            outer.bound.pop(name, None)
            outer.maybe[name] = "function"
        return decorators + [f"{keyword} {name}({head}):"] + indented(lines)

    def class_(self, outer, depth, name=None):
        name = name or f"C{self.label()}"
        bases = [n for n, s in outer.callables() if s.kind == "class"]
        base = self.random.choice(bases) if bases and self.chance(0.5) else None
        body = Scope("class", outer, {n: INT for n in self.random.sample(NAMES[INT], 2)})
        body.declared = set()
        body.global_names = set()
        lines = []
        if self.chance(0.3):
            lines.append('"""A class."""')
        lines.append(f"size = {self.integer(body, 1)}")
        if depth > 1 and self.chance(0.4):
            lines += self.block(body, 1, 1)
        init = Scope("function", body)
        init.declared, init.global_names = set(), set()
        init.instance = "self"
        head, signature = self.parameters(init, body, "self")
        signature.kind = "class"
        lines.append(f"def __init__({head}):")
        inner = [f"super().__init__({self.inherited(base, init, outer)})"] if base and self.chance(0.8) else []
        inner += [f"self.{attribute} = {self.integer(init)}" for attribute in ("x", "y", "__z")]
        init.can_return = False
        if self.chance(0.3):
            inner += self.if_(init, 1)
        lines += indented(inner)
        lines += self.function(body, depth - 1, "step_by", "self") if self.chance(0.3) else []
        lines += self.method(body, depth, "def step(self):", base)
        lines += self.method(body, depth, "def own(self):", None)
        if self.chance(0.3):
            lines += ["@property"] + self.method(body, depth, "def size(self):", None)
            lines += ["@size.setter"] + ["def size(self, value):", "    self.x += value"]
        if self.chance(0.2):
            lines += ["@classmethod", "def made(cls, *args):", f"    return cls(*args) if {self.test(body.parent, 1)} else None"]
        if self.chance(0.2):
            lines += ["@staticmethod"] + self.function(body, 1, "free")
        if outer.kind != "class":
            outer.functions[name] = signature
            outer.maybe[name] = "class"
        return [f"class {name}({base}):" if base else f"class {name}:"] + indented(lines)

    def inherited(self, base, scope, outer):
        return self.arguments(dict(outer.callables())[base], scope, 1)

    def method(self, body, depth, head, base):
        scope = Scope("function", body)
        scope.declared, scope.global_names = set(), set()
        scope.instance = "self"
        scope.own = self.own_names()
        lines = [f"n = {self.integer(scope, 1)}"] if "n" in scope.own else []
        if lines:
            scope.bound["n"] = INT
        if base and self.chance(0.6):
            lines.append(f"self.x += {self.random.choice(['super().step()', 'super().own()', 'super(__class__, self).step()'])} or 0")
        lines += self.block(scope, min(depth - 1, 2), self.random.randint(1, 2))
        lines.append(f"return self.{self.random.choice(['x', 'y', '__z'])}")
        return [head] + indented(lines)
