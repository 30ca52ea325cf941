"""Runs every function of this folder in TensorFlow: with its own conversion, with ours, and as plain Python.

    python compare.py --binary ../../../../target/release/ag-lsp [--verbose] [TOPIC …]

Ours must give what TensorFlow's gives: the same values, or the same error at the same lines of the user's code. Where
a function is marked with `@deviates`, TensorFlow's must differ from plain Python, and ours must give what plain Python
gives. Anything else is a difference, and the exit status is 1.
"""

import argparse
import collections
import importlib
import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import cases  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_dropin  # noqa: E402

AGREES, RIGHT, DIFFERS = "agree", "ours right", "differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the ag-lsp program")
    parser.add_argument("--verbose", action="store_true", help="print what every function gave")
    parser.add_argument("topics", nargs="*", help="only these modules of the folder")
    options = parser.parse_args()

    topics = options.topics or sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("cases", "compare"))
    warnings = Warnings()
    logging.getLogger("tensorflow").addHandler(warnings)
    logging.getLogger("tensorflow").propagate = False

    table = collections.Counter()
    print(f"{'topic':<20}{'functions':>10}{AGREES:>8}{RIGHT:>12}{DIFFERS:>8}")
    for topic in topics:
        first = len(cases.CASES)
        importlib.import_module(topic)
        verdicts = {}
        for case in cases.CASES[first:]:
            worst = verdicts.setdefault(case.function, AGREES)
            verdict = judge(case, options, warnings)
            verdicts[case.function] = max(worst, verdict, key=[AGREES, RIGHT, DIFFERS].index)
        row = collections.Counter(verdicts.values())
        for function in verdicts:
            if function in cases.DEVIATIONS and verdicts[function] == AGREES:
                row[AGREES] -= 1
                row[DIFFERS] += 1
                print(f"{topic}.{function.__name__}: TensorFlow is right here, there is no deviation")
        print(f"{topic:<20}{len(verdicts):>10}{row[AGREES]:>8}{row[RIGHT]:>12}{row[DIFFERS]:>8}")
        table += row
    print(
        f"{table[AGREES]} agree, {table[RIGHT]} ours right where TensorFlow is wrong, {table[DIFFERS]} differ"
    )
    return 1 if table[DIFFERS] else 0


def judge(case, options, warnings):
    tf_dropin.uninstall()
    theirs = Outcome(case, staged(case.function), warnings)
    tf_dropin.install(options.binary)
    ours = Outcome(case, staged(case.function), warnings)
    tf_dropin.uninstall()
    plain = Outcome(case, case.function, warnings)

    if ours == theirs:
        verdict = AGREES
    elif case.function in cases.DEVIATIONS and ours.means(plain) and not theirs.means(plain):
        verdict = RIGHT
    else:
        verdict = DIFFERS
    if options.verbose or verdict == DIFFERS:
        print(f"{case.function.__module__}.{case.function.__name__}: {verdict}")
        for name, outcome in (("TensorFlow", theirs), ("ours", ours), ("plain", plain)):
            print(f"    {name:<12}{outcome}")
    return verdict


def staged(function):
    return tf.function(function, autograph=True, experimental_autograph_options=cases.FEATURES.get(function))


class Outcome:
    """What one run gave."""

    def __init__(self, case, function, warnings):
        arguments = case.fresh_arguments()
        warnings.clear()
        try:
            self.value = described(function(*arguments))
            self.error = None
        except Exception as error:
            self.value = None
            self.error = Error.of(error)
        self.changed = described(arguments)
        self.warnings = warnings.unconverted()

    def __eq__(self, other):
        return vars(self) == vars(other)

    def means(self, plain):
        """Whether a graph gave what plain Python gives."""
        same_error = (self.error and self.error.type) == (plain.error and plain.error.type)
        return same_error and self.value == plain.value and self.changed == plain.changed

    def __str__(self):
        notes = f" {self.warnings}" if self.warnings else ""
        return str(self.value if self.error is None else self.error) + notes


class Error(collections.namedtuple("Error", ["type", "message", "lines"])):
    """An error, and the lines of converted code that it is blamed on."""

    @classmethod
    def of(cls, error):
        metadata = getattr(error, "ag_error_metadata", None)
        if metadata is None:
            return cls(type(error).__name__, str(error).split("\n")[0], ())
        frames = [frame for frame in metadata.translated_stack if frame.is_converted]
        message = metadata.cause_message.split("\n")[0]
        return cls(
            type(error).__name__,
            message,
            tuple((Path(frame.filename).name, frame.lineno, frame.function_name) for frame in frames),
        )


class Warnings(logging.Handler):
    """Which functions TensorFlow could not convert."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())

    def clear(self):
        self.messages = []

    def unconverted(self):
        """The functions' names, without addresses."""
        marker = "AutoGraph could not transform "
        return tuple(
            message.split(marker)[1].split(" at 0x")[0] for message in self.messages if marker in message
        )


def described(value):
    """A value without identity: kinds of containers, dtypes, numbers to six digits."""
    if isinstance(value, dict):
        return "dict", {key: described(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return "tuple", [described(item) for item in value]
    if isinstance(value, list):
        return "list", [described(item) for item in value]
    if isinstance(value, tf.RaggedTensor):
        return "ragged", value.to_list()
    if value is None or isinstance(value, type):
        return value
    if isinstance(value, (tf.Variable, tf.Tensor, bool, int, float, str)):
        if tf.is_symbolic_tensor(value):
            return "symbolic"
        tensor = tf.convert_to_tensor(value)
        return tensor.dtype.name, rounded(np.asarray(tensor.numpy()).tolist())
    return type(value).__name__


def rounded(value):
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
