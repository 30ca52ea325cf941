"""The observed facts, counted by location, and their format as JSON lines.

    {"kind": "function", "file", "line", "name", "count", "framework", "callers"}   ran while a trace was active
    {"kind": "decision", "file", "line", "column", "construct", "function", "framework", "staged", "python", "unclear"}
    {"kind": "line", "file", "lines"}                                            statements that ran while tracing
    {"kind": "error", "file", "line", "type", "message", "traced", "framework", "count"}
    {"kind": "break", "file", "line", "message", "framework", "count"}           a graph break of torch.compile
    {"kind": "recompilation", "file", "line", "message", "framework", "count"}

Lines and columns count from 1; `function` is the line of the innermost `def` around a decision, or null.
"""
import collections
import json

MESSAGE_LENGTH = 300


class Facts:
    def __init__(self):
        self.functions = {}
        self.decisions = {}
        self.lines = collections.defaultdict(set)
        self.events = collections.Counter()

    def function(self, file, line, name, framework):
        key = (file, line, framework)
        entry = self.functions.get(key)
        if entry is None:
            entry = self.functions[key] = [name, 0, []]
        entry[1] += 1
        return entry[1]

    def caller(self, file, line, framework, caller):
        callers = self.functions[file, line, framework][2]
        if caller is not None and caller not in callers:
            callers.append(caller)

    def decision(self, site, framework, verdict):
        """Counts a verdict about a condition or loop. `site` is (file, line, column, construct, line of the function)."""
        counts = self.decisions.get((site, framework))
        if counts is None:
            counts = self.decisions[site, framework] = collections.Counter()
        counts[verdict] += 1

    def line(self, file, line):
        self.lines[file].add(line)

    def event(self, kind, file, line, framework, message, type=None, traced=None):
        self.events[kind, file, line, framework, message[:MESSAGE_LENGTH], type, traced] += 1

    def rows(self):
        # A program that was stopped may still run in another thread, so only copies are iterated
        # over.
        for (file, line, framework), (name, count, callers) in sorted(list(self.functions.items())):
            yield {"kind": "function", "file": file, "line": line, "name": name, "framework": framework, "count": count,
                   "callers": callers}
        for (site, framework), counts in sorted(list(self.decisions.items()), key=str):
            file, line, column, construct, function = site
            yield {"kind": "decision", "file": file, "line": line, "column": column, "construct": construct,
                   "function": function, "framework": framework} | {
                       verdict: counts[verdict] for verdict in ("staged", "python", "unclear")}
        for file, lines in sorted(list(self.lines.items())):
            yield {"kind": "line", "file": file, "lines": sorted(list(lines))}
        for (kind, file, line, framework, message, type_, traced), count in sorted(list(self.events.items()), key=str):
            row = {"kind": kind, "file": file, "line": line, "framework": framework, "message": message, "count": count}
            yield row | {"type": type_, "traced": traced} if kind == "error" else row

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            for row in self.rows():
                out.write(json.dumps(row) + "\n")


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
