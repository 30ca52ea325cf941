"""Rewrites tracebacks of converted code to refer to the original code.

In a converted function, branches and loop bodies are separate functions that operators call, so exceptions have frames
that are not in the original code. `rewrite` replaces the traceback by that of the original program: the user's file,
line and column, with one frame per call.

Depends only on the source map of `ag-lsp convert --output-format json` and CPython's tracebacks.
"""

import ast
import bisect
import types
from dataclasses import dataclass


class Lines:
    """Converts between character offsets (source map) and lines with byte columns (CPython)."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def offset(self, line, column):
        before = self.lines[line - 1].encode()[:column]
        return self.starts[line - 1] + len(before.decode(errors="replace"))

    def position(self, offset):
        line = bisect.bisect_right(self.starts, offset, hi=len(self.lines))
        before = self.lines[line - 1][: offset - self.starts[line - 1]]
        return line, len(before.encode())

    def content(self, line):
        """Returns the span of a line's code, without indentation."""
        code = self.lines[line - 1].rstrip()
        start = self.starts[line - 1]
        return start + len(code) - len(code.lstrip()), start + len(code)


class SourceMap:
    """Maps one converted function back to its source file, using the converter's JSON output."""

    def __init__(self, filename, source, entry):
        self.filename = filename
        self.original = Lines(source)
        self.generated = Lines(entry["text"])
        # Spans nest. They are sorted by start, outer spans first.
        self.spans = entry["map"]
        self.starts = [span["generated"][0] for span in self.spans]
        self.scopes = _scopes(ast.parse(source))

    def origin(self, start, end):
        """Returns the original span of a generated span: exact for copied code, else the span of the construct that caused
        it."""
        first, last = self._innermost(start), self._innermost(max(start, end - 1))
        if first is None or last is None:
            return None
        shift = first["original"][0] - first["generated"][0]
        begin = start + shift if _is_copied(first) else first["original"][0]
        shift = last["original"][0] - last["generated"][0]
        finish = end + shift if _is_copied(last) else last["original"][1]
        # Code that was split has no single span.
        return (begin, finish) if begin <= finish else tuple(first["original"])

    def _innermost(self, offset):
        before = self.spans[: bisect.bisect_right(self.starts, offset)]
        return next((span for span in reversed(before) if offset < span["generated"][1]), None)

    def line_origin(self, line):
        """Returns the original position of the leftmost copied code on a generated line, else of the construct that caused
        it."""
        start, end = self.generated.content(line)
        inside = self.spans[bisect.bisect_left(self.starts, start) : bisect.bisect_left(self.starts, end)]
        copied = next((span["generated"][0] for span in inside if _is_copied(span)), start)
        origin = self.origin(copied, copied)
        return origin and self.original.position(origin[0])

    def scope(self, span):
        """Returns the innermost function, lambda or class whose body contains an original span."""
        start, end = (self.original.position(offset) for offset in span)
        return max(
            (scope for scope in self.scopes if scope.runs(start, end)),
            key=lambda scope: scope.body,
            default=MODULE,
        )


def _is_copied(span):
    return span["kind"] in ("verbatim", "moved")


@dataclass(frozen=True)
class Scope:
    name: str
    definition: tuple
    body: tuple
    end: tuple

    def runs(self, start, end):
        """Returns whether a span runs when the function is called. Decorators and defaults do not run then; synthesized
        code, which has the span of the whole definition, runs."""
        return self.body <= start < self.end or start == self.definition and end >= self.end


MODULE = Scope("<module>", None, (0, 0), (0, 0))


def _scopes(tree):
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            found.append(
                Scope(
                    getattr(node, "name", "<lambda>"),
                    (node.lineno, node.col_offset),
                    (body[0].lineno, body[0].col_offset),
                    (body[-1].end_lineno, body[-1].end_col_offset),
                )
            )
    return found


@dataclass
class _Call:
    """One call in the original program."""

    traceback: types.TracebackType
    code: types.CodeType
    map: SourceMap = None
    span: tuple = None
    scope: Scope = None

    def continues(self, outer):
        """Returns whether this frame runs a block of `outer` that the converter made a function: `if_body` in `tf__f`.

        Comprehensions are user code.
        """
        return (
            self.scope is not None
            and self.scope == outer.scope
            and self.code.co_name not in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
            and self.code.co_qualname.startswith(outer.code.co_qualname + ".<locals>.")
        )


def rewrite(error, maps, operators=()):
    """Replaces the tracebacks of `error`, its causes and its contexts by those of the original program.

    `maps` contains a `SourceMap` per generated file name. Frames in the files `operators` are removed.
    """
    seen = set()
    pending = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = original_traceback(one.__traceback__, maps, operators)
        pending += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return error


def original_traceback(traceback, maps, operators=()):
    calls = []
    while traceback is not None:
        call = _call(traceback, maps)
        if call.map is not None and call.span is None or call.code.co_filename in operators:
            pass
        elif calls and call.continues(calls[-1]):
            calls[-1].traceback, calls[-1].span = call.traceback, call.span
        else:
            calls.append(call)
        traceback = traceback.tb_next
    result = None
    for call in reversed(calls):
        shown = call.traceback if call.map is None else _at(call)
        result = types.TracebackType(result, shown.tb_frame, shown.tb_lasti, shown.tb_lineno)
    return result


def _call(traceback, maps):
    code = traceback.tb_frame.f_code
    source_map = maps.get(code.co_filename)
    if source_map is None:
        return _Call(traceback, code)
    line, end_line, column, end_column = list(code.co_positions())[traceback.tb_lasti // 2]
    if column is None:
        span = source_map.generated.content(traceback.tb_lineno)
    else:
        span = source_map.generated.offset(line, column), source_map.generated.offset(end_line, end_column)
    origin = source_map.origin(*span)
    scope = origin and source_map.scope(origin)
    return _Call(traceback, code, source_map, origin, scope)


def _at(call):
    """Returns a traceback with one frame, at a position in the original file."""
    start, end = call.map.original.position(call.span[0]), call.map.original.position(call.span[1])
    tree = ast.parse("raise original_place")
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset) = start, end
    inner = call.code.co_name
    name = inner if inner.startswith("<") and inner != "<lambda>" else call.scope.name
    code = compile(tree, call.map.filename, "exec").replace(co_name=name, co_qualname=name)
    try:
        exec(code, call.traceback.tb_frame.f_globals, {"original_place": RuntimeError()})
    except RuntimeError as raised:
        return raised.__traceback__.tb_next
