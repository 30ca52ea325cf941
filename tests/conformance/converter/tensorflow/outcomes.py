"""Outcomes of runs, in a comparable form."""

import collections
import itertools
import logging
import re
import traceback
from pathlib import Path

import numpy as np
import tensorflow as tf


class Outcome:
    """The outcome of one run."""

    def __init__(self, function, arguments, warnings, keywords=None):
        warnings.clear()
        try:
            self.value = described(function(*arguments, **(keywords or {})))
            self.error = None
        except Exception as error:
            self.value = None
            self.error = Error.of(error)
        self.changed = described(arguments)
        self.unconverted = warnings.unconverted()

    def agrees(self, other):
        """Returns whether the outcomes are equal, and this run converted every function that the other one did."""
        same = (self.value, self.error, self.changed) == (other.value, other.error, other.changed)
        return same and set(self.unconverted) <= set(other.unconverted)

    def means(self, plain):
        """Returns whether a graph has the same outcome as plain Python. Ignores the lines of errors, because plain Python
        has no converted frames."""
        same_error = (self.error and self.error[:2]) == (plain.error and plain.error[:2])
        return same_error and self.value == plain.value and self.changed == plain.changed

    def has_same_error_as(self, plain):
        """Returns whether this run and plain Python raised the same type of error at the same line."""
        if self.error is None or plain.error is None:
            return False
        return self.error.type == plain.error.type and self.error.lines[:1] == plain.error.lines[:1]

    def __str__(self):
        notes = f" unconverted: {self.unconverted}" if self.unconverted else ""
        return str(self.value if self.error is None else self.error) + notes


class Error(collections.namedtuple("Error", ["type", "message", "lines"])):
    """An error with the lines of converted code in its traceback."""

    @classmethod
    def of(cls, error):
        """Returns the description of an error, with the user's lines only."""
        kind = type(error).__name__
        metadata = getattr(error, "ag_error_metadata", None)
        if metadata is None:
            message = str(error)
            frames = reversed(traceback.extract_tb(error.__traceback__))
            lines = [(frame.filename, frame.lineno, frame.name) for frame in frames]
        else:
            message = metadata.cause_message.removeprefix(kind + ": ")
            frames = metadata.translated_stack
            lines = [(frame.filename, frame.lineno, frame.function_name) for frame in frames if frame.is_converted]
        message = re.sub("0x[0-9a-f]+|(?<=__inference_).*", "…", message.split("\n")[0])
        users = [(Path(file).name, *rest) for file, *rest in lines if is_users(file)]
        # The number of frames of an infinite recursion depends on the stack size.
        return cls(kind, message, tuple(line for line, _ in itertools.groupby(users)))


def is_users(filename):
    return "site-packages" not in filename and Path(filename).name != "outcomes.py"


class Warnings(logging.Handler):
    """Records which functions TensorFlow could not convert."""

    def __init__(self):
        super().__init__()
        self.messages = []

    @classmethod
    def record(cls):
        """Redirects TensorFlow's warnings to this object."""
        warnings = cls()
        logging.getLogger("tensorflow").handlers[:] = [warnings]
        logging.getLogger("tensorflow").propagate = False
        return warnings

    def emit(self, record):
        self.messages.append(record.getMessage())

    def clear(self):
        self.messages = []

    def unconverted(self):
        """Returns the names of the functions that TensorFlow could not convert."""
        marker = "AutoGraph could not transform "
        return tuple(
            message.split(marker)[1].split(" at 0x")[0] for message in self.messages if marker in message
        )


def described(value):
    """Returns a comparable form of a value, with container types and dtypes. Numbers are rounded to five digits."""
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
