"""Makes a program of a framework from a way of a value."""
import re
from typing import NamedTuple

from ways import WAYS

IMPORTS = """import abc, collections, contextlib, dataclasses, enum, functools, itertools, types
from typing import *

"""
#: Marks the lines on which the framework raises.
MARK = "  # fault"


class Framework(NamedTuple):
    imports: str
    decorator: str
    value: str
    use: str
    argument: str


FRAMEWORKS = {
    "jax": Framework("import jax, jax.numpy as jnp", "@jax.jit", "jnp.sum({})", "float({})", "jnp.ones(3)"),
    "tensorflow": Framework("import tensorflow as tf", "@tf.function", "tf.reduce_sum({})", "({}).numpy()", "tf.ones(3)"),
    "torch": Framework("import torch", '@torch.compile(fullgraph=True, backend="eager")', "torch.sum({})", "(1 if ({}) > 0 else 2)",
                       "torch.ones(3)"),
}


def program(framework, way):
    """Returns the text of a program."""
    parts = FRAMEWORKS[framework]
    text = WAYS[way].strip().replace("@staged", parts.decorator)
    lines = [line + MARK if "USE(" in line else line for line in text.split("\n")]
    text = replaced(replaced("\n".join(lines), "VALUE", parts.value), "USE", parts.use)
    return f"{IMPORTS}{parts.imports}\n\n{text}\n\n\nf({parts.argument})\n"


def replaced(text, name, template):
    """Replaces the calls of a function, `VALUE(x)`, by a template with their argument."""
    call = re.search(rf"\b{name}\(", text)
    if not call:
        return text
    end, depth = call.end(), 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    inner = replaced(text[call.end():end - 1], name, template)
    return text[:call.start()] + template.format(inner) + replaced(text[end:], name, template)


def marked(text):
    """Returns the numbers of the marked lines."""
    return {number for number, line in enumerate(text.split("\n"), 1) if line.endswith(MARK)}
