"""Writes the entry of a graph as statements of TorchScript."""

import builtins
import keyword
import linecache
import os
from contextlib import contextmanager

import torch

from ..graph import ANY, BOOL, FLOAT, INT, NONE, STR, List, Tensor, Tuple, Value, type_of
from ..names import Names
from ..refusals import refuse
from ..results import number
from ..walk import Walk
from . import lists, numbers, operators

FORMAT = "TorchScript"
_RESERVED = {*keyword.kwlist, *dir(builtins), *numbers.HELPERS, "self", "torch", "math", "List", "Tuple", "Optional", "Dict"}
_NUMBERS = (BOOL, INT, FLOAT)


class Code(Walk):
    """Writes the statements of a graph's entry. `names` maps each value that has been computed to its expression."""

    format = FORMAT

    def __init__(self, graph):
        super().__init__(graph)
        self.lines = []
        self.level = 2
        self.name = Names(_RESERVED).new
        self.dying = lists.dying(graph.entry)
        self.owned = set()  # lists that only one variable holds
        self.constant = set()  # tensors without a gradient
        self.fresh = set()  # tensors that share no memory with inputs
        self.place = None

    # Text.

    def line(self, text):
        self.lines.append("    " * self.level + text)

    @contextmanager
    def block(self, head):
        self.line(head)
        self.level += 1
        first = len(self.lines)
        yield
        if len(self.lines) == first:
            self.line("pass")
        self.level -= 1

    def define(self, value):
        """Returns a new name for a value that the next statement assigns."""
        self.names[value] = self.name(value.name or "v")
        return self.names[value]

    def text(self, operand):
        """Returns the expression for an operand."""
        if isinstance(operand, Value):
            return self.names[operand]
        if isinstance(operand, list):
            return f"[{', '.join(map(self.text, operand))}]"
        if isinstance(operand, float):
            return number(operand)
        return f'torch.device("{operand}")' if isinstance(operand, torch.device) else repr(operand)

    def converted(self, operand, type):
        """Returns the expression for an operand, with numbers converted to this type."""
        kind, text = type_of(operand), self.text(operand)
        if type in _NUMBERS and kind in _NUMBERS:
            return numbers.as_kind(text, kind, type)
        if isinstance(type, Tuple) and isinstance(kind, Tuple) and kind != type:
            pairs = enumerate(zip(kind.items, type.items))
            items = [numbers.as_kind(f"{text}[{i}]", a, b) if b in _NUMBERS else f"{text}[{i}]" for i, (a, b) in pairs]
            return f"({', '.join(items)},)"
        return text

    def stored(self, operand, owner, type=None):
        """Returns the expression for an operand that is stored in another variable or a container. A list is copied, unless
        this is its last use and no other variable holds it."""
        text = self.converted(operand, type) if type is not None else self.text(operand)
        if not isinstance(type_of(operand), List):
            return text
        return text if operand in self.owned and operand in self.dying[id(owner)] else f"{text}.copy()"

    # Nodes.

    def visit(self, node):
        self.comment(node)
        super().visit(node)

    def comment(self, node):
        """Writes the user's line as a comment before its first statement. Control characters and non-ASCII letters become `?`."""
        if node.span is None or node.span[:2] == self.place:
            return
        self.place = node.span[:2]
        file, line = self.place
        source = linecache.getline(file, line).strip()
        text = f"{os.path.basename(file)}:{line}  {source}".rstrip()
        self.line("# " + "".join(letter if " " <= letter <= "~" else "?" for letter in text))

    def scalar(self, node, name):
        texts, kinds = [self.text(o) for o in node.operands], [type_of(o) for o in node.operands]
        self.assign(node, numbers.expression(name, texts, kinds, node.outputs[0].type))

    def assign(self, node, text):
        self.line(f"{', '.join(self.define(output) for output in node.outputs)} = {text}")

    def operator(self, node):
        """Writes a call of an operator of torch. If gradients are disabled, the operands are detached.
        `torch.no_grad()` is not written, because in a loop with a `break` it causes an internal error of torch.jit."""
        detaches = any(isinstance(type_of(operand), List) for operand in node.operands) and not node.grad
        text = self.text if node.grad else self.detached
        call = operators.call(operators.overload(node.op), node.operands, text)
        if not node.outputs:
            self.line(call)
            return
        self.assign(node, call)
        if torch.Tag.nondeterministic_seeded in operators.overload(node.op).tags:
            # torch.jit does not draw random numbers that nothing uses, so this assertion uses them.
            self.line(f"assert {self.names[node.outputs[0]]}.numel() >= 0")
        for output in node.outputs:
            self.computed(node, output)
            if detaches and isinstance(output.type, Tensor):
                self.line(f"{self.names[output]} = {self.names[output]}.detach()")

    def computed(self, node, output):
        if isinstance(output.type, List):
            self.owned.add(output)
        elif not node.grad:
            self.constant.add(output)
        if not operators.is_view(node.op):
            self.fresh.add(output)

    def detached(self, operand):
        """Returns the expression for an operand, detached from its history."""
        type = type_of(operand)
        has_gradient = isinstance(type, Tensor) and (type.dtype.is_floating_point or type.dtype.is_complex)
        return f"{self.text(operand)}.detach()" if has_gradient and operand not in self.constant else self.text(operand)

    def _item(self, node, tensor):
        self.assign(node, f"{node.outputs[0].type}({self.text(tensor)})")

    def _size(self, node, tensor, dimension):
        self.assign(node, f"{self.text(tensor)}.size({self.text(dimension)})")

    def _overwritten(self, node, before, after):
        self.fresh.add(node.outputs[0])
        self.assign(node, f"{self.text(before)}.clone()")
        self.line(f"{self.names[node.outputs[0]]}.detach().copy_({self.detached(after)})")

    def message_of(self, node, operands):
        self.assign(node, self.message(operands))

    def _print(self, node, *parts):
        self.line(f"print({', '.join(map(self.text, parts))})")

    def _assert(self, node, condition, *parts):
        condition = numbers.as_kind(self.text(condition), type_of(condition), BOOL)
        self.line(f"assert {condition}, {self.message(parts)}")

    def _raise(self, node, *parts):
        kind = getattr(builtins, node.detail, None)
        kind = node.detail if isinstance(kind, type) and issubclass(kind, Exception) else "Exception"
        self.line(f"raise {kind}({self.message(parts)})")
        self.has_ended = True

    def message(self, parts):
        texts = [self.text(part) if type_of(part) == STR else f"str({self.text(part)})" for part in parts]
        return ' + " " + '.join(texts) or '""'

    # Control flow.

    def _if(self, node, condition):
        condition = numbers.as_kind(self.text(condition), type_of(condition), BOOL)
        names = [self.name(output.name or "v") for output in node.outputs]
        heads = [f"if {condition}:", "else:"]
        ends = []
        for head, region in zip(heads, node.regions):
            if head == "else:" and not (region.nodes or names):
                ends.append(False)
                continue
            with self.branch(head):
                self.nodes(region.nodes)
                ends.append(self.has_ended)
                if not self.has_ended:
                    for name, result, output in zip(names, region.results, node.outputs):
                        self.line(f"{name} = {self.stored(result, region, output.type)}")
        self.outputs(node.outputs, names)
        self.has_ended = len(ends) == 2 and all(ends)

    @contextmanager
    def branch(self, head):
        place = self.place
        with self.block(head):
            yield
        self.has_ended, self.place = False, place

    def outputs(self, outputs, names):
        self.names.update(zip(outputs, names))
        self.owned |= {output for output in outputs if isinstance(output.type, List)}

    def start(self, node, starts):
        """Writes the statements that assign the initial values of a loop's variables. Returns the names of the
        variables."""
        names, params = [], node.regions[0].params[-len(starts) :]
        for start, output, param in zip(starts, node.outputs, params):
            names.append(self.name(output.name or param.name or "v"))
            self.line(f"{names[-1]} = {self.stored(start, node, output.type)}")
        return names

    def next(self, names, region, outputs):
        """Writes the statement that assigns the next values of a loop's variables."""
        if self.has_ended:
            return
        nexts = [self.stored(result, region, output.type) for result, output in zip(region.results, outputs)]
        pairs = [(name, text) for name, text in zip(names, nexts) if name != text]
        if pairs:
            self.line(" = ".join(", ".join(side) for side in zip(*pairs)))

    def _while(self, node, *starts):
        names = self.start(node, starts)
        condition, body = node.regions
        with self.branch("while True:"):
            self.stop(condition, names)
            self.body(body, names, node)
        self.outputs(node.outputs, names)

    def _for(self, node, start, stop, step, *starts):
        names = self.start(node, starts)
        body, *tests = node.regions
        index = self.define(body.params[0])
        with self.branch(f"for {index} in range({self.text(start)}, {self.text(stop)}, {self.text(step)}):"):
            for test in tests:
                self.stop(test, names)
            self.body(body, names, node, 1)
        self.outputs(node.outputs, names)

    def stop(self, test, names):
        """Writes a `break` that ends the loop if the result of a region is false."""
        self.outputs(test.params, names)
        self.nodes(test.nodes)
        if not self.has_ended:
            text = numbers.as_kind(self.text(test.results[0]), type_of(test.results[0]), BOOL)
            with self.block(f"if not {text}:"):
                self.line("break")

    def body(self, region, names, node, first=0):
        self.outputs(region.params[first:], names)
        self.nodes(region.nodes)
        self.next(names, region, node.outputs)

    # Lists and tuples.

    def _tuple_new(self, node, *items):
        types = node.outputs[0].type.items
        self.assign(node, f"({''.join(self.stored(item, node, type) + ', ' for item, type in zip(items, types))})")

    def _tuple_get(self, node, tuple):
        self.assign(node, f"{self.text(tuple)}[{node.detail}]")

    def new_list(self, node, text):
        self.owned.add(node.outputs[0])
        self.assign(node, text)

    def _list_new(self, node, *items):
        element = node.outputs[0].type.element
        written = ", ".join(self.stored(item, node, element) for item in items)
        self.new_list(node, f"torch.jit.annotate({type_text(node.outputs[0].type)}, [{written}])")

    def _list_filled(self, node, length, item):
        element = node.outputs[0].type.element
        if type_of(item) == NONE and not isinstance(element, Tensor):
            refuse("a list that starts as [None] * n and later holds values other than tensors", FORMAT, node.span)
        item = "torch.empty([0])" if type_of(item) == NONE else self.stored(item, node, element)
        self.new_list(node, f"[{item}] * {self.text(length)}")

    def _list_len(self, node, list):
        self.assign(node, f"len({self.text(list)})")

    def _list_get(self, node, list, index):
        self.assign(node, f"{self.text(list)}[{self.text(index)}]")

    def _list_slice(self, node, list, *bounds):
        start, stop, step = ("" if bound is None else self.text(bound) for bound in bounds)
        self.new_list(node, f"{self.text(list)}[{start}:{stop}{':' + step if step else ''}]")

    def _list_concat(self, node, left, right):
        self.new_list(node, f"{self.text(left)} + {self.text(right)}")

    def changing(self, node, list):
        """Returns the name of a list that the next statement changes in place. If the original list is used again,
        writes a statement that copies it."""
        output = node.outputs[0]
        if list in self.owned and list in self.dying[id(node)]:
            self.names[output] = self.text(list)
        else:
            self.line(f"{self.define(output)} = {self.text(list)}.copy()")
        self.owned.add(output)
        return self.names[output]

    def _list_append(self, node, list, item):
        item = self.stored(item, node, node.outputs[0].type.element)
        self.line(f"{self.changing(node, list)}.append({item})")

    def _list_insert(self, node, list, index, item):
        item = self.stored(item, node, node.outputs[0].type.element)
        self.line(f"{self.changing(node, list)}.insert({self.text(index)}, {item})")

    def _list_set(self, node, list, index, item):
        item = self.stored(item, node, node.outputs[0].type.element)
        self.line(f"{self.changing(node, list)}[{self.text(index)}] = {item}")

    def _list_pop(self, node, list, index):
        name = self.changing(node, list)
        self.line(f"{self.define(node.outputs[1])} = {name}.pop({self.text(index)})")


def type_text(type):
    """Returns the type annotation for a type."""
    if isinstance(type, List):
        return f"List[{type_text(type.element)}]"
    if isinstance(type, Tuple):
        return f"Tuple[{', '.join(map(type_text, type.items))}]"
    if isinstance(type, Tensor) or type == ANY:
        return "torch.Tensor"
    return "None" if type == NONE else type
