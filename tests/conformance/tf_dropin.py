"""Replaces TensorFlow's converter by `ag-lsp convert`.

    import tf_dropin
    tf_dropin.install("path/to/ag-lsp")     # from here on, tf.function converts with ag-lsp
    tf_dropin.uninstall()

TensorFlow still decides what is converted and with which options, and runs the result with its operators. The binary
runs once per source text and set of optional features; functions are looked up in its output by name and position. If
the binary does not convert a function, TensorFlow runs it unchanged, with its usual warning.

Depends on the `autograph` package of TensorFlow 2.21 and the JSON output of `ag-lsp convert`. Requires Python 3.11 or
newer.
"""

import ast
import functools
import importlib.util
import inspect
import json
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

from tensorflow.python.autograph.core.converter import Feature
from tensorflow.python.autograph.impl import api, conversion
from tensorflow.python.autograph.pyct import cache, errors, inspect_utils, loader, origin_info

HERE = Path(__file__).resolve().parent


def _converter_module(name):
    spec = importlib.util.spec_from_file_location(name, HERE / "converter" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


SourceMap = _converter_module("tracebacks").SourceMap

# The features that affect the converted text. The others (name scopes, control dependencies) are options of operators.
TEXTUAL_FEATURES = (
    Feature.ASSERT_STATEMENTS,
    Feature.BUILTIN_FUNCTIONS,
    Feature.EQUALITY_OPERATORS,
    Feature.LISTS,
)

_tensorflow_transpiler = api._TRANSPILER


def install(binary):
    """Makes TensorFlow convert with the program `binary`."""
    program = shutil.which(binary)
    if program is None:
        raise FileNotFoundError(f"no program {binary}")
    _use(_transpiler(program))


def uninstall():
    """Restores TensorFlow's converter."""
    _use(_tensorflow_transpiler)


@functools.cache
def _transpiler(binary):
    return Transpiler(binary)


def _use(transpiler):
    api._TRANSPILER = transpiler
    # TensorFlow caches which functions could not be converted.
    conversion._ALLOWLIST_CACHE = cache.UnboundInstanceCache()


class Transpiler(api.PyToTF):
    """Converts function objects. Differs from TensorFlow's `PyToTF` only in how the text is created and loaded."""

    def __init__(self, binary):
        super().__init__()
        self._binary = binary
        self._sources = {}
        self._operators = {}

    def transform_function(self, function, user_context):
        options = self.get_caching_key(user_context)
        with self._cache_lock:
            if not self._cache.has(function, options):
                self._cache[function][options] = self._load(function, options)
            loaded = self._cache[function][options]
        return loaded.bind(function), loaded.module, loaded.line_map

    def _load(self, function, options):
        source = self._source(function, options)
        entry = source.entry(function)
        if not entry["converted"]:
            raise errors.UnsupportedLanguageElementError(entry["reason"])
        return Loaded(function, source, entry, self._operators_for(options))

    def _source(self, function, options):
        """Returns the converted text of the function's file."""
        try:
            lines, _ = inspect.findsource(function.__code__)
        except OSError as error:
            raise errors.InaccessibleSourceCodeError(
                f"Unable to locate the source code of {function}. Original error: {error}"
            ) from error
        text = "".join(lines)
        features = tuple(feature for feature in TEXTUAL_FEATURES if options.uses(feature))
        if (text, features) not in self._sources:
            filename = inspect.getsourcefile(function.__code__)
            self._sources[text, features] = Source(filename, text, self._convert(text, features))
        return self._sources[text, features]

    def _convert(self, text, features):
        command = [self._binary, "convert", "-", "--dialect", "tensorflow", "--output-format", "json"]
        if features:
            command += ["--features", ",".join(feature.value for feature in features)]
        answer = subprocess.run(command, input=text.encode(), capture_output=True)
        # Exit code 1 means that some functions are not converted.
        if answer.returncode not in (0, 1) or not answer.stdout:
            raise errors.PyCTError(answer.stderr.decode(errors="replace"))
        return json.loads(answer.stdout)

    def _operators_for(self, options):
        """Returns the module `ag__` for some options. All callers share the converted text, so it does not contain them."""
        if options not in self._operators:
            operators = types.ModuleType("autograph")
            operators.__dict__.update(self.get_extra_locals()["ag__"].__dict__)
            operators.STD = options.call_options()
            operators.ConversionOptions = lambda user_requested, **_: (
                options if user_requested else options.call_options()
            )
            self._operators[options] = operators
        return self._operators[options]


class Source:
    """A Python source text with all of its functions converted."""

    def __init__(self, filename, text, entries):
        self.filename = filename
        self.text = text
        self.lines = text.split("\n")
        self.tree = ast.parse(text)
        self._entries = entries

    def entry(self, function):
        """Returns the converter's entry for a function."""
        if function.__code__.co_name == "<lambda>":
            return self._lambda(function)
        code = function.__code__
        named = [
            entry
            for entry in self._entries
            if entry["kind"] != "lambda"
            and entry["qualname"].rpartition(".")[2] == code.co_name
            # A function has the line of its first decorator.
            and entry["line"] >= code.co_firstlineno
        ]
        if not named:
            raise errors.UnsupportedLanguageElementError(f"could not find the source code of {function}")
        return min(named, key=lambda entry: entry["line"])

    def _lambda(self, function):
        """Returns the entry of a lambda, found by the position of its code."""
        code = function.__code__
        # Instructions that do not belong to an expression have empty positions.
        places = [
            (line, column)
            for line, end_line, column, end_column in code.co_positions()
            if column is not None and (line, column) < (end_line, end_column)
        ]
        start = min(places, default=None)
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Lambda)]
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))
        found = [node for node in nodes if (node.body.lineno, node.body.col_offset) == start]
        if not found:
            found = [node for node in nodes if node.lineno == code.co_firstlineno]
        if len(found) != 1:
            raise errors.UnsupportedLanguageElementError(
                f"could not parse the source code of {function}: found {len(found)} definitions at the location"
            )
        entries = [entry for entry in self._entries if entry["kind"] == "lambda"]
        entries.sort(key=lambda entry: (entry["line"], entry["column"]))
        return entries[nodes.index(found[0])]


class Loaded:
    """Converted text as code. Each function object of the original code is bound to its own globals and cells."""

    def __init__(self, function, source, entry, operators):
        self._operators = operators
        # The file is for users and debuggers. The executed code is the same text inside a factory.
        self.module, filename = loader.load_source("", delete_on_exit=True)
        Path(filename).write_text(entry["text"], encoding="utf-8")
        tree = ast.parse(entry["text"])
        definition = tree.body[-1]
        if isinstance(definition, ast.Assign):
            self._name = definition.targets[0].id
        else:
            self._name = definition.name
            without_annotations(definition)
        self._free = function.__code__.co_freevars
        futures = inspect_utils.getfutureimports(function)
        exec(compile(self._factory(tree.body, futures), filename, "exec"), self.module.__dict__)
        self._code = self.module.outer_factory().__code__
        self.line_map = line_map(source, entry, filename)

    def _factory(self, body, futures):
        template = "".join(f"from __future__ import {name}\n" for name in futures)
        template += "def outer_factory():\n"
        template += "".join(f"    {name} = None\n" for name in self._free)
        template += f"    def inner_factory(ag__):\n        return {self._name}\n    return inner_factory\n"
        factory = ast.parse(template)
        outer = factory.body[-1]
        outer.body[-2].body[:0] = body
        return factory

    def bind(self, function):
        cells = dict(zip(self._free, function.__closure__ or ()))
        closure = tuple(cells[name] for name in self._code.co_freevars)
        factory = types.FunctionType(self._code, function.__globals__, self._name, (), closure)
        bound = factory(self._operators)
        bound.__defaults__ = function.__defaults__
        bound.__kwdefaults__ = function.__kwdefaults__
        bound.__annotations__ = function.__annotations__
        return bound


def without_annotations(definition):
    """Removes annotations: they were evaluated at the original definition, and their names may not be visible here."""
    definition.returns = None
    for node in ast.walk(definition.args):
        if isinstance(node, ast.arg):
            node.annotation = None


def line_map(source, entry, filename):
    """Returns the origin of each generated line, in the format of TensorFlow's source maps."""
    source_map = SourceMap(source.filename, source.text, entry)
    functions = [node for node in ast.walk(source.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    result = {}
    for line in range(1, entry["text"].count("\n") + 2):
        origin = source_map.line_origin(line)
        if origin is None:
            continue
        location = origin_info.Location(source.filename, *origin)
        around = [node for node in functions if entry["line"] <= node.lineno <= location.lineno <= node.end_lineno]
        name = max(around, key=lambda node: node.lineno).name if around else None
        result[origin_info.LineLocation(filename, line)] = origin_info.OriginInfo(
            location, name, source.lines[location.lineno - 1], None
        )
    return result
