"""`ag.explain`: lists, for each statement that a call reaches, whether it is staged, run by Python, unrolled, …"""

import ast
import collections
import functools
import json
import linecache
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import ASSERT, FOR, IF, WHILE, Callback
from ..record.queries import all_nodes
from .function import Function

STAGED, PYTHON, UNROLLED, CALLED_BACK = "staged", "Python", "unrolled", "called back"
DECIDED, REFUSED, NOT_REACHED = "decided", "refused", "not reached"


@dataclass
class Statement:
    """A statement. `times` is how often Python has run it while tracing; for a loop, how often it has run the body.
    `operations` is the number of operations that the statement has added to the graph, without those of nested
    statements."""

    line: int
    end_line: int
    text: str
    outcome: str
    times: int
    operations: int
    notes: list = field(default_factory=list)

    def __str__(self):
        times = "once" if self.times == 1 else f"{self.times} times"
        outcome = f"{self.outcome} {times}" if self.outcome == UNROLLED else self.outcome
        notes = "".join(f"\n{'':28}{note}" for note in self.notes)
        return f"{self.line:>6}  {outcome:<20}{self.text}{notes}"


@dataclass
class ExplainedFunction:
    name: str
    file: str
    line: int
    statements: list

    def __str__(self):
        return "\n".join([f"{self.name}  ({self.file}:{self.line})", *map(str, self.statements)])


@dataclass
class Explanation:
    """The functions that a call reaches, by file and line. `str` returns the text that is printed."""

    functions: list

    def __str__(self):
        return "\n\n".join(map(str, self.functions))

    def json(self):
        return json.dumps(asdict(self), indent=1)


def explain(function, *args, **kwargs):
    """Reports an outcome for each statement that `function(*args, **kwargs)` reaches. The function is traced, but no
    graph is run. The outcomes are:

    - `staged`: operations of the graph, or a condition or loop of the graph;
    - `Python`: Python runs it while tracing;
    - `unrolled`: a loop that Python runs while tracing, so that the graph has the operations of each iteration;
    - `called back`: the graph calls Python;
    - `decided`: a condition or loop whose outcome for these arguments is assumed, and checked by each run;
    - `refused`: it cannot be staged; a note has the reason."""
    found, error = _TraceLog(), None
    with found.observed():
        try:
            _without_traces(function).trace(*args, **kwargs)
        except StagingError as refusal:
            error = refusal
    found.read(error)
    return Explanation([explained for file in sorted(found.files()) for explained in _functions(file, found)])


def _without_traces(function):
    """Returns the same function as a new staged function, which has no traces."""
    if isinstance(function, Function):
        return Function(function.python_function, function.input_signature)
    return Function(function)


class _TraceLog:
    """The operations of a trace at each statement."""

    def __init__(self):
        self.staging = None
        self.lines = collections.Counter()  # (code, line of converted code, statement) -> how often it ran
        self.times = collections.Counter()  # statement -> how often it ran
        self.nodes = collections.defaultdict(list)  # statement -> its nodes
        self.decided = set()  # statements
        self.refusals = {}  # statement -> the message

    @contextmanager
    def observed(self):
        """Counts the lines that run in this block. If a trace is restarted, the counts start again from zero."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)

    def _entered(self, frame, event, argument):
        return self._ran if spans.is_converted_text(frame.f_code.co_filename) else None

    def _ran(self, frame, event, argument):
        staging = current()
        if event == "line" and staging is not None:
            if staging is not self.staging:
                self.staging = staging
                self.lines.clear()
            span = spans.of_frame(frame)
            if span is not None and not _defines_block(frame.f_code.co_filename, frame.f_lineno):
                self.lines[frame.f_code, frame.f_lineno, statement_at(span)] += 1
        return self._ran

    def read(self, error):
        """Assigns the counts, the nodes and the error of the last trace to statements."""
        for (_, _, statement), count in self.lines.items():
            self.times[statement] = max(self.times[statement], count)
        if self.staging is not None:
            for node in all_nodes(self.staging.record.entry):
                if node.span is not None:
                    self.nodes[statement_at(node.span)].append(node)
            self.decided.update(map(statement_at, self.staging.decisions))
        if error is not None and error.span is not None:
            self.refusals[statement_at(error.span)] = error.message

    def files(self):
        return {statement[0] for statement in [*self.times, *self.nodes, *self.refusals] if statement is not None}

    def assumptions(self, statement):
        messages = [node.args[1] for node in self.nodes[statement] if node.op == ASSERT]
        return [message for message in messages if message in self.staging.assumptions]


@functools.lru_cache(maxsize=None)
def _defines_block(file, line):
    """Returns whether a line of converted code defines the function of a block, such as the body of a loop."""
    return linecache.getline(file, line).lstrip().startswith("def ")


# A statement is represented by a pair: its file, and its index in the list of all statements of the file.


@functools.lru_cache(maxsize=64)
def _statements(file):
    """Returns all statements of a file, in the order of their positions."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sorted(found, key=lambda node: (_start(node), -node.end_lineno))


def _start(node):
    return node.lineno, node.col_offset


@functools.lru_cache(maxsize=None)
def statement_at(span):
    """Returns the innermost statement at the start of a span."""
    file, *position = span[:3]
    inside = [
        index
        for index, node in enumerate(_statements(file))
        if _start(node) <= tuple(position) <= (node.end_lineno, node.end_col_offset)
    ]
    return (file, inside[-1]) if inside else None


def _functions(file, found):
    """Yields the functions of a file that the trace has reached."""
    statements = _statements(file)
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = [(file, statements.index(inner)) for inner in _inside(node)]
            if any(found.times[s] or found.nodes[s] or s in found.refusals for s in inside):
                yield ExplainedFunction(node.name, file, node.lineno, [_explained(s, found) for s in inside])


def _inside(node):
    """Yields the statements of a function, without those of functions and classes that it defines."""
    body = [part for name in ("body", "handlers", "orelse", "finalbody", "cases") for part in getattr(node, name, [])]
    for part in body:
        if isinstance(part, ast.stmt):
            if not _is_declaration(part):
                yield part
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
        yield from _inside(part)


def _is_declaration(node):
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal))


def _explained(statement, found):
    file, index = statement
    node = _statements(file)[index]
    text = linecache.getline(file, node.lineno).strip()
    notes = sorted(set(found.assumptions(statement)))
    if statement in found.refusals:
        notes.append(found.refusals[statement])
    inside = [(file, _statements(file).index(part)) for part in _inside(node)]
    is_loop = isinstance(node, (ast.For, ast.While))
    times = max((found.times[part] for part in inside), default=0) if is_loop else found.times[statement]
    outcome = _outcome(statement, is_loop, times, found)
    return Statement(node.lineno, node.end_lineno, text, outcome, times, len(found.nodes[statement]), notes)


def _outcome(statement, is_loop, times, found):
    """Returns the outcome of a statement."""
    nodes = found.nodes[statement]
    if statement in found.refusals:
        return REFUSED
    if any(node.op in (IF, WHILE, FOR) for node in nodes):
        return STAGED
    if statement in found.decided:
        return DECIDED
    if is_loop and times:
        return UNROLLED
    if any(isinstance(node.op, Callback) and not (node.op.is_pure or node.op.prints) for node in nodes):
        return CALLED_BACK
    if nodes:
        return STAGED
    return PYTHON if times or found.times[statement] else NOT_REACHED
