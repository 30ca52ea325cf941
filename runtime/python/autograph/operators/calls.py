"""Calls in converted code: functions of user code are converted too."""

import builtins
import collections
import functools
import sys
import types
from contextlib import ExitStack

import torch
from torch.nn.modules.lazy import LazyModuleMixin

from ..capture import permanent, profile, scalars, texts
from ..capture.rows import StandIn, refuse, resolved, stand_ins_in
from ..capture.staging import current
from ..conversion import converter, spans
from ..errors import RunInPython, StagingError, Unconverted
from . import draws, formats, lru_cache, outcomes, python_calls, recursion, sharded
from .overloads import OVERLOADS
from .values import List

_SCOPE_FUNCTIONS = {getattr(builtins, name) for name in converter.SCOPE_FUNCTIONS}

#: The code of the wrapper of `torch._disable_dynamo`, which torch puts around some functions.
_DYNAMO_WRAPPER = torch._disable_dynamo(lambda: None).__code__

#: The code of a function with `@torch.jit.script_if_tracing`, which calls the function unless `torch.jit.trace` is active.
_SCRIPTED_IF_TRACING = torch.jit.script_if_tracing(lambda: None).__code__

#: The code of a function with `@functools.singledispatch`, which calls the implementation for the class of its argument.
_DISPATCHER = functools.singledispatch(lambda _: None).__code__


def converted_call(f, args, kwargs, caller_fn_scope=None, options=None):
    """Calls `f` from converted code, with TensorFlow's calling convention. `caller_fn_scope` identifies the calling
    function, whose variables `super()`, `locals()` and `eval` read."""
    keywords = kwargs or {}
    if type(f) is types.BuiltinFunctionType and f in _SCOPE_FUNCTIONS and len(args) <= 1 and current() is not None:
        _leave_as_it_is(f, args, caller_fn_scope)
    if not args and not keywords:
        if f is super:
            return _super_of(caller_fn_scope)
        if f is globals:
            return _frame_of(caller_fn_scope).f_globals
        if f is locals:
            return _frame_of(caller_fn_scope).f_locals
    if f is eval and 1 <= len(args) < 3 and not keywords:
        frame = _frame_of(caller_fn_scope)
        args = texts.plain(current(), args)
        return f(*args, *(frame.f_globals, frame.f_locals)[len(args) - 1 :])
    return call(f, args, keywords)


def _leave_as_it_is(f, args, scope):
    """Restarts the trace without converting the calling function, if `f` reads the variables of its caller (`locals()`)
    and the caller was converted for traces only."""
    reads_variables = bool(args) == (f in (eval, exec))
    if reads_variables and converter.leave_as_it_is(_frame_of(scope, innermost=False).f_code):
        raise Unconverted


def call(f, args, keywords):
    """Calls the converted form of `f` if it is user code, otherwise `f` itself."""
    if isinstance(f, StandIn):
        return f(*args, **keywords)
    try:
        overload = OVERLOADS.get(f)
        if overload is None and isinstance(f, types.FunctionType) and f.__code__ is _DYNAMO_WRAPPER:
            overload = OVERLOADS.get(f.__wrapped__)
    except TypeError:  # not hashable
        overload = None
    staging = current()
    if overload is not None:
        if staging is not None and staging.trees is not None and f not in _TESTS:
            args, keywords = resolved((tuple(args), keywords))
        return overload(*args, **keywords)
    if current() is not None and draws.is_draw(f):
        return draws.draw(f, args, keywords)
    staged = getattr(type(f), "__ag_inline__", None)
    if staged is not None and current() is not None:
        return staged(f, args, keywords)
    if isinstance(f, functools._lru_cache_wrapper) and staging is not None:
        cached = lru_cache.call(staging, f, args, keywords)
        return call(f.__wrapped__, args, keywords) if cached is None else cached[0]
    if isinstance(f, types.FunctionType) and f.__code__ is _DISPATCHER and args:
        return call(f.dispatch(scalars.class_of(args[0])), args, keywords)
    if isinstance(f, types.FunctionType) and f.__code__ is _SCRIPTED_IF_TRACING and not torch.jit.is_tracing():
        return call(f.__wrapped__, args, keywords)
    if isinstance(f, functools.partial):
        return call(f.func, (*f.args, *args), {**f.keywords, **keywords})
    if isinstance(f, types.MethodType):
        if isinstance(f.__func__, types.FunctionType):
            return call(f.__func__, (f.__self__, *args), keywords)
        is_wrapper = _is_wrapper(f.__func__) or isinstance(f.__func__, functools._lru_cache_wrapper)
        return call(f.__func__, (f.__self__, *args), keywords) if is_wrapper else f(*args, **keywords)
    if isinstance(f, types.FunctionType):
        return _enter(f, args, keywords)
    if isinstance(f, torch.nn.Module):
        method = type(f).__call__
        if method is torch.nn.Module.__call__ or not isinstance(method, types.FunctionType) or converter.is_of_torch(method):
            return module(f, args, keywords)
        return _enter(method, (f, *args), keywords)
    if isinstance(f, type):
        return texts.as_text(current(), _instance(f, args, keywords))
    if isinstance(f, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        if f.__name__ == "format" and type(f.__self__) is str:
            return formats.formatted(f.__self__, args, keywords)
        if permanent.are_refused():
            outside = _outside(staging)
            permanent.check_call(f, outside)
            permanent.check_arguments(args, keywords, outside)
        if outcomes.is_item(f):
            args, keywords = _with_plain_strings(f, args, keywords)
            return outcomes.integer(f(*args, **keywords))
        return texts.as_text(current(), _called(f, args, keywords))
    method = getattr(type(f), "__call__", None)
    if isinstance(method, types.FunctionType):
        return _enter(method, (f, *args), keywords)
    return _called(f, args, keywords)


def _outside(staging):
    return frozenset() if staging is None else staging.outside


def _called(f, args, keywords):
    """Calls code that is not converted. Python's numbers replace staged numbers for code of NumPy, and for code written in C
    that raises a `TypeError` for a staged number."""
    staging = current()
    if staging is not None and staging.trees is not None:
        args, keywords = resolved((tuple(args), keywords))
        _refuse_nodes(f, args, keywords)
    args, keywords = _with_plain_strings(f, args, keywords)
    if staging is None:
        return f(*args, **keywords)
    _note_unseen(staging, args, keywords)
    if _is_of_numpy(f):
        args, keywords = texts.plain(staging, (args, keywords), numbers=True)
        return f(*args, **keywords)
    with ExitStack() as stack:
        if getattr(f, "__module__", None) in _ITEMS_IN_C or getattr(f, "__objclass__", None) is list:
            for value in (*args, *keywords.values()):
                if isinstance(value, List):
                    stack.enter_context(value.changed_from_outside(f))
        try:
            return f(*args, **keywords)
        except TypeError as error:
            if error.__traceback__.tb_next is not None or not texts.holds_numbers((args, keywords)):
                raise
        args, keywords = texts.plain(staging, (args, keywords), numbers=True)
        return f(*args, **keywords)


def _note_unseen(staging, args, keywords):
    """Notes the functions among the arguments of code that is not converted, which may call them."""
    for value in (*args, *keywords.values()):
        if callable(value):
            staging.objects.unseen(value)


#: The modules whose functions read and change the items of a list without calling its methods.
_ITEMS_IN_C = ("_heapq", "_bisect")


#: Overloads that test whether a value is None.
_TESTS = {isinstance, bool, type}


def _refuse_nodes(f, args, keywords):
    """Refuses stand-ins for nodes as arguments of code that is not converted, because such code could test whether they
    are None."""
    owner = f if isinstance(f, type) else getattr(f, "__objclass__", None) or type(getattr(f, "__self__", None))
    if isinstance(owner, type) and issubclass(owner, (*_STORES, torch.nn.Module)) or any(f is other for other in _NEUTRAL):
        return
    for held in stand_ins_in([*args, *keywords.values()]):
        name = getattr(f, "__name__", type(f).__name__)
        refuse(held._ag_kinds(), f"a node of a tree is passed to `{name}`, which is not converted")


def _is_of_numpy(f):
    return any(str(getattr(owner, "__module__", None)).partition(".")[0] == "numpy" for owner in (f, type(f)))


#: The constructors and methods of these classes, and these functions, do not read the characters of a string.
_STORES = (list, tuple, dict, set, frozenset, collections.deque, BaseException)
_STORING = ("append", "extend", "insert")  # methods of `List`
_NEUTRAL = (iter, next, isinstance, issubclass, callable, zip, enumerate, reversed, len, hasattr, getattr)
_PASS_ON = (iter, next, id, isinstance, issubclass, repr, callable, map, filter, zip, enumerate, reversed, str, type)


def _with_plain_strings(f, args, keywords):
    """Returns the arguments with plain strings in place of staged ones, unless `f` only stores them or passes them on: code
    that is not converted may read the characters."""
    owner = f if isinstance(f, type) else getattr(f, "__objclass__", None) or type(getattr(f, "__self__", None))
    is_join = owner is str and getattr(f, "__name__", None) == "join"
    if is_join or isinstance(owner, type) and issubclass(owner, _STORES) or any(f is other for other in _PASS_ON):
        return args, keywords
    return texts.plain(current(), (args, keywords))


def _instance(f, args, keywords):
    """Creates an object; `__init__` is converted."""
    is_plain = type(f).__call__ is type.__call__ and f.__new__ is object.__new__
    if current() is None or not is_plain or not isinstance(f.__init__, types.FunctionType):
        constructors = [m for m in (f.__new__, f.__init__) if isinstance(m, types.FunctionType)]
        if any(map(converter.needs_python_numbers, constructors)):
            args, keywords = texts.plain(current(), (args, keywords), numbers=True)
        return _called(f, args, keywords)
    instance = object.__new__(f)
    _enter(f.__init__, (instance, *args), keywords)
    return instance


def _is_wrapper(f):
    return hasattr(type(f), "__ag_inline__")


def _enter(f, args, keywords):
    """Calls a Python function, or its converted form. In a trace, the graph may call the function instead; in a call that
    Python repeats after a run, the logged result may replace the call (`python_calls.py`)."""
    wrapped = _with_context(f)
    if wrapped is not None:
        return wrapped(*args, **keywords)
    staging = current()
    if staging is None:
        logged = python_calls.next_logged_call(f)
        if logged is not None:
            return logged.replay(args, keywords)
    elif f.__code__ in staging.python_calls:
        return python_calls.call(staging, f, args, keywords)
    converted = converter.converted(f, staging is not None)
    if staging is None and converted is not None:
        profile.entered(f)
    is_watched = converted is not None and not converter.is_of_torch(f)
    if staging is not None and (is_watched or converter.is_excluded(f)):
        staging.objects.entered(f)
    is_as_it_is = converted is None and not spans.is_converted_text(f.__code__.co_filename)
    if is_as_it_is and staging is not None and staging.trees is not None:
        args, keywords = resolved((tuple(args), keywords))
        if not converter.is_of_this_package(f):
            _refuse_nodes(f, args, keywords)
    if converted is None and permanent.are_refused():
        permanent.check_arguments(args, keywords, _outside(staging))
    if staging is not None and converted is None:
        staging.objects.unseen(f)
        _note_unseen(staging, args, keywords)
        if not converter.is_of_torch(f):
            staging.objects.note_full_read([*args, *keywords.values()])
    if staging is None or converted is None and not converter.is_converted(f):
        needs_numbers = staging is not None and converted is None and converter.needs_python_numbers(f)
        if not (isinstance(next(iter(args), None), List) and f.__name__ in _STORING):
            args, keywords = texts.plain(staging, (args, keywords), needs_numbers)
        if is_as_it_is and staging is not None and converter.is_user_code(f):
            with permanent.calls_checked(f.__code__, _outside(staging)):
                return f(*args, **keywords)
        return (converted or f)(*args, **keywords)
    try:
        return recursion.enter(staging, f, converted or f, args, keywords)
    except StagingError as error:
        error.calls.append(f)
        raise


def _with_context(f):
    """Unwraps a function that a context manager such as `@torch.no_grad()` decorates, so that the inner function can be
    converted."""
    inner = getattr(f, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or not f.__code__.co_filename.endswith("_contextlib.py"):
        return None
    cells = dict(zip(f.__code__.co_freevars, (cell.cell_contents for cell in f.__closure__ or ())))
    factory = cells.get("ctx_factory")
    if factory is None:
        return None

    def run(*args, **keywords):
        with factory():
            return call(inner, args, keywords)

    return run


def module(f, args, keywords):
    """Calls a module: its `forward` is converted, its hooks are not."""
    if current() is not None:
        if isinstance(f, LazyModuleMixin) and f.has_uninitialized_params():
            raise RunInPython  # the first call of a lazy module determines the sizes of its parameters
        current().objects.watch(f)
        sharded.check(f)
        if f._backward_hooks and f._is_full_backward_hook is False:
            message = f"a hook of `register_backward_hook` of a `{type(f).__name__}` cannot be staged"
            raise StagingError(f"{message}\nhelp: use `register_full_backward_hook`", spans.current())
    forward = type(f).forward
    if "forward" in f.__dict__ or not isinstance(forward, types.FunctionType):
        return _plain_call(f, *args, **keywords)
    overload = None if current() is None else OVERLOADS.get(forward)
    if overload is None and converter.converted(forward, current() is not None) is None:
        return _plain_call(f, *args, **keywords)
    staged = overload or functools.partial(_enter_with, forward)
    if not _has_hooks(f):
        return staged(f, *args, **keywords)
    f.__dict__["forward"] = functools.partial(staged, f)
    try:
        return _plain_call(f, *args, **keywords)
    finally:
        del f.__dict__["forward"]


def _enter_with(forward, self, *args, **keywords):
    return _enter(forward, (self, *args), keywords)


def _has_hooks(f):
    return bool(f._forward_hooks or f._forward_pre_hooks or f._backward_hooks or f._backward_pre_hooks)


_plain_call = torch.nn.Module.__call__


def staged_module_call(self, *args, **keywords):
    """Replaces `Module.__call__` while tracing, since torch's containers call user modules."""
    if current() is None:
        return _plain_call(self, *args, **keywords)
    return module(self, args, keywords)


def _frame_of(scope, innermost=True):
    """Returns the frame that has `scope` in a variable. With `innermost`, the frame of the innermost block of the function;
    otherwise that of the function itself."""
    frame, found = sys._getframe(2), None
    while frame is not None:
        if frame.f_locals.get(scope.name) is scope:
            found = frame
            if innermost:
                break
        frame = frame.f_back
    if found is None:
        raise ValueError("the scope of the calling function is not on the stack")
    return found


def _super_of(scope):
    frame = _frame_of(scope, innermost=False)
    if "__class__" not in frame.f_locals:
        raise RuntimeError("super(): __class__ cell not found")
    return super(frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]])
