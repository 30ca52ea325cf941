"""The names that a part of a random program may read and write."""

INT, LIST, TEXT, TABLE, BAG, TRUTH = "int", "list", "text", "table", "bag", "truth"

NAMES = {
    INT: ["a", "b", "c", "n", "total", "i", "j"],
    LIST: ["xs", "ys"],
    TEXT: ["word"],
    TABLE: ["table"],
    BAG: ["box"],
    TRUTH: ["flag"],
}

# Names that a converter might generate.
CONVERTERS_OWN = [
    "get_state", "set_state", "if_body", "else_body", "loop_body", "loop_test", "extra_test", "vars_", "itr",
    "do_return", "retval_", "break_", "continue_", "fscope", "lscope", "get_state_1", "break__1", "retval__1",
]  # fmt: skip


class Signature:
    """The signature of a generated function."""

    def __init__(self, kind="plain", required=0, optional=0, positional_only=0, keyword_only=(), star=False, double=False):
        self.kind = kind
        self.required = required
        self.optional = optional
        self.positional_only = positional_only
        self.keyword_only = keyword_only
        self.star = star
        self.double = double
        self.names = []


class Scope:
    """A function, a lambda, a class body or the module.

    `bound` contains the names that are bound on every path to the current position, and `maybe` contains the names that
    are bound on some paths. `own` contains the names that statements may bind here. Names of enclosing functions are
    those bound at the `def`.
    """

    def __init__(self, kind, parent=None, own=()):
        self.kind = kind
        self.parent = parent
        self.own = dict(own)
        self.bound = {}
        self.maybe = {}
        self.functions = {}
        self.is_async = False
        self.is_generator = False
        self.can_return = kind == "function"
        self.in_loop = False
        self.in_handler = False
        self.instance = None
        self.lazy = 0
        self.walrus = kind in ("function", "lambda")

    def visible(self, kind):
        """Returns the readable names of a kind, in a fixed order."""
        found = [name for name, k in self.bound.items() if k == kind]
        hidden = set(self.own) | set(self.bound) | set(self.maybe)
        scope = self.parent
        while scope is not None:
            if scope.kind != "class":
                found += [n for n, k in scope.bound.items() if k == kind and n not in hidden]
                hidden |= set(scope.own) | set(scope.bound)
            scope = scope.parent
        return found

    def risky(self, kind):
        """Returns the names of a kind that may be unbound."""
        found = [n for n, k in {**self.own, **self.maybe}.items() if k == kind and n not in self.bound]
        scope = self.parent
        while scope is not None and scope.kind in ("function", "lambda"):
            found += [n for n, k in scope.maybe.items() if k == kind and n not in self.own and n not in self.bound]
            scope = scope.parent
        return found

    def callables(self):
        found, scope = [], self
        while scope is not None:
            if scope is self or scope.kind != "class":
                found += scope.functions.items()
            scope = scope.parent
        return found

    def bind(self, name, kind):
        if self.lazy:
            self.maybe[name] = kind
        else:
            self.bound[name] = kind
            self.functions.pop(name, None)

    def unbind(self, name):
        kind = self.bound.pop(name, None)
        if kind is not None:
            self.maybe[name] = kind

    def snapshot(self):
        return dict(self.bound), dict(self.functions)

    def join(self, before, ends):
        """Merges the branches `ends`: a name is bound if all of them bind it."""
        everywhere = dict(before[0])
        for name, kind in ends[0][0].items():
            if all(name in bound for bound, _ in ends):
                everywhere[name] = kind
        for name in list(everywhere):
            if not all(name in bound for bound, _ in ends):
                self.maybe[name] = everywhere.pop(name)
        for bound, _ in ends:
            for name, kind in bound.items():
                if name not in everywhere:
                    self.maybe[name] = kind
        self.bound = everywhere
        self.functions = {
            name: signature
            for name, signature in ends[0][1].items()
            if all(name in functions for _, functions in ends)
        }
