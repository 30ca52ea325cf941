"""A cell of the matrix as a program: the lines of a fault, inserted into the files of a carrier.

A fault is a block of statements that reads `x`, a float32 vector of four elements, and binds `y`. A carrier is a small
project with a place for such a block. The faulty and the repaired program of a cell differ in the block only.
"""
import hashlib
import re
import textwrap
from dataclasses import dataclass, field

#: Ends a line that the framework blames, and a line that causes the error. Programs do not contain these comments.
BLAMED, CAUSE = "# fault", "# cause"

JAX, TENSORFLOW, COMPILE, EXPORT, SCRIPT = "jax", "tensorflow", "torch_compile", "torch_export", "torchscript"
TORCH = (COMPILE, EXPORT, SCRIPT)
#: Frameworks that run any Python while they trace.
PYTHON = (JAX, TENSORFLOW, COMPILE, EXPORT)

#: A function with a place for a block, for the body of a carrier.
REFINE = """
def refine(x):
    {block}
    return y
"""


@dataclass(frozen=True)
class Fault:
    """A fault and its repair.

    `kind` is what the framework does:
        raises    It raises an exception at a blamed line (anywhere, if no line has `# fault`).
        differs   The results differ from those without the framework.
        frozen    All calls give the same result.
        retraces  A call after the first one traces again.
    """
    name: str
    kind: str
    block: str
    repaired: str
    #: Definitions at the top of the file that contains the block.
    setup: str = ""
    repaired_setup: str | None = None
    #: Statements of `main` after each call of `step`, and after all of them.
    between: str = ""
    after: str = ""
    #: The names in `setup` that `between` and `after` use.
    names: tuple = ()
    #: False if `setup` contains the traced function, and the block is code that calls it.
    traced: bool = True


@dataclass(frozen=True)
class Carrier:
    """A project with a place for a block.

    `files` maps names to templates. A line `{block}` becomes the block, `{setup}` the definitions of the fault, `{main}`
    the default main program; `{root}` becomes the decorator that traces a function, and `{root_call}` the function that
    does the same.
    """
    name: str
    files: dict
    #: The frameworks that have this carrier. Empty: all.
    frameworks: tuple = ()
    #: False for a carrier that is about roots. It needs a fault whose block is traced (`Fault.traced`).
    untraced: bool = True
    #: Whether `step` is a `torch.nn.Module`.
    is_module: bool = False


def single(name, body, **options):
    """A carrier with one file."""
    return Carrier(name, {"main.py": "{imports}\n{setup}\n" + body.lstrip("\n") + "\n\n{main}\n"}, **options)


@dataclass(frozen=True)
class Framework:
    name: str
    imports: str
    root: str
    root_call: str
    input: str
    #: The class of arrays.
    array: str
    faults: list = field(default_factory=list)
    main: str = """
def main():
    results = []
    x = {input}
    for _ in range(3):
        results.append(step(x))
        {between}
    {after}
    return results
"""
    #: The main program for a `step` that is a `torch.nn.Module`; empty if it is the same.
    module_main: str = ""


def fill(template, values):
    """Replaces `{name}` in a template. A line that contains nothing else becomes lines with its indentation, or none."""
    for name, text in values.items():
        def lines(match, text=text):
            return textwrap.indent(textwrap.dedent(text).strip("\n") + "\n", match[1]) if text.strip() else ""
        template = re.sub(rf"^([ \t]*)\{{{name}\}}\n", lines, template, flags=re.MULTILINE)
        template = template.replace(f"{{{name}}}", text)
    return template


def render(framework, fault, carrier, repaired=False):
    """Returns the files of a program, `{name: text}`, and its marked lines, `{"fault": [(file, line)], "cause": …}`.

    Returns None if the cell does not exist."""
    if carrier.frameworks and framework.name not in carrier.frameworks or not (fault.traced or carrier.untraced):
        return None
    setup = fault.repaired_setup if repaired and fault.repaired_setup is not None else fault.setup
    values = {
        "main": carrier.is_module and framework.module_main or framework.main,
        "imports": framework.imports,
        "setup": setup,
        "block": fault.repaired if repaired else fault.block,
        "names": "".join(f", {name}" for name in fault.names),
        "between": fault.between,
        "after": fault.after,
        "root": f"@{framework.root}" if fault.traced and framework.root else "",
        "root_call": framework.root_call if fault.traced else "",
        "input": framework.input,
        "array": framework.array,
    }
    files, marked = {}, {"fault": [], "cause": []}
    for name, template in carrier.files.items():
        lines = fill(template.lstrip("\n"), values).splitlines()
        for number, line in enumerate(lines, 1):
            for kind, comment in (("fault", BLAMED), ("cause", CAUSE)):
                if line.endswith(comment):
                    marked[kind].append((name, number))
                    lines[number - 1] = line.removesuffix(comment).rstrip()
        files[name] = "\n".join(lines) + "\n"
    return files, marked


def chosen(seed, name, share):
    """Chooses a share of names by a hash."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] / 256 < share


def is_held_out(seed, axis, name):
    """Decides whether a fault or a carrier is held out."""
    return chosen(f"{seed} {axis}", name, 0.3)
