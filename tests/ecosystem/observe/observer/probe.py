"""The functions that rewritten code calls. They ask the frameworks whether a trace is active and what a value is, and
count the answers.

A framework is a module with two functions: `tracing()` returns whether a trace is active in this thread, and
`verdict(kind, value)` returns `staged`, `python` or `unclear`. `torch_` records Dynamo by hooks, so its `tracing()`
always returns false. `verdict` is for code that is not converted; for code that AutoGraph converts, `tensorflow_` has a
function of its own."""
import builtins
import sys


# The callers of a function are recorded for its first calls only: this is their number.
CALLERS = 3


def caller(frame, observed, translate=None):
    """Returns the innermost function of the program on the stack, or None: (file, line of the call, first line, name, names
    of up to five functions outside the program that are called between this function and `frame`)."""
    between = []
    while frame is not None:
        code = frame.f_code
        file, line = code.co_filename, frame.f_lineno
        if translate is not None:
            file, line = translate(file, line)
        if observed(file):
            return file, line, code.co_firstlineno, code.co_name, tuple(between[:-6:-1])
        between.append(code.co_qualname if hasattr(code, "co_qualname") else code.co_name)
        frame = frame.f_back
    return None


class Probe:
    def __init__(self, facts, sites, observed):
        self.facts = facts
        self.sites = sites
        self.observed = observed
        self.frameworks = []
        self.seen = []
        # The site numbers of the lines that have been recorded. No line is recorded twice.
        self.lines = set()
        # Maps a location in generated code to the location in the user's text.
        self.translate = None

    def active(self):
        for framework in self.frameworks:
            if framework.tracing():
                return framework
        return None

    def install(self):
        """Defines the functions that rewritten code calls, as builtins."""
        sites, facts = self.sites.places, self.facts
        active, lines = self.active, self.lines

        def test(number, value):
            framework = active()
            if framework is not None:
                facts.decision(sites[number], framework.NAME, framework.verdict("test", value))
            return value

        def iteration(number, value):
            framework = active()
            if framework is not None:
                facts.decision(sites[number], framework.NAME, framework.verdict("iteration", value))
            return value

        def enter(number):
            framework = active()
            if framework is not None:
                file, line, _, name, _ = sites[number]
                self.entered(file, line, name.removeprefix("def "), framework.NAME)

        def line(number):
            if number not in lines and active() is not None:
                lines.add(number)
                file, row, *_ = sites[number]
                facts.line(file, row)

        for function in (test, iteration, enter, line):
            setattr(builtins, f"__ag_{function.__name__}__", function)
        builtins.__ag_raised__ = self.raised

    def entered(self, file, line, name, framework):
        known = self.facts.function(file, line, name, framework)
        if known <= CALLERS:
            # The frames above: this method, the probe's function, the function itself.
            self.facts.caller(file, line, framework, caller(sys._getframe(3), self.observed, self.translate))

    def raised(self):
        """Called when an exception leaves a function of the program. Records an exception of a framework once, at its
        innermost line in the program."""
        error = sys.exc_info()[1]
        if not isinstance(error, Exception) or any(error is seen for seen in self.seen):
            return
        self.seen = [error, *self.seen[:3]]
        framework = self.active()
        place = origin = None
        trace = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if self.observed(file):
                place = file, trace.tb_lineno
            origin = file
            trace = trace.tb_next
        if place is None:
            return
        owner = next((each for each in self.frameworks if each.owns(origin)), None)
        if owner is None:
            # An exception of the program itself.
            return
        type_ = f"{type(error).__module__}.{type(error).__qualname__}"
        self.facts.event("error", *place, owner.NAME, str(error), type_, framework is not None)
