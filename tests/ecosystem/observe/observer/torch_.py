"""torch: Dynamo interprets bytecode and TorchScript reads the text, so programs are not rewritten. Hooks in Dynamo's
interpreter record the jumps; the source position of a jump identifies its condition."""
import ast
import dis
import re

import torch
import torch._dynamo
import torch.jit._recursive
import torch.jit._script
import torch.jit.frontend
from torch._dynamo import exc, guards, symbolic_convert, variables

NAME = "torch"
FOLDER = torch.__file__.removesuffix("__init__.py")
JUMPS = [name for name in dis.opmap if "JUMP" in name and "IF" in name]
PLACE = re.compile(r'File "([^"]+)", line (\d+)')


def tracing():
    # Dynamo never runs rewritten code.
    return False


def owns(file):
    return file.startswith(FOLDER)


def install(probe):
    modules = Modules()
    note_jumps(probe, modules)
    note_functions(probe, modules)
    note_breaks(probe)
    note_recompilations(probe)
    note_scripts(probe, modules)


class Module:
    """The conditions of a file, by the position of the expression that a jump tests, and the lines of the functions."""

    def __init__(self, path):
        self.tests = {}
        self.functions = {}
        try:
            with open(path, "rb") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            return
        self.visit(tree, None)

    def visit(self, node, function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            self.functions[first] = function = node.lineno
        elif isinstance(node, ast.Lambda):
            function = node.lineno
        constructs = {ast.If: "if", ast.While: "while", ast.Assert: "assert", ast.IfExp: "ifexp"}
        if type(node) in constructs:
            self.leaves(node.test, [(*start(node), constructs[type(node)], function)], function)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                self.leaves(test, [(*start(test), "comprehension_if", function)], function)
        elif isinstance(node, ast.For):
            self.tests.setdefault((extent(node.iter), "for"), []).append((*start(node), "for", function))
        elif isinstance(node, (ast.BoolOp, ast.UnaryOp)) and extent(node) not in {key for key, _ in self.tests}:
            self.leaves(node, [], function)
        for child in ast.iter_child_nodes(node):
            self.visit(child, function)

    def leaves(self, test, sites, function):
        """Adds the operands of `test` to `tests`, each with the conditions that a jump on this operand decides. These
        are `sites`, and the `and`, `or` and `not` in `test` around the operand."""
        if isinstance(test, ast.BoolOp):
            own = (*start(test), type(test.op).__name__.lower(), function)
            for value in test.values[:-1]:
                self.leaves(value, [own], function)
            self.leaves(test.values[-1], sites, function)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.leaves(test.operand, [*sites, (*start(test), "not", function)], function)
        elif sites:
            known = self.tests.setdefault((extent(test), "test"), [])
            known.extend(site for site in sites if site not in known)


def start(node):
    return node.lineno, node.col_offset + 1


def extent(node):
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class Modules(dict):
    def __missing__(self, path):
        module = self[path] = Module(path)
        return module


def verdict(value):
    if isinstance(value, variables.LazyVariableTracker):
        value = value.realize()
    if isinstance(value, variables.SymNodeVariable):
        free = getattr(value.sym_num.node.expr, "free_symbols", ()) if hasattr(value.sym_num, "node") else ()
        return "staged" if any(symbol.name.startswith("u") for symbol in free) else "python"
    return "staged" if isinstance(value, variables.TensorVariable) else "python"


def sites(module, translator, instruction, kind):
    """Returns the conditions that a jump decides. A jump has the position of its test or of the whole statement. If it
    has the position of the statement, the instruction before it has the position of the test."""
    index = translator.instruction_pointer
    before = translator.instructions[index - 2] if index is not None and index > 1 else instruction
    for place in (instruction.positions, before.positions):
        if place is not None:
            found = module.tests.get(((place.lineno, place.col_offset, place.end_lineno, place.end_col_offset), kind))
            if found:
                return found
    return ()


def note_jumps(probe, modules):
    def noting(handler, kind, opname):
        def handle(translator, instruction):
            file = translator.f_code.co_filename
            if probe.observed(file):
                for site in sites(modules[file], translator, instruction, kind):
                    found = "python" if opname.endswith("NONE") else verdict(translator.stack[-1])
                    if kind == "for" and found == "staged":
                        found = "unclear"
                    probe.facts.decision((file, *site), NAME, found)
            return handler(translator, instruction)
        return handle

    classes = [symbolic_convert.InstructionTranslatorBase]
    for each in classes:
        classes.extend(each.__subclasses__())
        for opname in [*JUMPS, "GET_ITER"]:
            code = dis.opmap[opname]
            if each.dispatch_table[code] is not None:
                kind = "for" if opname == "GET_ITER" else "test"
                each.dispatch_table[code] = noting(each.dispatch_table[code], kind, opname)


def note_functions(probe, modules):
    run = symbolic_convert.InstructionTranslatorBase.run

    def noting(translator):
        code = translator.f_code
        if probe.observed(code.co_filename) and code.co_name != "<module>":
            line = modules[code.co_filename].functions.get(code.co_firstlineno)
            if line is not None:
                parent = getattr(translator, "parent", None)
                caller = None
                if parent is not None and probe.observed(parent.f_code.co_filename):
                    caller = (parent.f_code.co_filename, parent.lineno, parent.f_code.co_firstlineno,
                              parent.f_code.co_name, ())
                probe.facts.function(code.co_filename, line, code.co_name, NAME)
                probe.facts.caller(code.co_filename, line, NAME, caller)
        return run(translator)

    symbolic_convert.InstructionTranslatorBase.run = noting
    step = symbolic_convert.InstructionTranslatorBase.step

    def stepping(translator):
        done = step(translator)
        if probe.observed(translator.f_code.co_filename):
            probe.facts.line(translator.f_code.co_filename, translator.lineno)
        return done

    symbolic_convert.InstructionTranslatorBase.step = stepping


def innermost(stack, probe):
    for frame in reversed(stack or ()):
        if probe.observed(frame.filename):
            return frame.filename, frame.lineno
    return None


def note_breaks(probe):
    create = exc.Unsupported.__init__

    def noting(error, *arguments, **keywords):
        create(error, *arguments, **keywords)
        place = innermost(error.real_stack, probe)
        if place is not None:
            probe.facts.event("break", *place, NAME, str(error.gb_type or error.msg))

    exc.Unsupported.__init__ = noting


def note_recompilations(probe):
    reasons = guards.get_and_maybe_log_recompilation_reasons

    def noting(cache_entry, frame, *arguments, **keywords):
        found = reasons(cache_entry, frame, *arguments, **keywords)
        if found and probe.observed(frame.f_code.co_filename):
            probe.facts.event("recompilation", frame.f_code.co_filename, frame.f_code.co_firstlineno, NAME, found[0])
        return found

    guards.get_and_maybe_log_recompilation_reasons = noting


def note_scripts(probe, modules):
    """Records the functions that TorchScript compiles from their text, and its errors, whose messages contain a
    location."""
    define = torch.jit.frontend.get_jit_def

    def defining(function, *arguments, **keywords):
        code = getattr(function, "__code__", None)
        if code is not None and probe.observed(code.co_filename):
            line = modules[code.co_filename].functions.get(code.co_firstlineno)
            if line is not None:
                probe.facts.function(code.co_filename, line, code.co_name, NAME)
        return define(function, *arguments, **keywords)

    for module in (torch.jit.frontend, torch.jit._recursive, torch.jit._script):
        if hasattr(module, "get_jit_def"):
            module.get_jit_def = defining
    script = torch.jit.script

    def scripting(*arguments, **keywords):
        try:
            return script(*arguments, **keywords)
        except Exception as error:
            for file, line in PLACE.findall(str(error)):
                if probe.observed(file):
                    type_ = f"{type(error).__module__}.{type(error).__qualname__}"
                    probe.facts.event("error", file, int(line), NAME, str(error).strip(), type_, True)
                    break
            raise

    torch.jit.script = scripting
