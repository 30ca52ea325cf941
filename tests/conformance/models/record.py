"""Records which of the modelled names the installed libraries have: `record.py LIST PACKAGE...`.

LIST is the output of the test `list`; README.md beside this file has the commands. Each PACKAGE becomes
`PACKAGE.names`: its modelled names that exist, sorted, under the module, class or function that owns them.
"""

import ast
import functools
import importlib
import importlib.metadata
import inspect
import sys
import textwrap
import warnings
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parent
MISSING = object()

# Class -> values of the class, because some members exist only on instances or in subclasses.
VALUES = {
    "flax.linen.Module": lambda flax: [flax.linen.Dense(1)],
    "jax.Array": lambda jax: [jax.numpy.zeros(1)],
    "keras.Model": lambda keras: [keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])],
    "numpy.finfo": lambda numpy: [numpy.finfo(float)],
    "numpy.generic": lambda numpy: [numpy.int64(1), numpy.complex128(1)],
    "numpy.iinfo": lambda numpy: [numpy.iinfo(int)],
    "tensorflow.Tensor": lambda tf: [tf.constant(1.0), symbolic(tf)],
    "tensorflow.Variable": lambda tf: [tf.Variable(1.0)],
}

# The package with the names of Keras 2. The model `keras` has them too, for code written for TensorFlow before 2.16.
OLDER = {
    "keras": ["tf_keras"],
    "keras.Layer": ["tf_keras.layers.Layer"],
    "keras.Metric": ["tf_keras.metrics.Metric"],
    "keras.Optimizer": ["tf_keras.optimizers.Optimizer", "tf_keras.optimizers.legacy.Optimizer"],
    "keras.optimizers.LossScaleOptimizer": ["tf_keras.mixed_precision.LossScaleOptimizer"],
}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    modelled = read(sys.argv[1])
    for package in sys.argv[2:]:
        if package not in modelled:
            sys.exit(f"error: {sys.argv[1]} has no names of `{package}`")
        write(package, modelled[package])


def read(file):
    """Returns the modelled names by package and owner."""
    modelled = defaultdict(lambda: defaultdict(set))
    for line in Path(file).read_text().splitlines():
        mark, *columns = line.split("\t")
        if mark == "modelled":
            owner, name = columns
            modelled[owner.split(".")[0]][owner].add(name)
    return modelled


def write(package, modelled):
    older = "".join(f", {older} {version(older)}" for older in OLDER.get(package, ()))
    lines = [f"# {package} {version(package)}{older}"]
    absent = 0
    for owner in sorted(modelled):
        names = sorted(name for name in modelled[owner] if exists(owner, name) or existed(owner, name))
        absent += len(modelled[owner]) - len(names)
        if names:
            lines += [owner, *wrapped(names)]
    (FOLDER / f"{package}.names").write_text("\n".join(lines) + "\n")
    print(f"{package}: {sum(map(len, modelled.values()))} names modelled, {absent} of them do not exist")


def wrapped(names):
    indent = "    "
    return textwrap.wrap(
        " ".join(names), 110, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def version(package):
    distribution = importlib.metadata.packages_distributions().get(package, [package])[0]
    return importlib.metadata.version(distribution)


def existed(owner, name):
    """Returns whether the package with the names of Keras 2 has the name."""
    path = owner.removesuffix("()")
    while path and path not in OLDER:
        path = path.rpartition(".")[0]
    return any(exists(older + owner[len(path) :], name) for older in OLDER.get(path, ()))


def exists(owner, name):
    if owner == name:
        return find(name) is not MISSING
    if owner.endswith("()"):
        return has_parameter(function_at(owner[:-2]), name)
    value = find(owner)
    if inspect.isclass(value):
        return has_member(value, name) or any(hasattr(each, name) for each in values(owner))
    return value is not MISSING and get(value, owner, name) is not MISSING


def find(path):
    """Returns the object at a dotted path, or MISSING."""
    value, so_far = MISSING, ""
    for name in path.split("."):
        value = get(value, so_far, name)
        so_far = f"{so_far}.{name}" if so_far else name
        if value is MISSING:
            return MISSING
    return value


def function_at(path):
    """Returns the function at a path. If the path leads to a class in `VALUES`, returns the method of one of the values."""
    owner, _, name = path.rpartition(".")
    methods = (getattr(value, name) for value in values(owner) if hasattr(value, name))
    return next(methods, None) or find(path)


def get(value, path, name):
    """Returns the attribute of a value, or the submodule of a package."""
    try:
        if value is not MISSING and hasattr(value, name):
            return getattr(value, name)
        return importlib.import_module(f"{path}.{name}" if path else name)
    except Exception:
        return MISSING


def has_member(cls, name):
    """Returns whether instances of a class have an attribute. Attributes that methods assign are read from the source."""
    return hasattr(cls, name) or any(name in assigned(base) for base in inspect.getmro(cls))


@functools.cache
def values(path):
    return VALUES[path](importlib.import_module(path.split(".")[0])) if path in VALUES else []


def symbolic(tf):
    with tf.Graph().as_default():
        return tf.constant(1.0)


@functools.cache
def assigned(cls):
    """Returns the attributes that methods of a class assign to `self`, and those that its body annotates."""
    names = set(getattr(cls, "__annotations__", ()))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                names.add(node.attr)
    return names


def has_parameter(function, name):
    """Returns whether a function takes an argument of that name. Without a signature, it counts as taking every argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function is not MISSING
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return True
    return any(parameter.name == name and parameter.kind is not parameter.POSITIONAL_ONLY for parameter in parameters)


if __name__ == "__main__":
    main()
