"""`python -m autograph.graph FILE QUALNAME --input x=f32[4,8]`: prints the graph of a function, for `ag-lsp graph`.

Output of the user's code goes to standard error, so that standard output contains only the graph."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import traceback

from .. import _runtime
from ..api.function import Function
from ..errors import AutographError
from ..tracing.tracebacks import in_user_code
from . import inputs

#: Exit codes for invalid arguments, for an exception in the user's code, and for Ctrl-C.
USAGE, RAISED, INTERRUPTED = 2, 1, 130


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m autograph.graph", description=__doc__)
    parser.add_argument("file")
    parser.add_argument("qualname")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--format", choices=["text", "json", "dot", "svg", "sexpr"], default="text")
    parser.add_argument("--passes", help="passes to run: `all`, or a comma-separated list (default: none)")
    parser.add_argument("--output")
    options = parser.parse_args(arguments)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            arguments_by_name = inputs.parse_inputs(options.input)
            function, owner = find(options.file, options.qualname)
            trace = traced(function, owner, arguments_by_name)
        optimizer, native = chosen(options.passes)
        graph = trace.compiled_graph if "loop-batching" in native else trace.graph
        if optimizer:
            graph = graph.optimized(optimizer)
        text = written(graph, options.format)
        if native and options.format == "text":
            text = f"{text}\n{graph.native_programs(native)}".rstrip("\n")
        if options.output is None:
            print(text)
        else:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    except (UsageError, inputs.InputError, ValueError) as error:
        return report(USAGE, error)
    except AutographError as error:
        return report(RAISED, error)
    except OSError as error:
        return report(USAGE, f"cannot write `{options.output}`: {error.strerror}")
    except Raised as error:
        traceback.print_exception(error.__cause__, chain=False)
        return RAISED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


class UsageError(Exception):
    """The file has no such function, or it cannot be imported."""


class Raised(Exception):
    """The user's code raised an exception, which is the cause."""


def report(status, error):
    print(f"error: {error}", file=sys.stderr)
    return status


@contextlib.contextmanager
def user_code():
    """Wraps exceptions of the user's code in `Raised`. Their tracebacks keep only frames of the user's code."""
    try:
        yield
    except AutographError:
        raise
    except SystemExit as error:
        raise UsageError(
            f"the program exits ({error.code}) while it is imported; move its main code below "
            '`if __name__ == "__main__":`'
        ) from None
    except Exception as error:
        raise Raised from outside_of_import(in_user_code(error))


def outside_of_import(error):
    """Returns the error without the frames of the import system."""
    while error.__traceback__ is not None and "importlib" in error.__traceback__.tb_frame.f_code.co_filename:
        error.__traceback__ = error.__traceback__.tb_next
    return error


def find(path, qualname):
    """Returns the function with this name in a file, and the class if it is a method."""
    found, owner = imported(path), None
    for part in qualname.split("."):
        owner = found if isinstance(found, type) else None
        if not hasattr(found, part):
            raise UsageError(f"there is no `{qualname}` in {path}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"`{qualname}` is not a function")
    return found, owner


def imported(path):
    directory, name = os.path.split(os.path.abspath(path))
    sys.path.insert(0, directory)
    module_name = os.path.splitext(name)[0]
    loader = importlib.machinery.SourceFileLoader(module_name, os.path.join(directory, name))
    specification = importlib.util.spec_from_file_location(module_name, loader.path, loader=loader)
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module
    with user_code():
        loader.exec_module(module)
    return module


def traced(function, owner, arguments_by_name):
    """Returns the trace of a call with these inputs."""
    plain = function.python_function if isinstance(function, Function) else function
    parameters = inputs.parameters(plain)
    positional = []
    if owner is not None and parameters and parameters[0].name not in arguments_by_name:
        with user_code():
            positional.append(owner())
        parameters = parameters[1:]
    inputs.check(plain, parameters, arguments_by_name)
    function = function if isinstance(function, Function) else Function(function)
    with user_code():
        return function.trace(*positional, **arguments_by_name)


def chosen(names):
    """Returns the passes of the optimizer, and all other passes, among these names."""
    optimizer, native = _runtime.passes()
    if names is None or names == "all":
        return ([], []) if names is None else (optimizer, native)
    names = names.split(",")
    # The optimizer reports unknown names.
    return [name for name in names if name not in native], [name for name in names if name in native]


def written(graph, format):
    """Returns the graph in one of the formats that the runtime writes."""
    if format == "text":
        return graph.text().rstrip("\n")
    writer = getattr(graph, format, None)
    if writer is None:
        raise ValueError(f"this runtime does not write graphs as {format}")
    return writer()
