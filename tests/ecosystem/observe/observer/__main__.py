"""Runs a program as `python` does, and writes what was observed of the Python files below the roots.

    python -m observer --facts FACTS --root FOLDER [--root FOLDER] [--framework NAME] -- program.py ARGUMENTS
    python -m observer --facts FACTS --root FOLDER -- -m pytest tests
"""
import argparse
import atexit
import importlib
import importlib.util
import os
import runpy
import signal
import sys
import threading
import time

from observer import importing
from observer.facts import Facts
from observer.probe import Probe
from observer.rewrite import Sites

FRAMEWORKS = ("jax", "tensorflow", "torch")


def inside(roots):
    """Returns a function that tests whether a file is below one of the roots."""
    roots = tuple(os.path.realpath(root) + os.sep for root in roots)
    known = {}

    def observed(file):
        answer = known.get(file)
        if answer is None:
            answer = known[file] = bool(file) and os.path.realpath(file).startswith(roots)
        return answer

    return observed


def main():
    parser = argparse.ArgumentParser(prog="observer", description=__doc__)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--root", action="append", required=True)
    parser.add_argument("--framework", action="append", choices=FRAMEWORKS)
    parser.add_argument("--seconds", type=float, help="write the facts and exit after this CPU time")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command

    facts, sites, failures = Facts(), Sites(), []
    def finish():
        facts.write(arguments.facts)
        for failure in failures:
            print("observer: not rewritten:", failure, file=sys.stderr)

    def stop(*_):
        finish()
        os._exit(124)

    signal.signal(signal.SIGTERM, stop)
    atexit.register(finish)
    if arguments.seconds:
        def watch():
            while time.process_time() < arguments.seconds:
                time.sleep(1)
            stop()

        threading.Thread(target=watch, daemon=True).start()
    observed = inside(arguments.root)
    probe = Probe(facts, sites, observed)
    probe.install()
    sys.path.pop(0)
    # A framework may import observed modules: TensorFlow imports Keras.
    importing.install(observed, sites, failures)
    for name in arguments.framework or FRAMEWORKS:
        if importlib.util.find_spec(name) is not None:
            framework = importlib.import_module(f"observer.{name}_")
            framework.install(probe)
            probe.frameworks.append(framework)

    sys.argv = command
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(command[0])))
        path = os.path.abspath(command[0])
        with open(path, "rb") as file:
            code = importing.compiled(file.read(), path, sites, failures) if observed(path) else compile(
                file.read(), path, "exec", dont_inherit=True)
        main_module = type(sys)("__main__")
        main_module.__file__ = path
        sys.modules["__main__"] = main_module
        exec(code, main_module.__dict__)


main()
