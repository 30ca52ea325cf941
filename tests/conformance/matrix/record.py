"""Runs the programs of the matrix with a framework, and records which cells are valid.

    python record.py FRAMEWORK [FAULT...]        # in an environment with the framework

Without names, it records the faults that have no recording yet.

A cell is valid if the framework behaves as the fault declares for the faulty program, and not for the repaired one.
`recorded/FRAMEWORK.json` maps each fault to its carriers, and these to "" (valid) or the reason why not.
"""
import contextlib
import importlib
import json
import multiprocessing
import re
import sys
import tempfile
import traceback
from pathlib import Path

import cells
from program import render

SECONDS = 120


class Runner:
    """The operations of a framework that the harness needs."""
    #: The number of traces so far.
    traces = 0

    def __init__(self, name):
        self.name = name
        #: Whether `main` passes `step` to a compiler, so the harness must not replace it.
        self.exports = name == "torch_export"
        getattr(self, "load_" + name)()

    def load_jax(self):
        import jax

        def listener(event, duration, **_):
            self.traces += event.endswith("jaxpr_trace_duration")

        jax.monitoring.register_event_duration_secs_listener(listener)

    def load_tensorflow(self):
        from tensorflow.python.eager.polymorphic_function import tracing_compilation
        original = tracing_compilation._create_concrete_function

        def counted(*args, **kwargs):
            self.traces += 1
            return original(*args, **kwargs)

        tracing_compilation._create_concrete_function = counted

    def load_torch_compile(self):
        import torch
        torch.set_num_threads(1)
        original = torch.compile

        def backend(module, inputs):
            self.traces += 1
            return module.forward

        # The default backend would compile machine code.
        torch.compile = lambda *args, **kwargs: original(*args, **{"backend": backend, **kwargs})
        torch.nn.Module.compile = lambda module, *args, **kwargs: setattr(
            module, "_compiled_call_impl", torch.compile(module._call_impl, *args, **kwargs))

    def load_torch_export(self):
        import torch
        torch.set_num_threads(1)

    load_torchscript = load_torch_export

    def reset(self):
        """Forgets earlier programs."""
        if self.name in ("torch_compile", "torch_export"):
            import torch
            torch._dynamo.reset()
        elif self.name == "tensorflow":
            import keras
            keras.backend.clear_session()

    @contextlib.contextmanager
    def eager(self):
        """Runs the program without the framework."""
        if self.name == "jax":
            import jax
            with jax.disable_jit():
                yield
        elif self.name == "tensorflow":
            import tensorflow as tf
            tf.config.run_functions_eagerly(True)
            try:
                yield
            finally:
                tf.config.run_functions_eagerly(False)
        else:
            import torch
            torch._dynamo.config.disable = True
            try:
                yield
            finally:
                torch._dynamo.config.disable = False


def plain(value):
    """The numbers of a result as nested lists."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if hasattr(value, "numpy"):
        value = value.numpy()
    return value.tolist() if hasattr(value, "tolist") else float(value)


def outcome(runner, files, eager=False):
    """Runs `main` of a program in this process."""
    with tempfile.TemporaryDirectory() as folder:
        modules = set(sys.modules)
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            with runner.eager() if eager else contextlib.nullcontext(), contextlib.redirect_stdout(None):
                program = importlib.import_module("main")
                counts = []
                step = program.step

                def counted(*args):
                    result = step(*args)
                    counts.append(runner.traces)
                    return result

                if not runner.exports:
                    program.step = counted
                results = plain(program.main())
            return {"results": results, "retraces": bool(counts) and counts[-1] > counts[0]}
        except (Exception, SystemExit) as error:
            # TensorFlow and torch write the locations of the program into the message.
            locations = [(Path(frame.filename).name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
            text = "".join(traceback.format_exception(error)) + str(error)
            locations += [(Path(file).name, int(line)) for file, line in re.findall(r'File "([^"]+)", line (\d+)', text)]
            return {"error": type(error).__name__, "message": str(error)[:300], "locations": locations}
        finally:
            sys.path.remove(folder)
            for name in {Path(file).parts[0].removesuffix(".py") for file in files}:
                for module in [module for module in set(sys.modules) - modules if module.split(".")[0] == name]:
                    del sys.modules[module]
            runner.reset()


def why_invalid(runner, fault, faulty, marked, repaired):
    """Returns "" if the framework treats the two programs as the fault declares."""
    clean = outcome(runner, repaired)
    if "error" in clean:
        return f"repaired: {clean['error']}: {clean['message']}"
    broken = outcome(runner, faulty)
    if fault.kind == "raises":
        if "error" not in broken:
            return "faulty: no exception"
        lines = {(Path(file).name, line) for file, line in marked["fault"]}
        return "" if not lines or lines & set(map(tuple, broken["locations"])) else (
            f"faulty: elsewhere: {broken['error']}: {broken['message']}")
    if "error" in broken:
        return f"faulty: {broken['error']}: {broken['message']}"
    if fault.kind == "retraces":
        return "" if broken["retraces"] and not clean["retraces"] else f"retraces: {broken['retraces']}, {clean['retraces']}"
    if fault.kind == "frozen":
        are_equal = [result["results"][0] == result["results"][1] for result in (broken, clean)]
        return "" if are_equal == [True, False] else f"equal results: {are_equal}"
    # The results of a program with random weights always differ from those of its eager run. So a cell is valid only if
    # the results of the repaired program equal those of its eager run.
    differ = [outcome(runner, files, eager=True).get("results") != result["results"]
              for files, result in ((faulty, broken), (repaired, clean))]
    return "" if differ == [True, False] else f"different results: {differ}"


def row(runner, framework, fault, queue):
    """Sends the verdict on each cell of a fault."""
    for carrier in cells.CARRIERS:
        program = render(framework, fault, carrier)
        if program is not None:
            repaired, _ = render(framework, fault, carrier, repaired=True)
            queue.put((carrier.name, why_invalid(runner, fault, *program, repaired)))
    queue.put(None)


def record_row(runner, framework, fault):
    """Returns the verdicts of a fault, from a process of its own, so that one fault does not affect the programs of
    another fault."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=row, args=(runner, framework, fault, queue))
    process.start()
    try:
        return dict(iter(lambda: queue.get(timeout=SECONDS), None))
    finally:
        process.kill()
        process.join()


def main():
    framework = cells.FRAMEWORKS[sys.argv[1]]
    multiprocessing.set_start_method("fork")
    runner = Runner(framework.name)
    only = sys.argv[2:]
    path = cells.HERE / f"recorded/{framework.name}.json"
    path.parent.mkdir(exist_ok=True)
    recorded = json.loads(path.read_text()) if path.exists() else {}
    for fault in framework.faults:
        if fault.name in only if only else fault.name not in recorded:
            verdicts = recorded[fault.name] = record_row(runner, framework, fault)
            path.write_text(json.dumps(recorded, indent=1) + "\n")
            print(f"{fault.name}: {sum(not why for why in verdicts.values())} of {len(verdicts)}", flush=True)


if __name__ == "__main__":
    main()
