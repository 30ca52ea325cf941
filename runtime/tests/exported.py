"""Conformance of exported functions: programs are exported, run in a process that has torch only (`torch_alone.py`),
and compared with eager Python.

    python exported.py FORMAT [PROGRAMS [SUITE...]]      # a table of README.md, as Markdown

Formats: torchscript, exported_program, onnx, inductor. The last one exports nothing: it runs functions with
`compile="inductor"` in this process, and compiles regions of any size. Suites: random, gradients, state, workloads,
examples (not for inductor).
"""

import collections
import contextlib
import copy
import importlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch.utils import _pytree as pytree

import autograph as ag
import programs
from autograph.export.inductor import regions
from autograph.tracing.arguments import flatten
from examples_test import GRAPHS
from examples_test import load as load_example
from oracle import assert_equal
from random_programs_test import load, run

HERE = pathlib.Path(__file__).parent
BENCH = HERE.parents[1] / "tests/bench/runtime"


class Table:
    """The outcomes of the programs of a suite, counted."""

    def __init__(self):
        self.same, self.differences, self.refusals = 0, [], collections.Counter()
        # For Inductor: the number of regions, and the reasons for those that it does not compile.
        self.regions, self.regions_left = 0, collections.Counter()

    def __str__(self):
        return f"{self.same} same, {len(self.differences)} differ, refused: {dict(self.refusals)}"


def appends_below_a_condition(x, n):
    """Has a list whose length depends on data."""
    found = [x]
    for _ in range(n):
        x = (x * 1.1).sin()
        if x.sum() > 0:
            found.append(x)
    return torch.stack(found).sum(0), len(found), found[-1]


def refusal(export, function, *args):
    """Returns the message with which an export refuses a function."""
    try:
        export(function, *args)
    except ag.ExportError as error:
        return str(error)
    raise AssertionError("the export has not refused the function")


#: Format -> a function that writes a program to a folder for the other process, and one that returns its text for messages.
FORMATS = {
    "torchscript": (lambda program, folder: program.save_source(folder / "program.py"), lambda program: program.source),
    "exported_program": (lambda program, folder: torch.export.save(program, folder / "program.pt2"), str),
    "onnx": (lambda program, folder: program.save(folder / "program.onnx"), lambda program: str(program.model)),
}


class Cases:
    """Exported programs in a folder, with the outcomes of eager Python."""

    def __init__(self, folder, format):
        self.folder, self.export, self.expected, self.table = folder, getattr(ag.export, format), {}, Table()
        self.is_flat = format == "onnx"  # a model returns a list of tensors
        self.save, self.text = FORMATS[format]
        self.texts = {}

    def add(self, name, function, arguments, calls, expected):
        """Exports a function for some arguments. `calls` are pairs of arguments and a seed, and `expected` are their
        outcomes in eager Python."""
        try:
            exported = self.export(function, *arguments)
        except (ag.ExportError, ag.StagingError) as error:
            self.table.refusals[reason(error)] += 1
            return
        except Exception as error:
            if expected[0][0] != "raised":
                raise
            self.table.refusals[f"the first call raises {type(error).__name__}"] += 1
            return
        self.write(name, exported, calls, expected)

    def write(self, name, exported, calls, expected):
        folder = self.folder / name
        folder.mkdir()
        self.save(exported, folder)
        self.texts[name] = self.text(exported)
        torch.save([(tensors(arguments), seed) for arguments, seed in calls], folder / "calls.pt")
        self.expected[name] = expected

    def compared(self):
        """Runs all programs in a process without this package, and compares the outcomes. Returns the table."""
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", str(HERE / "torch_alone.py"), str(self.folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for name, expected in self.expected.items():
            self.compare(name, torch.load(self.folder / name / "outcomes.pt"), expected)
        return self.table

    def compare(self, name, found, expected):
        try:
            for one, other in zip(found, expected, strict=True):
                if self.is_flat and other[0] == "returned":
                    other = other[0], pytree.tree_leaves(other[1]), *other[2:]
                if "raised" in (one[0], other[0]) or one[0] == "not loaded":
                    assert one[0] == other[0], (one, other)
                elif other[-1] is None:  # the changed arguments are not known
                    assert_equal(numbers_like(one[1], other[1]), other[1])
                else:
                    assert_equal(numbers_like(one, other), other)
        except AssertionError as error:
            self.table.differences.append(f"{name}: {error}\n{self.texts[name]}")
        else:
            self.table.same += 1


class CompiledCases(Cases):
    """Staged functions whose regions Inductor compiles. They are called with the same arguments as eager Python."""

    def __init__(self, folder, format):
        self.table, self.texts, self.expected, self.is_flat = Table(), {}, {}, False
        regions.MIN_ELEMENTS = 0

    def add(self, name, function, arguments, calls, expected):
        compiled, found = ag.function(function, compile="inductor"), []
        self.texts[name] = ""
        try:
            for arguments, seed in calls:
                torch.manual_seed(seed)
                found.append(outcome(compiled, arguments))
        except ag.StagingError as error:
            self.table.refusals[reason(error)] += 1
            return
        self.compare(name, found, expected)
        self.table.regions += len(compiled.regions)
        for region in compiled.regions:
            self.table.regions_left.update(region.refusals[:1])

    def compared(self):
        return self.table


def cases_of(folder, format):
    return (CompiledCases if format == "inductor" else Cases)(folder, format)


def numbers_like(found, expected):
    """Returns a result with Python numbers instead of tensors where the expected result has Python numbers."""
    if type(expected) in (bool, int, float) and isinstance(found, torch.Tensor) and found.dim() == 0:
        return found.item()
    if isinstance(expected, (list, tuple)) and type(found) in (list, tuple) and len(found) == len(expected):
        return type(found)(map(numbers_like, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        return {key: numbers_like(item, expected[key]) for key, item in found.items()}
    return found


def tensors(arguments):
    """Returns the arguments of the exported module: each tensor among the arguments of the function, once."""
    leaves = flatten(arguments, {})[0]
    return list({id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}.values())


def reason(error):
    """Returns a short reason that similar errors share, for counting them."""
    text = error.message.splitlines()[0].split(": ", 1)[-1]
    for start in ("it changes", "the graph calls Python", "it returns an object", "it adds to"):
        if text.startswith(start):
            return start
    if text.startswith("torch."):  # `torch.export cannot trace`, `torch.onnx cannot write`
        cause = "sizes that depend on data" if "data-dependent" in text else "an operator"
        return f"{' '.join(text.split()[:3])} {cause}"
    if isinstance(error, ag.ExportError):
        return text.split("`")[-1].strip() if "calls itself" in text else text
    return "cannot be staged"


def random(folder, seeds, format):
    """Random programs: results, changed arguments, exceptions."""
    cases = cases_of(folder / "cases", format)
    module = load_programs(folder, seeds, programs.Program)
    for seed in seeds:
        function = getattr(module, f"program_{seed}")
        torch.manual_seed(seed)
        calls = [(torch.randn(3), torch.randn(2, 3), torch.tensor(n)) for n in (3, 0)]
        outcomes = [outcome(function, call) for call in calls]
        cases.add(f"program_{seed}", function, copy.deepcopy(calls[0]), [(call, seed) for call in calls], outcomes)
    return cases.compared()


def state(folder, seeds, format):
    """Random programs that change Python state."""
    cases = cases_of(folder / "cases", format)
    module = load_programs(folder, seeds, programs.StateProgram)
    for seed in seeds:
        function = getattr(module, f"program_{seed}")
        torch.manual_seed(seed)
        call = torch.randn(3), torch.randn(2, 3), torch.tensor(3)
        module.reset()
        outcomes = [outcome(function, call)]
        module.reset()
        cases.add(f"program_{seed}", function, copy.deepcopy(call), [(call, seed)], outcomes)
    return cases.compared()


def gradients(folder, seeds, format):
    """Gradients of random programs. Torch differentiates TorchScript modules; in the other formats, the exported
    program computes the gradients."""
    cases = cases_of(folder / "cases", format)
    module = load_programs(folder, seeds, programs.Program)
    for seed in seeds:
        function = total(getattr(module, f"program_{seed}"))
        torch.manual_seed(seed)
        call = torch.randn(3, requires_grad=True), torch.randn(2, 3, requires_grad=True), torch.tensor(3)
        try:
            found = torch.autograd.grad(function(*call), call[:2], materialize_grads=True)
        except (RuntimeError, NameError, IndexError, ZeroDivisionError):  # in eager torch
            continue
        if format == "torchscript":
            cases.add(f"program_{seed}", function, call, [(call, seed)] * 2, [("gradients", found)] * 2)
        else:
            plain = detached(call)
            cases.add(f"program_{seed}", gradient(function), plain, [(plain, seed)] * 2, [("returned", found, None)] * 2)
    return cases.compared()


def total(function):
    def program(a, m, n):
        a, b, s, *_, rows = function(a * 1, m * 1, n)
        return a.sum() + b.sum() + s.sum() + (rows * rows).sum()

    return program


def gradient(function):
    def program(a, m, n):
        a, m = a.detach().requires_grad_(), m.detach().requires_grad_()
        return torch.autograd.grad(function(a, m, n), (a, m), materialize_grads=True)

    return program


def outcome(function, call):
    found = run(function, call)
    return (found[0], found[1], tensors(found[2])) if found[0] == "returned" else found


def load_programs(folder, seeds, kind):
    (folder / "cases").mkdir()
    return load(folder / f"programs_{seeds.start}.py", programs.module_text(seeds, *([] if kind is programs.Program else [kind])))


#: Program of the benchmark -> a small configuration.
SMALL = {
    "w1_rnn": dict(cell="lstm", B=4, T=9),
    "w2_train": dict(B=20, steps=30),
    "w3_treelstm": dict(H=8, E=12, trees=3),
    "w4_cartpole": dict(H=10, plays=2, steps=20, iters=2),
    "w5_beam": dict(V=100, K=5, L=20),
    "w7_maml": dict(inner=1, tasks=2, meta=2),
    "w8_seq2seq": dict(V=50, T=9, B=4, forcing=0),
    "w9_lenet": dict(B=10, steps=3),
    "w10_lm": dict(B=3, T=4, H=10, V=50, steps=2),
    "w12_treernn": dict(H=8, trees=3),
    "w13_images": dict(model="resnet", width=4, B=2, steps=0),
    "w14_a3c": dict(H=8, episodes=3, limit=20),
    "w15_pix2pix": dict(width=2, size=32, B=2, steps=2),
    "w16_decode": dict(D=16, V=50, T=12, B=2, cache="mask"),
    "w18_alignment": dict(program="viterbi", B=3, T=12, S=5, C=0),
}


def workloads(folder, format, names=None):
    """The programs of the benchmark."""
    (folder / "cases").mkdir()
    cases = cases_of(folder / "cases", format)
    sys.path.insert(0, str(BENCH))
    try:
        for name in names or sorted(path.stem for path in BENCH.glob("w*_*.py")):
            module = importlib.import_module(name)
            program = module.workload(**SMALL.get(name, module.CONFIGURATIONS[0]))
            torch.manual_seed(0)
            expected = program.program(*copy.deepcopy(program.arguments))
            call = copy.deepcopy(program.arguments)
            outcomes = [("returned", detached(expected), None)]
            cases.add(name, program.program, copy.deepcopy(call), [(call, 0)], outcomes)
    finally:
        sys.path.remove(str(BENCH))
    return cases.compared()


class Finished(BaseException):
    """Ends a program when all of its functions have been exported."""


def examples(folder, format, names=None):
    """The staged functions of the programs in `tests/examples/staged`. Each is exported after two calls, and then
    called in eager Python with the same arguments."""
    (folder / "cases").mkdir()
    cases = cases_of(folder / "cases", format)
    for name in names or sorted(GRAPHS):
        module, done, dtype = load_example(name), set(), torch.get_default_dtype()
        call = ag.Function.__call__

        def wrapped(function, *args, module=module, done=done, name=name, call=call):
            ag.Function.__call__ = call
            try:
                if function.__name__ in GRAPHS[name] and function.__name__ not in done:
                    done.add(function.__name__)
                    call(function, *args)
                    arguments = copy_of_tensors(args)
                    torch.manual_seed(0)
                    result = call(function, *args)
                    export_example(cases, f"{name}_{function.__name__}", function, arguments)
                    if done == GRAPHS[name].keys():
                        raise Finished
                    return result
                return call(function, *args)
            finally:
                ag.Function.__call__ = wrapped

        ag.Function.__call__ = wrapped
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                module.main()
        except Finished:
            pass
        finally:
            ag.Function.__call__ = call
            torch.set_default_dtype(dtype)
    return cases.compared()


def export_example(cases, name, function, arguments):
    """Adds a function to the cases. Its eager call starts from the same state as the exported program."""

    class Expected(list):
        """The outcome of the eager call. The call happens when the outcome is first read, which is after the export."""

        def __getitem__(self, index):
            if not self:
                torch.manual_seed(0)
                self.append(("returned", detached(function.python_function(*arguments)), None))
            return super().__getitem__(index)

    expected = Expected()
    cases.add(name, function, arguments, [(copy_of_tensors(arguments), 0)], expected)
    if name in cases.expected:
        cases.expected[name] = [expected[0]]


def copy_of_tensors(value):
    """Copies the tensors in arguments. All other objects stay the same."""
    leaves, tree = pytree.tree_flatten(value)
    leaves = [leaf.detach().clone().requires_grad_(leaf.requires_grad) if type(leaf) is torch.Tensor else leaf for leaf in leaves]
    return pytree.tree_unflatten(leaves, tree)


def detached(value):
    return pytree.tree_map(lambda leaf: leaf.detach() if isinstance(leaf, torch.Tensor) else leaf, value)


SUITES = {
    "random": "random programs",
    "gradients": "their gradients",
    "state": "random programs with Python state",
    "workloads": "programs of the benchmark",
    "examples": "functions of the examples",
}


def main(format, count=200, *suites):
    print("| programs | same as eager | refused | differ |\n|---|---|---|---|")
    refusals, left, count_of_regions = collections.Counter(), collections.Counter(), 0
    for suite in suites or (SUITES if format != "inductor" else list(SUITES)[:4]):
        arguments = [range(int(count))] if suite in ("random", "gradients", "state") else []
        with tempfile.TemporaryDirectory() as folder:
            table = globals()[suite](pathlib.Path(folder), *arguments, format)
        print(f"| {SUITES[suite]} | {table.same} | {sum(table.refusals.values())} | {len(table.differences)} |", flush=True)
        refusals += table.refusals
        left, count_of_regions = left + table.regions_left, count_of_regions + table.regions
        for difference in table.differences[:2]:
            print(difference, file=sys.stderr)
    print("\n| refused because | programs |\n|---|---|")
    for text, number in refusals.most_common():
        print(f"| {text} | {number} |")
    if format == "inductor":
        print(f"\n{count_of_regions} regions, of which Inductor does not compile {sum(left.values())}:")
        for text, number in left.most_common():
            print(f"{number}: {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
