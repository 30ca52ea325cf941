"""One call in shadow mode."""

import contextlib
import warnings

import torch

from ..capture.places import MISSING
from ..errors import AutographError, VerificationError
from ..tracing.tracebacks import warn
from . import comparison, gradients, lines
from .comparison import Comparison, Difference
from .copies import Copies
from .surroundings import printing, random_state, set_random_state
from .tensors import NotCopied

_WARNINGS = set()


class NotComparable(BaseException):
    """Ends a verified call with the result of Python. It cannot be compared with a call on copies of the arguments if a gradient
    continues in the history of an argument, because the copies have no history."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def call(name, function, run, args, kwargs, eagerly):
    """Runs eager Python on copies and then the graph, and compares their effects. `run` runs the graph. `eagerly` is a
    context in which staged functions run as ordinary Python."""
    try:
        copies = Copies()
        on_copies = copies.copy(function)  # a method is bound to the copy of its object
        copied = copies.copy([list(args), dict(kwargs)])
        copies.finish()
    except (NotCopied, RecursionError) as error:
        reason = str(error) if isinstance(error, NotCopied) else "objects that are nested too deeply"
        _warn_once(f"calls of `{name}` are not verified: {reason} cannot be copied")
        return run(*args, **kwargs)
    for shared in copies.shared:
        _warn_once(f"`{name}` is verified, but {shared} cannot be copied: eager Python and the graph use the same object")
    eager = _Eager(on_copies, copied, copies, eagerly)
    with _warnings_after(), printing(True) as printed:
        try:
            result = run(*args, **kwargs)
        except NotComparable as ended:
            return ended.result
        except Exception as error:
            _compare_errors(name, eager, error)
            raise
    try:
        _compare(eager, copies, result, (args, kwargs), printed)
    except Difference as difference:
        message = f"`{name}` and eager Python differ in {difference}"
        raise VerificationError(message, eager.line_of(difference, copies)) from None
    return result


@contextlib.contextmanager
def _warnings_after():
    """Shows the warnings of this block at its end, so that they are not part of the printed output."""
    try:
        with warnings.catch_warnings(record=True) as found:
            yield
    finally:
        for warning in found:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


class _Eager:
    """The effects of eager Python on the copies."""

    def __init__(self, function, copied, copies, eagerly):
        self.arguments = copied
        self.result = self.error = None
        before = random_state()
        self.returns = lines.Returns(function)
        try:
            with copies.in_place(), eagerly(), warnings.catch_warnings(), printing(False) as self.printed:
                warnings.simplefilter("ignore")
                try:
                    with self.returns:
                        self.result = function(*copied[0], **copied[1])
                except Exception as error:
                    self.error = error
            self.random = random_state()
        finally:
            set_random_state(before)

    def line_of(self, difference, copies):
        if isinstance(difference, _Printed):
            return difference.span or self.returns.span
        if difference.path.startswith(("result", "the gradient", "the error", "the state of the random")):
            return self.returns.span
        return lines.of_state(difference.path, self.returns, copies.code)


class _Printed(Difference):
    """A difference of the printed output."""

    def __init__(self, path, text, span):
        super().__init__(path, text)
        self.span = span


def _compare_errors(name, eager, error):
    if isinstance(error, AutographError):  # the graph refuses the code
        return
    if eager.error is None:
        return  # eager Python raises no error; shadow mode reports silent differences only
    if not isinstance(error, type(eager.error)) and not isinstance(eager.error, type(error)):
        found, expected = (f"{type(e).__name__}: {e}" for e in (error, eager.error))
        raise VerificationError(f"`{name}` raised {found}, and eager Python {expected}", eager.returns.span) from error


def _compare(eager, copies, result, arguments, printed):
    """Compares the outcome of a run with that of eager Python: results, arguments, state, output, random numbers and
    gradients."""
    if eager.error is not None:
        kind = type(eager.error).__name__
        raise Difference("the error", f"eager Python raised {kind}: {eager.error}")
    same = Comparison(copies.kept, copies.memo)
    same.compare(result, eager.result, "result")
    args, kwargs = arguments
    same.compare((*args, *kwargs.values()), (*eager.arguments[0], *eager.arguments[1].values()), "arguments")
    for slot in copies.slots.values():
        now = slot.get()
        if (now is MISSING) != (slot.after is MISSING):
            raise Difference(f"`{slot}`", "exists only in one of them")
        same.compare(now, slot.after, f"`{slot}`")
    _compare_output(printed, eager.printed)
    for which, state in random_state().items():
        try:
            same.compare(state, eager.random[which], which)
        except Difference:
            raise Difference("the state of the random number generator", f"`{which}` drew other numbers") from None
    for number, graph, eagers in gradients.of_results(result, eager.result, copies.tensors.leaves):
        _compare_gradients(graph, eagers, number, copies)


def _compare_gradients(graph, eager, number, copies):
    tensor = copies.tensors.leaves[number][0]
    path = f"the gradient of the result with respect to {_description_of(tensor, copies)}"
    if eager is None and graph is not None and not tensor.is_leaf and not graph.any():
        return  # the tensor is an intermediate result whose gradient is zero
    if (graph is None) != (eager is None):
        found = "None" if graph is None else "a tensor"
        raise Difference(path, f"{found} instead of {'None' if eager is None else 'a tensor'}")
    Comparison((), {}).compare(graph, eager, path)


def _description_of(tensor, copies):
    for owner in copies.kept:
        if isinstance(owner, torch.nn.Module):
            for name, parameter in owner.named_parameters():
                if parameter is tensor:
                    return f"`{name}`"
    for slot in copies.slots.values():
        if slot.original is tensor:
            return f"`{slot}`"
    return f"a tensor of shape {list(tensor.shape)}"


def _compare_output(graph, eager):
    for mine, theirs in zip(graph, eager):
        if comparison.texts(mine.text, theirs.text):
            continue
        length = 0
        for text, span in theirs.chunks:
            length += len(text)
            if not comparison.texts(mine.text[:length], theirs.text[:length]):
                raise _Printed("the printed output", f"{mine.text!r} instead of {theirs.text!r}", span)
        raise _Printed("the printed output", f"{mine.text!r} instead of {theirs.text!r}", None)


def _warn_once(message):
    if message not in _WARNINGS:
        _WARNINGS.add(message)
        warn(message)
