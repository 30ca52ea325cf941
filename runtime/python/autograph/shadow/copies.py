"""Copies of all Python state that a call can reach: arguments, variables of enclosing functions, globals, attributes of
classes and modules, and default values.

Functions, classes and modules are not copied, because code compares them by identity. Instead, their variables are *slots*:
while eager Python runs, a slot holds a copy, and afterwards it holds the original again."""

import collections
import contextlib
import copyreg
import functools
import enum
import io
import sys
import types
import weakref

import torch

from .._runtime import Callable
from ..capture.code_reads import reads_of
from ..capture.places import MISSING, is_heap_type
from ..conversion.converter import is_cache, is_user_code
from .tensors import NotCopied, Tensors

_ATOMS = (
    type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range, slice, property,
    torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, types.BuiltinFunctionType, types.CodeType,
    types.ModuleType, types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.MethodDescriptorType,
)  # fmt: skip
_CONTAINERS = (list, dict, set, collections.deque)
_LIBRARIES = ("torch", "numpy", "builtins", "autograph", "abc", "typing", "collections", "enum", "functools")


#: Both runs use the same process groups: each process executes the collectives of a verified call twice.
_GROUPS = (torch.distributed.ProcessGroup,) if torch.distributed.is_available() else ()


class Slot:
    """A variable in a dictionary (globals), a class, a cell or a function. `after` is its value after eager Python has
    run."""

    __slots__ = ("owner", "name", "original", "copy", "after")

    def __init__(self, owner, name):
        self.owner = owner
        self.name = name
        self.original = self.get()
        self.copy = self.after = MISSING

    def get(self):
        if isinstance(self.owner, types.CellType):
            try:
                return self.owner.cell_contents
            except ValueError:
                return MISSING
        if isinstance(self.owner, dict):
            return self.owner.get(self.name, MISSING)
        if isinstance(self.owner, type):
            return self.owner.__dict__.get(self.name, MISSING)
        return getattr(self.owner, self.name)

    def set(self, value):
        if self.get() is value:
            return
        if isinstance(self.owner, types.CellType):
            if value is MISSING:
                del self.owner.cell_contents
            else:
                self.owner.cell_contents = value
        elif isinstance(self.owner, dict):
            if value is MISSING:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = value
        elif value is MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)

    def __str__(self):
        return f"{self.owner.__name__}.{self.name}" if isinstance(self.owner, type) else self.name


#: The classes whose `__getstate__` omits or changes attributes.
_WITH_ALL_ATTRIBUTES = torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler


def _created(kind):
    """Returns a new object of a class, as `copyreg.__newobj__`. Does not call a `__new__` of the user, which may need
    arguments or return another object."""
    return next(base.__new__ for base in kind.__mro__ if not isinstance(base.__new__, types.FunctionType))(kind)


class Copies:
    """The copies for one call. `shared` describes the objects that both runs use because they cannot be copied."""

    def __init__(self):
        self.memo = {}  # id -> copy
        self.kept = []  # originals; keeps the ids unique
        self.tensors = Tensors(self.copy)
        self.slots = {}  # (id of the owner, name) -> Slot
        self.code = []  # the code of all functions that can be reached
        self.shared = []
        self._seen = set()
        self._scopes = []  # classes, and attributes of functions
        self._modules = []
        self._names = set()

    def finish(self):
        """Copies the attributes of modules that the code names. The code in these attributes may name further ones, so this
        is repeated until there are none."""
        done = -1
        while done != len(self._names) + len(self._modules):
            done = len(self._names) + len(self._modules)
            for module in list(self._modules):
                for name in self._names & module.__dict__.keys():
                    self._slot(module.__dict__, name)

    @contextlib.contextmanager
    def in_place(self):
        """In this block, every slot holds its copy. At the end of the block, its value is stored in `after`, and it
        holds the original again."""
        for slot in self.slots.values():
            slot.set(slot.copy)
        before = [(scope, set(_variables(scope))) for scope in self._scopes]
        try:
            yield
        finally:
            for scope, names in before:
                for name in _variables(scope).keys() - names:
                    self.slots[id(scope), name] = new = Slot(scope, name)
                    new.original = MISSING
            for slot in self.slots.values():
                slot.after = slot.get()
                slot.set(slot.original)

    # Copying.

    def copy(self, value):
        kind = type(value)
        if kind is types.BuiltinFunctionType and isinstance(value.__self__, _CONTAINERS):  # `items.append`
            return getattr(self.copy(value.__self__), value.__name__)
        if kind in _ATOMS:
            if kind is types.ModuleType:
                self._module(value)
            return value
        found = self.memo.get(id(value), MISSING)
        if found is not MISSING:
            return found
        result = self._copied(value, kind)
        self.memo[id(value)] = result
        self.kept.append(value)
        return result

    def _copied(self, value, kind):
        """Copies a value that is not in the memo yet. Functions, classes and cells are not copied: their variables
        and attributes are saved as slots instead."""
        if isinstance(value, torch.Tensor):
            return self.tensors.copied(value, self.memo)
        if kind is types.FunctionType:
            return self._function(value)
        if isinstance(value, type):
            self._class(value)
            return value
        if isinstance(value, Callable):
            self.copy(value.python_function)
            return value
        if kind is types.MethodType:
            return types.MethodType(self.copy(value.__func__), self.copy(value.__self__))
        if isinstance(value, torch.Generator):
            return value.clone_state()
        if isinstance(value, _GROUPS):
            return value
        if kind is weakref.ref:
            target = value()
            return value if target is None else weakref.ref(self.copy(target))
        if kind is types.CellType:
            self._slot(value, "a variable")
            return value
        if kind is tuple:
            items = [self.copy(item) for item in value]
            return value if all(a is b for a, b in zip(items, value)) else tuple(items)
        if kind in (list, collections.deque):
            result = self.memo[id(value)] = [] if kind is list else collections.deque(maxlen=value.maxlen)
            result.extend([self.copy(item) for item in value])
            return result
        if kind is dict:
            result = self.memo[id(value)] = {}
            for key, item in list(value.items()):
                result[self.copy(key)] = self.copy(item)
            return result
        if kind in (set, frozenset):
            return kind([self.copy(item) for item in value])
        return self._object(value, kind)

    def _object(self, value, kind):
        """Copies an object as `copy.deepcopy` does. An object that cannot be copied is shared with eager Python; an
        iterator cannot be shared and raises `NotCopied`."""
        for base in kind.__mro__:
            self._class(base)
        if isinstance(value, io.StringIO | io.BytesIO):
            pass
        elif isinstance(value, io.IOBase):
            raise NotCopied(f"an open file (a `{kind.__name__}`)")
        try:
            if isinstance(value, _WITH_ALL_ATTRIBUTES):
                return self._rebuilt(value, copyreg.__newobj__, (kind,), value.__dict__)
            own = getattr(value, "__deepcopy__", None)
            if own is not None:
                return own(self.memo)
            reducer = copyreg.dispatch_table.get(kind)
            reduced = reducer(value) if reducer is not None else value.__reduce_ex__(4)
            return value if isinstance(reduced, str) else self._rebuilt(value, *reduced)
        except NotCopied:
            raise
        except Exception:  # any exception means that the object cannot be copied
            if hasattr(kind, "__next__") or hasattr(kind, "send"):
                raise NotCopied(f"a `{kind.__name__}`, which a run consumes") from None
            self.shared.append(f"a `{kind.__module__}.{kind.__name__}`")
            return value

    def _rebuilt(self, value, function, args, state=None, items=None, pairs=None, setter=None):
        """Creates the copy of an object from the parts that `__reduce_ex__` returns."""
        if function is copyreg.__newobj__ and len(args) == 1:
            function = _created
        result = function(*[self.copy(arg) for arg in args])
        self.memo[id(value)] = result
        if state is not None:
            state = self.copy(state)
            if setter is not None:
                setter(result, state)
            elif hasattr(result, "__setstate__") and not isinstance(value, torch.nn.Module | torch.optim.Optimizer):
                result.__setstate__(state)
            else:
                attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
                if attributes:
                    result.__dict__.update(attributes)
                for name, item in (slots or {}).items():
                    setattr(result, name, item)
        for item in items or ():
            result.append(self.copy(item))
        for key, item in pairs or ():
            result[self.copy(key)] = self.copy(item)
        return result

    # Holders of slots.

    def _slot(self, owner, name):
        key = id(owner), None if isinstance(owner, types.CellType) else name
        if key in self.slots:
            return
        slot = self.slots[key] = Slot(owner, name)
        self.kept.append(owner)
        slot.copy = slot.original if slot.original is MISSING else self.copy(slot.original)

    def _function(self, function):
        """Saves the variables, defaults and attributes of a function as slots."""
        self.memo[id(function)] = function
        self.kept.append(function)
        is_users = is_user_code(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if not is_cache(function, name):
                self._slot(cell, name)
        if not is_users:
            return function
        self._slot(function, "__defaults__")
        self._slot(function, "__kwdefaults__")
        self._scopes.append(function.__dict__)
        for name in list(function.__dict__):
            self._slot(function.__dict__, name)
        if id(function.__code__) not in self._seen:
            self._seen.add(id(function.__code__))
            self._code(function)
        return function

    def _code(self, function):
        self.code.append(function.__code__)
        scope = function.__globals__
        names = reads_of(function.__code__).names
        self._names |= names
        for name in names:
            if not name.startswith("__") and not isinstance(scope.get(name), types.ModuleType):
                self._slot(scope, name)
            elif name in scope:
                self.copy(scope[name])

    def _module(self, module):
        if id(module) not in self._seen:
            self._seen.add(id(module))
            if _is_user_module(module.__name__) and getattr(module, "__file__", None):
                self._modules.append(module)

    def _class(self, kind):
        """Saves the attributes of a user's class and of its bases as slots."""
        if id(kind) in self._seen:
            return
        self._seen.add(id(kind))
        if not _is_user_module(kind.__module__) or not is_heap_type(kind):
            return
        if isinstance(kind, enum.EnumMeta):
            return
        self._scopes.append(kind)
        for base in kind.__mro__[1:]:
            self._class(base)
        for name, value in list(kind.__dict__.items()):
            if isinstance(value, (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)):
                for part in ("__func__", "fget", "fset", "fdel", "func"):
                    value = getattr(value, part, None) or value
                    if isinstance(value, types.FunctionType):
                        self.copy(value)
            elif isinstance(value, Callable):
                self.copy(value)
            elif not name.startswith(("__", "_abc_")) and not isinstance(value, _ATOMS[-5:]):
                self._slot(kind, name)


def _variables(scope):
    return scope.__dict__ if isinstance(scope, type) else scope


@functools.lru_cache(maxsize=None)
def _is_user_module(name):
    first = name.partition(".")[0]
    return first not in _LIBRARIES and first not in sys.stdlib_module_names or first == "__main__"
