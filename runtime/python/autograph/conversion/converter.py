"""Converts a function: rewrites its source, so that it calls operators in place of control flow, and compiles the result."""

import ast
import functools
import linecache
import os
import sys
import sysconfig
import types

import torch

from .._runtime import convert
from ..errors import ConversionError
from . import identity, patterns, sources, spans, strings

FEATURES = ("ASSERT_STATEMENTS", "BUILTIN_FUNCTIONS", "LISTS")

#: Built-in functions that read the variables of their caller.
SCOPE_FUNCTIONS = {"locals", "vars", "dir", "eval", "exec"}

#: The cell of the variable `ag__` in converted code. The package `operators` stores itself in it.
OPERATORS = types.CellType()

_FILES = {}  # (path, text) -> the converter's entries by line
_CODES = {}  # key of the code object -> Converted
_CONVERTED = set()  # code objects of converted functions


class Converted:
    """The converted form of a code object, or the reason why there is none."""

    __slots__ = ("code", "reason", "text", "traced")

    def __init__(self, code=None, reason=None, text=None, traced=None):
        self.code = code
        self.reason = reason
        self.text = text
        self.traced = traced  # converted code that only traces use: the function may call one of `SCOPE_FUNCTIONS`


class Marker:
    """The attribute that `do_not_convert` sets on a function."""

    ATTRIBUTE = "__ag_do_not_convert__"


def mark_converted(function):
    """Marks a function that is defined in converted code: it is already converted."""
    code = getattr(function, "__code__", None)
    if code is not None:
        _CONVERTED.add(code)
    return function


def is_converted(function):
    """Returns whether a function is the result of a conversion."""
    return function.__code__ in _CONVERTED


def is_cache(function, name):
    """Returns whether a variable of a function of the standard library is the cache of `functools.singledispatch`."""
    return name in ("dispatch_cache", "cache_token") and function.__code__.co_filename == functools.__file__


def is_excluded(function):
    """Returns whether the user has excluded a function from conversion."""
    return getattr(function, Marker.ATTRIBUTE, False)


def _key(code):
    """Returns the key of a code object. Code objects with the same text at the same line are equal, also in different files."""
    return code, code.co_filename


def converted(function, in_trace=False):
    """Returns the converted form of a function, with the same globals, closure and defaults; None if it is not converted."""
    code = function.__code__
    if code in _CONVERTED or is_excluded(function):
        return None
    key = _key(code)
    found = _CODES.get(key)
    if found is None:
        found = _CODES[key] = _convert(function) if is_user_code(function) else Converted(reason="not user code")
    converted_code = found.traced if in_trace and found.code is None else found.code
    return None if converted_code is None else _bound(function, converted_code)


def leave_as_it_is(converted_code):
    """Called when converted code calls one of `SCOPE_FUNCTIONS`. If the code was converted for traces only, traces run the
    original function from now on. Returns whether the code was converted for traces only."""
    for found in _CODES.values():
        if found.traced is converted_code:
            found.traced = None
            return True
    return False


def reason(function):
    """Returns the reason why a function is not converted; None if the function is converted."""
    converted(function)
    found = _CODES.get(_key(function.__code__))
    return found.reason if found is not None else None


def text_of(function):
    """Returns the converted text of a function."""
    converted(function)
    found = _CODES.get(_key(function.__code__))
    if found is None or found.text is None:
        why = "it is already converted" if found is None else found.reason
        raise ConversionError(f"`{function.__qualname__}` cannot be converted: {why}")
    return found.text


def _roots():
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


_STANDARD_LIBRARY = _roots()
_OF_NUMPY = tuple(
    os.path.dirname(os.path.realpath(module.__file__)) + os.sep for module in [sys.modules.get("numpy")] if module is not None
)
_OF_THIS_PACKAGE = os.path.dirname(sys.modules[__package__.partition(".")[0]].__file__) + os.sep
_PACKAGES = tuple(
    os.path.dirname(os.path.realpath(module.__file__)) + os.sep
    for module in (torch, sys.modules.get("numpy"), sys.modules[__package__.partition(".")[0]])
    if module is not None and getattr(module, "__file__", None)
)


#: The folders and files of torch whose code is converted, because it has conditions on values of tensors.
_OF_TORCH = tuple(
    os.path.join(os.path.dirname(os.path.realpath(torch.__file__)), *parts)
    for parts in (("distributions", ""), ("optim", ""), ("amp", "grad_scaler.py"))
)


def is_of_torch(function):
    """Returns whether a function is code of torch that is converted. Such code has no state except for its arguments."""
    return _is_torchs_file(function.__code__.co_filename)


@functools.lru_cache(maxsize=None)
def _is_torchs_file(path):
    return os.path.realpath(path).startswith(_OF_TORCH)


def is_of_this_package(function):
    """Returns whether a function is code of this package."""
    return function.__code__.co_filename.startswith(_OF_THIS_PACKAGE)


def is_user_code(function):
    """Returns whether a function is code of the user, which is converted. Distributions, optimizers and `GradScaler` of
    torch count as such; other code of torch, numpy, the standard library and this package does not."""
    path = function.__code__.co_filename
    if spans.is_converted_text(path):
        return False
    if path.startswith("<") and not linecache.getlines(path):
        return True
    return _is_users_file(path)


@functools.lru_cache(maxsize=None)
def _is_users_file(path):
    real = os.path.realpath(path)
    if real.startswith(_PACKAGES):
        return real.startswith(_OF_TORCH)
    in_standard_library = real.startswith(_STANDARD_LIBRARY)
    return not in_standard_library or f"{os.sep}site-packages{os.sep}" in real


#: Modules of the standard library whose functions do not depend on the classes of values.
_PASS_ON = ("abc", "collections", "contextlib", "contextvars", "copy", "dataclasses", "enum", "functools", "heapq", "operator",
            "threading", "types", "typing", "weakref")  # fmt: skip


def needs_python_numbers(function):
    """Returns whether a function is code of NumPy or of the standard library that may test the class of a number
    (`isinstance(n, int)`). Such code is not converted, so the test would be false for a staged number."""
    return _is_librarys_file(function.__code__.co_filename)


@functools.lru_cache(maxsize=None)
def _is_librarys_file(path):
    real = os.path.realpath(path)
    if f"{os.sep}site-packages{os.sep}" in real:
        return real.startswith(_OF_NUMPY)
    for root in _STANDARD_LIBRARY:
        if real.startswith(root):
            return real[len(root) :].partition(os.sep)[0].removesuffix(".py") not in _PASS_ON
    return False


def _convert(function):
    """Converts a function, or returns the reason why it cannot be converted."""
    code = function.__code__
    if code.co_flags & 0x20:
        return Converted(reason="generators cannot be converted")
    if code.co_flags & (0x80 | 0x200):
        return Converted(reason="coroutines cannot be converted")
    path = code.co_filename
    source = sources.text_of_file(function)
    if source is None:
        return Converted(reason=f"{path} has changed since it was imported")
    if not source:
        return Converted(reason=f"its source was not found in {path}")
    try:
        entry = _entry_of(code, _entries(path, source, FEATURES))
        if entry is not None and entry["reason"] is not None and _names(code) & SCOPE_FUNCTIONS:
            traced = _entry_of(code, _entries(path, source, (*FEATURES, "SCOPES")))
            code = None if traced["reason"] is not None else _compiled(function, traced, path, source).code
            return Converted(reason=entry["reason"], traced=code)
    except (ValueError, SyntaxError) as error:
        return Converted(reason=str(error))
    if entry is None:
        return Converted(reason=f"its definition in {path}, line {code.co_firstlineno} is ambiguous")
    if entry["reason"] is not None:
        return Converted(reason=entry["reason"])
    return _compiled(function, entry, path, source)


def _names(code):
    """Returns the names in a code object and in the code objects nested in it."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def _entries(path, source, features):
    key = (path, hash(source), len(source), features)
    if key not in _FILES:
        found = {}
        for entry in convert(source, list(features)):
            found.setdefault(entry["line"], []).append(entry)
        _FILES[key] = found
    return _FILES[key]


def _entry_of(code, entries):
    """Returns the converter's entry for a code object, found by line and name. If several entries fit, such as two lambdas in
    one line, the column decides."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    candidates = []
    for line in range(code.co_firstlineno, last + 1):
        candidates = [e for e in entries.get(line, ()) if e["qualname"].rpartition(".")[2] == code.co_name]
        if candidates:
            break
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    positions = [p for p in (code.co_positions() if hasattr(code, "co_positions") else ()) if None not in p and p[3]]
    if not positions:
        return None
    start = min((p[0], p[2]) for p in positions)
    before = [e for e in candidates if (e["line"], e["column"]) < start]
    return max(before, key=lambda e: e["column"], default=None)


def _compiled(function, entry, path, source):
    """Compiles the converted text inside a function whose parameters are the free variables of the text, so that they
    remain free. The function contains the syntax tree of the text, so positions match the source map."""
    code, text = function.__code__, entry["text"]
    name = f"<converted {path}:{entry['line']}:{entry['column']}>"
    free = ", ".join([*code.co_freevars, "ag__"])
    try:
        tree = ast.parse(f"def factory({free}): pass")
        body = ast.parse(text).body
        passes = strings.Strings(), identity.Identity(), patterns.Patterns(function)
        for transform in passes:
            body = [transform.visit(statement) for statement in body]
        tree.body[0].body = body
        compiled = compile(tree, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        return Converted(reason=f"its converted form does not compile: {error}")
    ranges = [(*place, kind == "verbatim") for *place, kind in entry["map"]]
    spans.register(name, spans.ConvertedText(text, path, source, ranges, code.co_name))
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    factory = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    name_in_text = "<lambda>" if code.co_name == "<lambda>" else body[-1].name
    inner = next(c for c in factory.co_consts if isinstance(c, types.CodeType) and c.co_name == name_in_text)
    inner = inner.replace(co_name=code.co_name)
    _CONVERTED.add(inner)
    return Converted(inner, None, text)


def _bound(function, code):
    """Returns a function with the converted code, and with the globals, closure, defaults and attributes of the original
    function."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells["ag__"] = OPERATORS
    closure = tuple(cells[name] if name in cells else types.CellType() for name in code.co_freevars)
    bound = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    bound.__kwdefaults__ = function.__kwdefaults__
    bound.__qualname__ = function.__qualname__
    bound.__module__ = function.__module__
    return bound
