"""Random classes of trees, random programs that walk over them, and random trees.

A program is the text of a module with a class and a recursive function; the seed determines both, and the trees."""

import importlib.util
import random
import sys

import torch

FORMS = ("dataclass", "named tuple", "annotated", "plain", "slots")
LINKS = ("binary", "sparse", "chain", "list", "tuple")

#: Tests of whether a node or a value is None.
TESTS = ("{0} is None", "not {0} is not None", "None is {0}")


class Program:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.form, self.links = rng.choice(FORMS), rng.choice(LINKS)
        self.width = rng.randrange(1, 4)
        kinds = [rng.choice(("tensor", "float", "int", "bool", "tensor or None", "float or None")) for _ in range(rng.randrange(4))]
        self.fields = [("t", "tensor"), *((f"f{index}", kind) for index, kind in enumerate(kinds))]
        self.children = {"binary": ["left", "right"], "sparse": ["left", "right"], "chain": ["next"]}.get(self.links, ["children"])
        self.as_argument, self.as_method = rng.random() < 0.3, rng.random() < 0.4 and self.form != "named tuple"
        self.has_property = rng.random() < 0.4 and self.form != "named tuple"

        self.text = self._text()

    # The class.

    def _text(self):
        return "\n".join(["import dataclasses", "import typing", "", "import torch", "", "", *self._class(), "", "", *self._function(), ""])

    def _hints(self):
        hints = {"tensor": "torch.Tensor", "float": "float", "int": "int", "bool": "bool"}
        for name, kind in self.fields:
            yield name, hints[kind.split()[0]] + (" | None" if kind.endswith("None") else "")
        for name in self.children:
            yield name, {"list": "list['Node']", "tuple": "tuple['Node', ...]"}.get(self.links, "'Node | None'")

    def _class(self):
        names = [name for name, _ in self._hints()]
        if self.form in ("dataclass", "named tuple"):
            heads = {"dataclass": ["@dataclasses.dataclass", "class Node:"], "named tuple": ["class Node(typing.NamedTuple):"]}
            lines = heads[self.form] + [f"    {name}: {hint}" for name, hint in self._hints()]
        else:
            hinted = [f"{name}: {hint}" if self.form != "plain" else name for name, hint in self._hints()]
            lines = ["class Node:"]
            lines += [f"    __slots__ = {tuple(names)!r}", ""] if self.form == "slots" else []
            lines += [f"    def __init__(self, {', '.join(hinted)}):", *(f"        self.{name} = {name}" for name in names)]
        if self.has_property:
            lines += ["", "    @property", "    def is_leaf(self):", f"        return {self._leaf('self', '')}"]
        if self.as_method:
            lines += ["", *(f"    {line}" for line in self._body("walk", "self"))]
        return lines

    # The function.

    def _leaf(self, node, has_property):
        """Returns a test of whether a node has no children."""
        if has_property:
            return f"{node}.is_leaf"
        if self.links in ("list", "tuple"):
            return self.rng.choice((f"not {node}.children", f"len({node}.children) == 0"))
        tests = [self.rng.choice((*TESTS, "not {0}")).format(f"{node}.{name}") for name in self.children]
        return tests[0] if self.links == "binary" else " and ".join(tests)

    def _term(self, node):
        """Returns an expression that computes a tensor from the fields of a node."""
        parts = [f"{node}.t"]
        for name, kind in self.fields[1:]:
            value, absent = f"{node}.{name}", self.rng.choice(TESTS).format(f"{node}.{name}")
            parts.append({
                "tensor": f"torch.tanh({value})", "float": f"{value} * 0.5", "int": f"{value} / 4",
                "bool": f"(1.5 if {value} else -0.5)", "tensor or None": f"(0.25 if {absent} else {value} * w)",
                "float or None": f"(0.75 if {absent} else {value} - 1)",
            }[kind])  # fmt: skip
        return self.rng.choice((" + ", " - ")).join(parts[:2]) + "".join(f" + {part}" for part in parts[2:])

    def _body(self, name, node):
        again = (lambda child: f"{child}.walk(w)") if self.as_method else (lambda child: f"walk({child}, w)")
        lines = [f"def {name}({node}, w):", f"    result = {self._term(node)}"]
        if self.links in ("list", "tuple"):
            order = self.rng.choice(("for child in {0}.children:", "for k, child in enumerate({0}.children):")).format(node)
            factor = " * (k + 1)" if "enumerate" in order else ""
            if self.rng.random() < 0.5:
                lines += [f"    if {self._leaf(node, self.has_property)}:", "        return torch.cos(result)"]
            lines += [f"    {order}", f"        result = torch.sin(result) + {again('child')} * w{factor}", "    return result"]
        elif self.links == "chain" and self.rng.random() < 0.5:
            lines += [
                f"    node = {node}", "    while node.next is not None:", "        node = node.next",
                f"        result = torch.sin(result) * w + {self._term('node')}", "    return result",
            ]  # fmt: skip
        elif self.links == "binary":
            lines += [
                f"    if {self._leaf(node, self.has_property)}:", "        return torch.cos(result)",
                f"    return torch.tanh({again(f'{node}.left')} * w - {again(f'{node}.right')}) + result",
            ]  # fmt: skip
        else:
            for child in self.children:
                test = self.rng.choice(("{0} is not None", "{0}", "not {0} is None")).format(f"{node}.{child}")
                lines += [f"    if {test}:", f"        result = torch.sin(result) + w * {again(f'{node}.{child}')}"]
            lines += ["    return result"]
        return lines

    def _function(self):
        lines = [] if self.as_method else [*self._body("walk", "node"), "", ""]
        call = "root.walk(w)" if self.as_method else "walk(root, w)"
        if self.as_argument:
            return [*lines, "def program(w, *, trees):", "    total = torch.zeros_like(w)", "    for root in trees:",
                    f"        total = total * 0.5 + {call}", "    return total"]  # fmt: skip
        return [*lines, "def program(root, w):", f"    return {call}"]

    # Trees.

    def load(self, path):
        path.write_text(self.text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # for `dataclasses`
        spec.loader.exec_module(module)
        return module

    def arguments(self, kind, rng):
        """Returns random arguments of the program, and the tensors in them that require a gradient."""
        tensors = [torch.tensor([rng.gauss(0, 1) for _ in range(self.width)], dtype=torch.float64).requires_grad_()]
        w = tensors[0]
        if self.as_argument:
            return (w,), {"trees": [self._tree(kind, rng, rng.randrange(5), tensors) for _ in range(2)]}, tensors
        return (self._tree(kind, rng, rng.randrange(6), tensors), w), {}, tensors

    def refers_to_itself(self, args, kwargs):
        """Returns whether annotations of the class or the arguments show that the class refers to itself."""
        roots = kwargs["trees"] if self.as_argument else args[:1]
        return self.form != "plain" or all(any(getattr(root, name) for name in self.children) for root in roots)

    def _tree(self, kind, rng, depth, tensors):
        def value(name, what):
            if what.endswith("None") and rng.random() < 0.4:
                return None
            if what.startswith("tensor"):
                tensors.append(torch.tensor([rng.gauss(0, 1) for _ in range(self.width)], dtype=torch.float64).requires_grad_())
                return tensors[-1]
            return {"float": rng.random, "int": lambda: rng.randrange(-9, 9), "bool": lambda: rng.random() < 0.5}[what.split()[0]]()

        def child():
            return self._tree(kind, rng, depth - 1, tensors)

        if self.links == "binary":
            children = [child(), child()] if depth and rng.random() < 0.8 else [None, None]
        elif self.links in ("sparse", "chain"):
            children = [child() if depth and rng.random() < 0.8 else None for _ in self.children]
        else:
            found = [child() for _ in range(rng.randrange(4))] if depth else []
            children = [found if self.links == "list" else tuple(found)]
        return kind(*[value(*field) for field in self.fields], *children)
