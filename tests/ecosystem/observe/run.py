"""Runs the tests of published packages under the observer and compares the checker with the observations.

    python tests/ecosystem/observe/run.py [--quick | NAME...] [--again] [--binary AG_LSP] [--jobs N]

`packages.txt` lists the packages with their versions, `requirements-FRAMEWORK.txt` the requirements of their tests.
Everything is installed below `target/observe`, which also contains the facts. A package runs again with `--again` or
when its version changes; it is compared every time. The table of all packages is written to `README.md`, between its
two marks.
"""
import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from compare import compare
from observer.facts import read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))

import tensorflow_environment  # noqa: E402

CACHE = ROOT / "target/observe"
SECONDS, QUICK_SECONDS = 120, 30
# The limits on CPU time and wall time, as multiples of the option `--seconds`. The CPU time includes imports, and the
# rest of a test that is running when `--seconds` have passed. The wall time is longer, because other programs may use
# the machine.
WITH_IMPORTS, WAITING = 3, 20
# Small packages, installed on top of the environments of other tests.
QUICK = ("equinox", "dm-sonnet", "normflows")
BASES = {"tensorflow": ROOT / "target/tensorflow", "torch": ROOT / "target/torch"}
MARKS = "<!-- table -->\n", "<!-- end of table -->\n"
COLUMNS = {"functions": "functions traced", "not seen": "not seen", "decisions": "decisions",
           "executions": "executions", "agree": "agree", "mixed": "mixed", "contradiction": "contradictions",
           "unknown": "unknown", "unlisted": "unlisted", "in unseen functions": "in functions not seen",
           "true error": "true errors", "false error": "false errors", "true warning": "true warnings",
           "ran warning": "warnings not judged", "missed": "missed"}


class Package:
    def __init__(self, line, quick=False):
        self.name, self.version, framework, source, self.root, *self.command = line.split()
        # `torch:all`: the tests start the traces, so every function of the package is a root.
        self.framework, _, self.roots = framework.partition(":")
        self.environment = self.framework + ("-quick" if quick else "")
        self.source, self.folder, *others = f"{source}:".split(":")
        # Folders with copies of the code for other frameworks, which the checker does not analyze.
        self.others = others[0].split(",") if others and others[0] else []
        self.facts = CACHE / ("quick" if quick else "facts") / f"{self.name}-{self.version}.jsonl"
        self.sources = CACHE / f"packages/{self.name}-{self.version}"

    def unpack(self):
        """Downloads and unpacks the package unless that has been done."""
        if self.sources.exists():
            return
        python = environment(self.environment)
        partial = self.sources.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        if self.source == "wheel":
            packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                      capture_output=True, text=True, check=True).stdout.strip()
            shutil.copytree(Path(packages) / self.folder, partial / self.folder,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            download = CACHE / "downloads" / self.name
            if not list(download.glob("*.tar.gz")):
                subprocess.run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation",
                                "--no-binary", ":all:", "--dest", download, f"{self.name}=={self.version}"], check=True)
            with tarfile.open(next(download.glob("*.tar.gz"))) as archive:
                archive.extractall(partial, filter="data")
            inner = next(path for path in partial.iterdir() if path.is_dir())
            for path in list(inner.iterdir()):
                # A package may have the name of the folder of its archive.
                path.rename(partial / (path.name if path.name != inner.name else "moved"))
            inner.rmdir()
            if (partial / "moved").exists():
                (partial / "moved").rename(inner)
        partial.rename(self.sources)

    def program(self):
        """Copies our examples for a package into the package, so that the checker finds their roots. Drivers that only
        start traces (`torch:all`) are not copied. Returns the path."""
        program = HERE / self.command[0]
        if self.roots:
            return program
        return shutil.copy(program, self.sources / "examples_test.py")

    def leave_out(self):
        for folder in self.others:
            shutil.rmtree(self.sources / self.folder / folder, ignore_errors=True)

    def observe(self, seconds):
        """Runs the tests of the package under the observer."""
        if self.others:
            shutil.rmtree(self.sources)
            self.unpack()
        self.facts.parent.mkdir(parents=True, exist_ok=True)
        paths = [HERE, self.sources / self.root, self.sources]
        variables = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "CUDA_VISIBLE_DEVICES": "-1",
                     "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                     "OMP_NUM_THREADS": "1", "AG_OBSERVE_SECONDS": str(seconds)}
        command = [environment(self.environment), "-m", "observer", "--facts", self.facts.with_suffix(".partial"),
                   "--root", ".", "--framework", self.framework, "--seconds", str(WITH_IMPORTS * seconds), "--"]
        if self.command[0].endswith(".py"):
            command += [self.program(), *self.command[1:]]
        else:
            command += ["-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:warnings",
                        "-p", "observer.spread", *(["-p", "observer.compiled"] if self.roots else []), "--continue-on-collection-errors", "-c", os.devnull,
                        "--rootdir", ".", "--import-mode=importlib" if self.source == "sdist" else "-q", *self.command]
        with open(self.facts.with_suffix(".log"), "w") as log:
            program = subprocess.Popen(list(map(str, command)), cwd=self.sources, env={**os.environ, **variables}, stdout=log,
                                       stderr=subprocess.STDOUT)
            try:
                program.wait(WAITING * seconds)
            except subprocess.TimeoutExpired:
                # The program writes its facts before it exits.
                program.terminate()
                program.wait(WAITING)
        if not self.facts.with_suffix(".partial").stat().st_size:
            raise OSError(f"nothing was observed: see {self.facts.with_suffix('.log')}")
        self.facts.with_suffix(".partial").rename(self.facts)


def environment(framework):
    """Returns the interpreter of the environment with the framework and the requirements of the packages."""
    wanted = HERE / f"requirements-{framework}.txt"
    name, _, quick = framework.partition("-")
    base = BASES.get(name) if quick else None
    if base is not None and not base.exists():
        if name == "torch":
            subprocess.run([ROOT / "runtime/setup"], check=True)
        else:
            tensorflow_environment.create()
    return installed(CACHE / framework, wanted, base)


def installed(folder, wanted, base):
    """Returns the interpreter of an environment with the `wanted` requirements and access to the packages of `base`."""
    python, mark = folder / "bin/python", folder / "requirements.txt"
    if not (mark.exists() and mark.read_text() == wanted.read_text()):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        if base is not None:
            paths = [subprocess.run([path / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                    capture_output=True, text=True, check=True).stdout.strip() for path in (folder, base)]
            (Path(paths[0]) / "base.pth").write_text(paths[1] + "\n")
        # The pinned versions may contradict the declared requirements of a package, although its latest release runs on
        # the current framework.
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", wanted], check=True)
        shutil.copy(wanted, mark)
    return python


def run(package, again, seconds, binary):
    """Observes a package unless its facts exist, and compares the checker with the facts. Returns the counts; None after
    an error."""
    started = time.time()
    try:
        package.unpack()
        if again or not package.facts.exists():
            package.observe(seconds)
        package.leave_out()
        comparison = compare(binary, read(package.facts), package.sources, package.roots)
    except (subprocess.SubprocessError, OSError, StopIteration) as error:
        print(f"{package.name}: {error}", file=sys.stderr)
        return None
    print(f"{package.name} {time.time() - started:.0f} s {dict(comparison.counts)}", file=sys.stderr, flush=True)
    return comparison.counts


def table(rows):
    yield "| package | version | framework | " + " | ".join(COLUMNS.values()) + " |\n"
    yield "|---|---|---|" + "---:|" * len(COLUMNS) + "\n"
    for package, counts in rows:
        values = " | ".join(str(counts[key] or "") for key in COLUMNS)
        yield f"| {package.name} | {package.version} | {package.framework} | {values} |\n"
    sums = " | ".join(str(sum(counts[key] for _, counts in rows)) for key in COLUMNS)
    yield f"| {len(rows)} packages | | | {sums} |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="compare only three packages, for every change")
    parser.add_argument("--again", action="store_true", help="run the packages again even if their facts exist")
    parser.add_argument("--binary", default=ROOT / "target/release/ag-lsp")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="the limit on the CPU time of one package")
    arguments = parser.parse_args()
    lines = (HERE / "packages.txt").read_text().splitlines()
    packages = [Package(line, arguments.quick) for line in lines if line and not line.startswith("#")]
    names = QUICK if arguments.quick else arguments.names
    seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else SECONDS)
    chosen = sorted((package for package in packages if package.name in names or not names),
                    key=lambda package: names.index(package.name) if names else 0)
    for each in {package.environment for package in chosen}:
        environment(each)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        counts = list(pool.map(lambda package: run(package, arguments.again, seconds,
                                                   str(Path(arguments.binary).resolve())), chosen))
    rows = [(package, count) for package, count in zip(chosen, counts) if count is not None]
    text = "".join(table(rows))
    print(text)
    readme = HERE / "README.md"
    if not names:
        before, _, rest = readme.read_text().partition(MARKS[0])
        readme.write_text(before + MARKS[0] + text + MARKS[1] + rest.partition(MARKS[1])[2])
    if arguments.quick:
        sys.exit(below_thresholds(rows))


# The limits for the three packages of `--quick`. With all packages, the targets are 0.5 % contradictions and 2 % functions not seen.
MAX_CONTRADICTIONS, MAX_NOT_SEEN = 0.005, 0.1
MIN_DECISIONS = 20


def below_thresholds(rows):
    """Returns a message if the disagreement exceeds a limit, else None."""
    total = {key: sum(counts[key] for _, counts in rows) for key in COLUMNS}
    if len(rows) < len(QUICK) or any(counts["decisions"] < MIN_DECISIONS for _, counts in rows):
        return "a package was not observed"
    if total["contradiction"] > MAX_CONTRADICTIONS * total["decisions"]:
        return f"{total['contradiction']} contradictions"
    if total["not seen"] > MAX_NOT_SEEN * total["functions"]:
        return f"{total['not seen']} of {total['functions']} functions are not seen"
    if total["false error"]:
        return f"{total['false error']} false errors"
    return None


if __name__ == "__main__":
    main()
