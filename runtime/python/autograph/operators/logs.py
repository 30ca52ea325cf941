"""Logs of the module `logging`: each run writes them, like the output of `print`."""

import logging

import torch
from torch.utils import _pytree as pytree

from ..capture import permanent, texts
from ..capture.staging import current, is_staged
from ..conversion import spans
from ..errors import StagingError
from . import python_calls, regions
from .overloads import OVERLOADS


def log(logger, level, message, *args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
    """`logger.log(level, message, *args)`."""
    staging = current()
    if staging is None and python_calls.was_logged_before(_key(logger, level, message, args)):
        return None
    location = spans.current()
    if staging is None and location is not None and not (exc_info or stack_info or stacklevel > 1):
        _write(logger, level, message, args, location, None, extra)
        return None
    if staging is None or permanent.may_abandon():
        options = {"exc_info": exc_info, "extra": extra, "stack_info": stack_info, "stacklevel": stacklevel + 2}
        return logger.log(level, message, *args, **options)
    if exc_info or stack_info:
        raise StagingError("a log with a traceback cannot be staged", spans.current())
    location = location or ("(unknown file)", 0)

    def write(message, *args):
        python_calls.note_message(lambda: _key(logger, level, message, args))
        _write(logger, level, message, args, location, staging.name, extra)

    record(staging, write, (message, *args))
    return None


def _write(logger, level, message, args, location, function, extra):
    """Writes a log of the user's code at a location."""
    if logger.isEnabledFor(level):
        file, line, *_ = location
        logger.handle(logger.makeRecord(logger.name, level, file, line, message, args, None, function, extra))


def _key(logger, level, message, args):
    """Returns the key by which `python_calls.was_logged_before` recognizes a log."""
    return logger.name, level, str(message), repr(args)


def record(staging, write, values):
    """Calls `write(*values)` in each run."""
    values, structure = pytree.tree_flatten(regions.with_plain_lists(values))
    values = [_described(staging, value) for value in values]
    in_graph = [index for index, value in enumerate(values) if _is_in_graph(value)]
    operands = [
        texts.assembled(staging, values[index]) if isinstance(values[index], str) else staging.operand(values[index])
        for index in in_graph
    ]

    def callback(*found):
        actual = list(values)
        for index, value in zip(in_graph, found):
            actual[index] = value
        write(*pytree.tree_unflatten(actual, structure))
        return ()

    staging.call_python(callback, operands, [], prints=True)


def _described(staging, value):
    """Returns the text of an exception that contains values of the graph; any other value as it is."""
    if not isinstance(value, BaseException):
        return value
    text = texts.as_text(staging, str(value))
    return text if isinstance(text, texts.Text) else value


def _is_in_graph(value):
    return isinstance(value, (texts.Text, torch.Tensor)) or is_staged(value)


def _of_level(level):
    return lambda logger, message, *args, **options: log(logger, level, message, *args, **options)


def _of_root(level):
    return lambda message, *args, **options: log(logging.root, level, message, *args, **options)


for _name in ("debug", "info", "warning", "error", "critical"):
    _level = getattr(logging, _name.upper())
    OVERLOADS[getattr(logging.Logger, _name)] = _of_level(_level)
    OVERLOADS[getattr(logging, _name)] = _of_root(_level)
OVERLOADS[logging.Logger.exception] = lambda logger, message, *args, **options: log(
    logger, logging.ERROR, message, *args, **{"exc_info": True, **options}
)
OVERLOADS[logging.Logger.log] = log
OVERLOADS[logging.log] = lambda level, message, *args, **options: log(logging.root, level, message, *args, **options)
