"""Workspaces of five sizes: one file, a library, a package, a framework, and the packages of an environment."""
import ast
import dataclasses
import pathlib
import shutil

from measure import installed

# The packages of an environment, about 4,500 files.
ENVIRONMENT = ("jax", "flax", "optax", "chex", "equinox", "numpy", "scipy", "keras", "scikit-learn", "networkx")

# Appended to the file that is opened, so that every server has a finding about `missing`. The framework must not be a
# part of the workspace.
TENSORFLOW = """

import tensorflow as tf


@tf.function
def staged_step(x):
    if tf.reduce_sum(x) > missing: scale = x
    return scale * x
"""
JAX = """

import jax


@jax.jit
def staged_step(x):
    if x > missing: scale = x
    return scale * x
"""


@dataclasses.dataclass
class Workspace:
    name: str
    folder: pathlib.Path
    file: pathlib.Path
    appended: str

    def text(self):
        return self.file.read_text() + self.appended

    def files(self):
        return sum(1 for _ in self.folder.rglob("*.py"))


def workspaces():
    keras = installed.sources("keras") / "keras"
    layer = keras / "src" / "layers" / "layer.py"
    alone = installed.FOLDER / "server" / "alone"
    alone.mkdir(parents=True, exist_ok=True)
    shutil.copy(layer, alone)
    library = installed.sources("flax") / "flax"
    framework = installed.sources("tensorflow-cpu") / "tensorflow"
    environment = environment_folder()
    return [
        Workspace("one file", alone, alone / "layer.py", TENSORFLOW),
        Workspace("flax", library, library / "linen" / "module.py", JAX),
        Workspace("keras", keras, layer, TENSORFLOW),
        Workspace("TensorFlow", framework, framework / "python" / "ops" / "control_flow_ops.py", JAX),
        Workspace("an environment", environment, environment / "optax" / "_src" / "transform.py", TENSORFLOW),
    ]


def environment_folder():
    folder = installed.FOLDER / "environment"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for package in ENVIRONMENT:
            shutil.copytree(installed.sources(package), part, dirs_exist_ok=True)
        part.rename(folder)
    return folder


def middle(text):
    """Returns the first statement of a function in the second half of a text: its line, 0-based, and its indentation."""
    found = []

    def visit(node, is_in_function):
        for child in ast.iter_child_nodes(node):
            is_definition = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_in_function and isinstance(child, ast.stmt) and not is_definition:
                found.append((child.lineno - 1, child.col_offset))
            visit(child, is_in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(ast.parse(text), False)
    return min(place for place in found if place[0] >= text.count("\n") // 2)
