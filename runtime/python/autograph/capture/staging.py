"""The state of a trace: its record, the current values of tensors, and the captures of tensors and numbers from outside."""

import math
import sys
import threading
import warnings
import weakref
from contextlib import contextmanager

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .._runtime import resume_cached_calls, suspend_cached_calls
from ..conversion import spans
from ..errors import StagingError, observers
from ..record.nodes import Record, Value
from ..record.ops import AND, ASSERT, EQ, ITEM, NOT, OR, Callback, of_torch
from ..record.queries import called_for_effects, depend_on
from ..record.types import BOOL, FLOAT, INT, TensorType
from . import fakes, scalars, sizes, views
from .aliases import Aliases, Base, View
from .assumptions import Assumptions
from .grad_attribute import Gradients
from .layouts import layout, strides
from .objects import Objects
from .rows import StandIn
from .uses import Uses


class _Local(threading.local):
    stack = ()  # the active traces of this thread, the innermost last


_LOCAL = _Local()

_TO_COPY = of_torch(torch.ops.aten._to_copy.default)
_IS_NAN = of_torch(torch.ops.aten.isnan.default)
_SIGN_BIT = of_torch(torch.ops.aten.signbit.default)
_SCALAR_TENSOR = of_torch(torch.ops.aten.scalar_tensor.default)


def current():
    """Returns the innermost active trace; None outside of tracing."""
    stack = _LOCAL.stack
    return stack[-1] if stack else None


@contextmanager
def staging_of(staging):
    """Makes `staging` the active trace of this thread in this block."""
    stack = _LOCAL.__dict__.setdefault("stack", [])
    stack.append(staging)
    suspend_cached_calls()
    try:
        yield staging
    finally:
        resume_cached_calls()
        stack.pop()


def _note(error):
    """Records an exception in the active trace."""
    staging = current()
    if staging is not None:
        staging.raised.append(error)


observers.append(_note)


def is_staged_tensor(value):
    return isinstance(value, FakeTensor) and "_ag_view" in value.__dict__


def is_staged(value):
    """Returns whether a value is known only when the graph runs."""
    return is_staged_tensor(value) or scalars.is_staged(value)


def is_condition(value):
    """Returns whether the truth of a value is known only when the graph runs."""
    return is_staged(value) or isinstance(value, StandIn) or isinstance(value, list) and getattr(value, "value", None) is not None


#: The error for a tensor of an earlier trace, left in a cache or a global variable of a library, which traces do not
#: watch.
FOREIGN = "this uses a tensor that an earlier trace has left in an object that is not watched, such as a cache"


#: The error for an operation on a staged value in an `init_scope`.
USED_WHILE_PAUSED = (
    "a staged value is used in `ag.init_scope()`, which runs while tracing\n"
    "help: use only its shape and dtype there, or move this code out of the `with` statement"
)


#: The remedy for a tensor that is distributed over processes, such as a parameter of a module with `fully_shard`.
DISTRIBUTED = (
    "\nhelp: call this outside of the staged function, or give each process all parameters and use `ag.average_gradients`"
)

#: The maximum number of conditions that one trace decides for its arguments. Each decision runs the graph recorded so far.
MAX_PROBES = 300


class Capture:
    """A parameter of the entry region, for a tensor or number from outside the graph.

    For an argument of the function, `path` is its name. Otherwise each run reads the value from `place`, a variable or
    attribute (`places.py`). If `place` is None too, the value is always `tensor`. During the trace, `tensor` is the tensor or
    number of the traced call: the traced code may have assigned the place."""

    __slots__ = ("tensor", "fake", "param", "path", "place", "is_parameter")

    def __init__(self, tensor, fake, param):
        self.tensor = tensor
        self.fake = fake
        self.param = param
        self.path = None
        self.place = None
        self.is_parameter = False

    @property
    def is_number(self):
        return self.fake is None

    def current_value(self):
        return self.tensor if self.place is None else self.place.state()


class Staging:
    """The state of one trace."""

    def __init__(self, name, recursive=(), unrolled=(), decisions=(), expected=None):
        self.name = name
        self.record = Record()
        self.objects = Objects()
        self.aliases = Aliases(self)
        self.sizes = sizes.Sizes(self)
        self.fake_mode = fakes.Mode(lambda: self.sizes.shape_env)
        self.captures = {}  # id of the tensor -> Capture
        self.gradients = Gradients(self)
        self.uses = Uses()
        self.unrolled = set(unrolled)  # code of the bodies of loops that cannot be loops of the graph
        self.counters = []  # for each loop over `itertools.count()` in the graph: the counter, its text, the code of the body
        self.leaves = weakref.WeakSet()  # bases of tensors that require a gradient
        self.leaf_views = weakref.WeakKeyDictionary()  # view that requires a gradient -> tensor: `x.detach().requires_grad_()`
        self.conditional_attributes = []  # (class, name) of attributes that exist on some paths only
        self.retained = weakref.WeakSet()  # bases of computed tensors whose gradient is kept: `y.retain_grad()`
        self.released = []  # (values, inputs) of gradients after which torch releases the values that the history has saved
        self.made_leaves = []  # values of leaves that the function creates: `torch.zeros(2, requires_grad=True)`
        self.flags = {}  # base of a tensor from outside -> the `requires_grad` that the function sets
        self.unwritten = {}  # base -> its value after `requires_grad_`, which does not change the memory
        self.frozen = {}  # base -> its value before `requires_grad_(False)`
        self.called = None  # the function of torch that was called last
        self.refused_operands = False  # whether an operator has raised an exception, with the message of its shape function
        self.outer = None  # the trace for which this one computes the derivative of an operator
        self.conditional = None  # the last exception of code that runs may not reach: below a staged condition, or in a loop
        self.starts_with_grad, self.enables_grad = torch.is_grad_enabled(), False  # `with torch.enable_grad()` in a call without
        self.keeps_detach = True  # False if gradients pass through `detach`, so that a captured derivative is differentiable
        self.checks_values = None  # while torch checks values of operands: the message of the assertion in place of the check
        self.calls = 0  # the number of active calls of converted functions
        self.iterated = []  # the lists over which loops that run in Python iterate
        self.open_calls = {}  # code -> its active calls, outermost first
        self.recursive = dict(recursive)  # code of a recursive function -> whether numbers in its arguments are staged
        self.formatted = []  # (operand, format) of each value in a string; a placeholder in the string contains its index
        self.outside = frozenset()  # ids of objects that existed before the trace
        self.merged_dictionaries = []  # (dictionary, its items, mark): those that are shared on some paths only (`sharing.py`)
        self.copied_dictionaries = []  # (dictionary, its items, mark): copies of items of lists (`values.py`)
        self.stepping = {}  # id of an optimizer during its `step` -> the gradients to restore after it
        self.hooks = {}  # id of a dictionary of hooks -> (the dictionary, its items before, span) (`module_changes.py`)
        self.new_modules = {}  # id -> a module that the function has created
        self.stdout, self.filters = sys.stdout, warnings.filters  # before the function replaces them
        self.drawn = {}  # id -> a random number generator that the graph uses
        self.prepared = set()  # ids of optimizers whose state was created at the beginning of the trace
        self.assumptions = set()  # the messages of assertions that check assumptions
        self.path = Assumptions(self, expected or {})  # the assumed path through the program
        self.answers = {}  # name of a function -> whether it was last assumed to return a value
        self.probe = lambda operand, others=(): None  # computes scalars for the arguments of this call; None if it cannot
        self.allows_decisions = decisions is not None
        self.decisions = set(decisions or ())  # spans of conditions that are decided for the arguments of the call
        self.numbers = {}  # value of the graph -> its number for the arguments of the call
        self.caught = None  # errors for exceptions of the graph inside a `try`; None: such an error ends the trace
        self.raised = []  # errors and signals of the trace, which end it unless they are handled
        self.refuted = set()  # assumptions on sizes that the arguments of the call contradict: (message, span)
        self.probes = 0  # the number of calls of `probe` for conditions that Python needs
        self.trees = None  # the trees among the arguments (`operators/nodes.py`)
        self.python_calls = {}  # code of a function that the graph calls -> PythonCall
        self.reached = []  # for each call in `python_calls`: (function, the objects that it can reach, span)
        self.repeatable = set()  # the indexes of these calls in `callbacks`
        self.has_unknown_sizes = False
        self.has_fallback = False  # whether Python runs the call if it cannot be staged
        self.speculates = expected is not None  # whether Python runs a call that contradicts an assumption
        self.callbacks = []  # Python functions that the graph calls
        self.adjoints = []  # derivatives of collectives
        self.after_backward = {}  # id of a `DistributedDataParallel` module -> a function to call after a backward pass
        self.undone = set()  # the indexes of callbacks that change random number generators only
        self.constants = []  # tensors with data, kept alive for the graph
        self.backwards = 0  # number of calls of `backward` so far
        self.unreached = set()  # (number of a `backward`, id of a leaf from outside that it gives no gradient) (`errors.Unreached`)
        self.leaf_sources = set()  # captures of leaves on which a gradient of the graph depends
        self.outer_lists = None  # the lists from outside of the function (`tracing/outer_lists.py`)
        self.is_paused = False  # whether the trace is paused, and Python runs code (`pausing.py`)
        self.changed_while_paused = set()  # keys of the blocks that have changed Python state while the trace was paused
        self.random_after = None  # the state of torch's generator after such code has drawn numbers from it

    # Nodes.

    @property
    def depth(self):
        return self.record.region.depth

    def emit(self, op, args, types, regions=(), span=None):
        if self.is_paused:
            raise StagingError(USED_WHILE_PAUSED, spans.current())
        grad = torch.is_grad_enabled() or not self.keeps_detach
        self.enables_grad |= grad and not self.starts_with_grad
        return self.record.emit(op, args, types, regions, span or spans.current(), grad)

    @contextmanager
    def attempt(self):
        """In this block, an exception does not end the trace: the caller handles it."""
        count = len(self.raised)
        try:
            yield
        except Exception:
            del self.raised[count:]
            raise

    def call_python(self, function, args, types, prints=False, is_pure=False, is_undone=False, collective=None):
        """Records a call of a Python function, which returns a tuple. With `is_undone`, the function changes nothing
        but random number generators, which are restored if the run fails. `collective` is `"start"` if it starts a
        collective, and `"wait"` if it waits for one."""
        self.callbacks.append(function)
        self.path.is_late = self.path.is_late or not (is_pure or is_undone)
        if is_undone:
            self.undone.add(len(self.callbacks) - 1)
        return self.emit(Callback(len(self.callbacks) - 1, prints, is_pure, collective), args, types)

    def operand(self, argument):
        """Returns the operand for an argument of a torch function."""
        if isinstance(argument, torch.Tensor):
            return self.value_of(argument)
        if isinstance(argument, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return scalars.lower(self, argument)
        if isinstance(argument, (list, tuple)):
            return [self.operand(element) for element in argument]
        if isinstance(argument, complex):
            message = "a complex number cannot be part of a graph here\nhelp: make it a tensor, by `torch.tensor`"
            raise StagingError(message, spans.current())
        return argument

    # Tensors.

    def view_of(self, tensor):
        """Returns the view of a tensor. Captures a tensor from outside."""
        view = tensor.__dict__.get("_ag_view") if isinstance(tensor, FakeTensor) else None
        if view is None:
            tensor = self.fake_of(tensor)
            view = tensor.__dict__["_ag_view"]
        elif tensor.fake_mode is not self.fake_mode:
            raise StagingError(FOREIGN, spans.current())
        return view

    def value_of(self, tensor, is_use=True):
        """Returns the current value of a tensor. `is_use` is False if no value is computed from the tensor, for example if a
        gradient is computed with respect to it."""
        view = self.view_of(tensor)
        if not view.base.value.visible:
            raise StagingError("a tensor created inside a staged branch or loop is used outside of it", spans.current())
        if is_use and view.base.was_leaf and torch.is_grad_enabled():
            self.uses.note(view.base)
        return self.aliases.read(view)

    def fake_of(self, tensor):
        """Returns the fake tensor of a tensor: the tensor itself if it is fake, otherwise that of its capture."""
        if isinstance(tensor, FakeTensor):
            if "_ag_view" not in tensor.__dict__:
                raise StagingError("this uses a fake tensor that does not belong to this trace", spans.current())
            if tensor.fake_mode is not self.fake_mode:
                raise StagingError(FOREIGN, spans.current())
            return tensor
        found = self.captures.get(id(tensor))
        if found is None:
            found = self.captures[id(tensor)] = self._capture(tensor)
        return found.fake

    def _capture(self, tensor, unknown=None):
        """Creates and returns the capture of a tensor from outside. `unknown` maps each dimension of unknown size to a
        group; dimensions of one group have equal sizes. The group None is for sizes that the code never sees: in the
        fake tensor they are the sizes of this call, and in the graph they are unknown."""
        unknown = unknown or {}
        unsupported = _unsupported(tensor)
        if unsupported:
            help = DISTRIBUTED if type(tensor).__name__ == "DTensor" else ""
            raise StagingError(f"{unsupported} cannot be part of a graph{help}", spans.current())
        dims = tuple(None if d in unknown else n for d, n in enumerate(tensor.shape))
        param = self.record.entry.param(TensorType(tensor.dtype, dims, tensor.device), "")
        if any(group is not None for group in unknown.values()):
            size = [self.sizes.shared(unknown[d], param, d, n) if d in unknown else n for d, n in enumerate(tensor.shape)]
            fake = self.new_fake(size, strides(layout(tensor), size), tensor.dtype, tensor.device)
        else:
            fake = self.new_fake(tensor.size(), tensor.stride(), tensor.dtype, tensor.device)
        base = Base(param, fake, 0)
        attach(fake, View(base, (), param))
        capture = Capture(tensor, fake, param)
        base.source = capture
        capture.is_parameter = isinstance(tensor, torch.nn.Parameter)
        if tensor.requires_grad:
            self.leaves.add(base)
            base.was_leaf = True
        return capture

    def argument(self, tensor, name, unknown=None):
        """Returns the capture of an argument of the function."""
        capture = self._capture(tensor, unknown)
        capture.param.name = name
        capture.path = name
        self.captures[id(tensor)] = capture
        return capture

    def number_in(self, place, number):
        """Returns a staged number that each run reads from a Python variable. `number` is its value in this call."""
        param = self.record.entry.param(scalars.kind_of(number), str(place))
        capture = Capture(number, None, param)
        capture.place = place
        self.captures[("place", len(self.captures))] = capture
        return self.scalar(param)

    def number_argument(self, number, name):
        """Returns the capture of a number among the arguments, and the staged number."""
        param = self.record.entry.param(scalars.kind_of(number), name)
        capture = Capture(number, None, param)
        capture.path = name
        self.captures["argument", name] = capture
        return capture, self.scalar(param)

    def is_written(self, base):
        """Returns whether the graph has a new value for the memory of a tensor from outside."""
        return base.value not in (base.source.param, self.unwritten.get(base))

    def source_of(self, tensor):
        """Returns the tensor from outside that a tensor stands for; None for a tensor that the function computes."""
        view = self.view_of(tensor)
        return None if view.chain or view.base.source is None else view.base.source.tensor

    def captures_in_order(self):
        """Returns all captures, in the order of the parameters of the entry."""
        return list(self.captures.values())

    def tensor_at(self, base):
        """Returns the tensor that was created with a base."""
        return base.fake

    def new_fake(self, size, stride, dtype, device):
        """Returns a fake tensor; contiguous if `stride` is None."""
        if all(type(n) is int for n in (*size, *(stride or ()))):
            return self.fake_mode.empty(size, stride, dtype, device)
        with self.quiet():
            return _empty(size, stride, dtype, device)

    @contextmanager
    def quiet(self):
        """In this block, torch computes shapes only, and nothing is recorded."""
        with _disable_current_modes(), self.fake_mode:
            yield

    def fresh(self, value):
        """Returns a new tensor with this value that shares no memory."""
        type = value.type
        size = [self.sizes.unknown(value, d) if n is None else n for d, n in enumerate(type.dims)]
        fake = self.new_fake(size, None, type.dtype, type.device)
        attach(fake, View(Base(value, fake, value.region.depth), (), value))
        return fake

    def adopt_value(self, value):
        """Returns a new tensor with a value that a node in the current region has computed."""
        return self.fresh(value)

    def adopt(self, fake, value):
        """Makes a fake tensor the result of a recorded operation."""
        if "_ag_view" in fake.__dict__:
            return fake
        attach(fake, View(Base(value, fake, self.depth), (), value))
        return fake

    def may_have_history(self, value):
        """Returns whether a value may be computed from a tensor that requires a gradient."""
        known = [base.value for base in self.leaves if base.value.visible]
        known += [self.aliases.read(view) for view in list(self.leaf_views) if view.base.value.visible]
        region = self.record.region
        while region.parent is not None:  # values that enter a branch or loop, or come from its previous iteration
            known += [param for param in region.params if isinstance(param.type, TensorType)]
            region = region.parent
        return any(depend_on(self.record, known, [value]))

    def scalar(self, value):
        return scalars.wrap(self, value)

    def wrap(self, value):
        """Returns the Python object for a value of the record."""
        if isinstance(value.type, TensorType):
            return self.fresh(value)
        if value.type in (INT, FLOAT, BOOL):
            return self.scalar(value)
        raise TypeError(value.type)

    def cast(self, value, type):
        """Returns the value converted to the dtype of `type`, by a node in the current region."""
        if value.type.dtype == type.dtype:
            return value
        target = TensorType(type.dtype, value.type.dims, value.type.device)
        args = [value, type.dtype, None, None, None, False, None]
        return self.emit(_TO_COPY, args, [target])[0]

    def item(self, tensor):
        """Returns the element of a tensor as a staged scalar."""
        value = self.value_of(tensor)
        if any(n not in (1, None) for n in value.type.dims):
            raise StagingError(
                f"a number needs a tensor with one element; this one has shape {list(value.type.dims)}",
                spans.current(),
            )
        dtype = value.type.dtype
        kind = BOOL if dtype is torch.bool else FLOAT if dtype.is_floating_point else INT
        if dtype.is_complex:
            raise StagingError("a complex number cannot be staged as a scalar", spans.current())
        memo = self.record.region.memo
        if value not in memo:
            memo[value] = self.emit(ITEM, [value], [kind])[0]
        return self.scalar(memo[value])

    def assume(self, flag, message):
        """Records an assertion that checks an assumption of the trace."""
        message = _assumption(message)
        self.assumptions.add(message)
        self.emit(ASSERT, [flag, message], [])

    def is_refuted(self, message):
        """Returns whether the arguments of this call contradict the assumption that has this message and the current
        line of the user's code."""
        return (_assumption(message), spans.current()) in self.refuted

    def may_decide(self):
        """Returns whether a condition can be decided here for the arguments of the call, by running the graph that is recorded
        so far."""
        return self.allows_decisions and self.probes < MAX_PROBES and self.is_replayable() and self.probe(True) is not None

    def decided(self, flag, others=()):
        """Returns the value of a staged boolean, for code that needs a Python boolean: the value for the usual sizes, or for
        the arguments of this call. Each run checks it. Returns None below a staged condition and in a loop of the graph, where
        the value is unknown. `others` are booleans that will probably be decided next: one run computes all of them."""
        answer = flag if isinstance(flag, bool) else self.sizes.decided(flag)
        memo = self.record.region.memo
        if answer is None and ("decided", flag) in memo:
            return memo["decided", flag]
        if answer is None:
            answer = self._probed(flag, others)
            if answer is not None:
                memo["decided", flag] = answer
                truth = flag if answer else self.emit(NOT, [flag], [BOOL])[0]
                self.assume(truth, f"the condition in line {_line()} is {answer}")
        return answer

    def decided_number(self, number):
        """Returns the value of a staged number under the same conditions as `decided`."""
        operand = number if isinstance(number, Value) else scalars.lower(self, number)
        if type(operand) in (int, float):
            return operand
        if operand not in self.numbers:
            found = self._probed(operand)
            if found is None:
                return None
            self.assume(self._is_number(operand, found), f"the number in line {_line()} is {found}")
            self.numbers[operand] = found
        return self.numbers[operand]

    def _is_number(self, operand, number):
        """Returns a staged boolean: whether an operand is this number. `==` is not enough for NaN and for the sign of a
        zero."""
        if type(number) is not float or number and number == number:
            return self.emit(EQ, [operand, number], [BOOL])[0]
        tensor = self.tensor_of(self.scalar(operand), torch.float64)
        if number != number:
            return self._flag(_IS_NAN, tensor)
        is_zero, is_negative = self.emit(EQ, [operand, 0.0], [BOOL])[0], self._flag(_SIGN_BIT, tensor)
        has_sign = is_negative if math.copysign(1, number) < 0 else self.emit(NOT, [is_negative], [BOOL])[0]
        return self.emit(AND, [is_zero, has_sign], [BOOL])[0]

    def _flag(self, op, tensor):
        """Returns the result of an elementwise test, such as `isnan`, for a 0-d tensor."""
        type = TensorType(torch.bool, (), torch.device("cpu"))
        return self.emit(ITEM, self.emit(op, [tensor], [type]), [BOOL])[0]

    def is_replayable(self):
        """Returns whether Python can run the call after a run has had the effects that are recorded so far, without
        repeating them: output is counted, calls of repeatable functions are logged, and draws of random numbers are
        undone."""
        return not called_for_effects(self.record.entry) - self.repeatable - self.undone

    def _probed(self, operand, others=()):
        if not self.is_replayable():
            return None
        memo = self.record.region.memo
        if ("probed", operand) in memo:
            return memo["probed", operand]
        if self.probes == MAX_PROBES:
            return None
        self.probes += 1
        found = self.probe(operand, others)
        if found is not None:
            memo.update((("probed", value), answer) for value, answer in zip(others, found[1:]))
        return None if found is None else found[0]

    def either(self, a, b):
        """`a or b` of booleans, which may be staged."""
        if a is True or b is True:
            return True
        return scalars.apply(self, OR, a, b)

    def both(self, a, b):
        """`a and b` of booleans, which may be staged."""
        if a is False or b is False:
            return False
        if a is True or b is True:
            return b if a is True else a
        return scalars.apply(self, AND, a, b)

    def tensor_of(self, number, dtype=None):
        """Returns a 0-d tensor with the value of a number or staged scalar."""
        if dtype is None:
            kind = scalars.kind_of(number)
            dtype = {INT: torch.int64, BOOL: torch.bool, FLOAT: torch.get_default_dtype()}[kind]
        type = TensorType(dtype, (), torch.device("cpu"))
        args = [scalars.lower(self, number), dtype, None, None, None]
        return self.emit(_SCALAR_TENSOR, args, [type])[0]

    # Views, called by `Aliases`.

    def emit_view(self, step, value, type):
        return views.emit(self, step, value, type)

    def emit_inverse(self, step, base, value):
        return views.emit_inverse(self, step, base, value)

    def size_expression(self, number):
        return self.sizes.lower(number)


def _assumption(message):
    return f"tracing assumed that {message}"


def _line():
    """Returns the line of the running code of the user, for messages."""
    _, line, *_ = spans.current() or (None, "?")
    return line


def _unsupported(tensor):
    """Returns the description of a tensor that a graph cannot hold; None if a graph can hold it."""
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return "a parameter of a lazy module that has not been called yet"
    if isinstance(tensor, torch.Tensor) and type(tensor) not in _KINDS:
        return f"a tensor of the class `{type(tensor).__name__}`"
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.is_quantized:
        return "a quantized tensor"
    return None if tensor.layout is torch.strided else f"a tensor of layout {tensor.layout}"


#: The classes of tensors that a graph can hold. A `FakeTensor` is a constant that torch created while tracing.
_KINDS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor)


def _empty(size, stride, dtype, device):
    if stride is None:
        return torch.empty(size, dtype=dtype, device=device)
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def attach(fake, view):
    """Makes `view` the view of a fake tensor."""
    fake.__dict__["_ag_view"] = view
