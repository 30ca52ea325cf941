"""Reference operators for converted code. They never stage.

The calling convention and the order of dispatch follow TensorFlow 2's `ag__`. The semantics are exactly Python's:
`if_stmt(c, …)` tests `c` once, like `if c:`, and reading an `Undefined` variable raises the same error as reading an
unbound variable in CPython.

This module only imports `sys`, because any other module of the standard library may itself be converted.
"""

import sys

# Variables


class Undefined:
    """The value of an unbound variable."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name):
        self.symbol_name = symbol_name

    def __repr__(self):
        return f"Undefined({self.symbol_name!r})"


class UndefinedReturnValue:
    """The return value before a `return` statement has run."""


def _unbound_local():
    try:
        del name
        name = None
    except UnboundLocalError as error:
        return error.args[0].replace("name", "{}", 1)


UNBOUND = _unbound_local()
"""The interpreter's error message, with a placeholder for the name."""


def ld(v):
    if isinstance(v, Undefined):
        raise UnboundLocalError(UNBOUND.format(v.symbol_name))
    return v


def ldu(load_v, name):
    try:
        return load_v()
    except (KeyError, AttributeError, NameError):
        return Undefined(name)


# Conditionals and logic


def if_stmt(cond, body, orelse, get_state, set_state, symbol_names, nouts):
    return body() if cond else orelse()


def if_exp(cond, if_true, if_false, expr_repr):
    return if_true() if cond else if_false()


def not_(a):
    return not a


def and_(a, b):
    return a() and b()


def or_(a, b):
    return a() or b()


def eq(a, b):
    return a == b


def not_eq(a, b):
    return a != b


# Loops


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    while test():
        body()


def for_stmt(iter_, extra_test, body, get_state, set_state, symbol_names, opts):
    if extra_test is None:
        for target in iter_:
            body(target)
    elif extra_test():
        for target in iter_:
            body(target)
            if not extra_test():
                break


# Functions


class Feature:
    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


class ConversionOptions:
    def __init__(
        self, recursive=False, user_requested=False, internal_convert_user_code=True, optional_features=Feature.ALL
    ):
        if optional_features is None:
            optional_features = ()
        elif isinstance(optional_features, str):
            optional_features = (optional_features,)
        self.recursive = recursive
        self.user_requested = user_requested
        self.internal_convert_user_code = internal_convert_user_code
        self.optional_features = frozenset(optional_features)

    def uses(self, feature):
        return Feature.ALL in self.optional_features or feature in self.optional_features

    def call_options(self):
        return ConversionOptions(
            recursive=self.recursive,
            user_requested=False,
            internal_convert_user_code=self.recursive,
            optional_features=self.optional_features,
        )


STD = ConversionOptions(recursive=True, user_requested=False, internal_convert_user_code=True, optional_features=None)


class FunctionScope:
    def __init__(self, function_name, scope_name, options):
        self.function_name = function_name
        self.name = scope_name
        self.options = options
        self.callopts = options.call_options()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        pass

    def ret(self, value, did_return):
        return None if isinstance(value, UndefinedReturnValue) else value


def with_function_scope(thunk, scope_name, options):
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


def autograph_artifact(entity, extras=None):
    """Marks a function as converted. Does not set an attribute, because programs could observe it."""
    return entity


convert_callee = None
"""Hook for tests that convert callees individually: callable -> converted callable or None."""


def converted_call(f, args, kwargs, caller_fn_scope=None, options=None):
    if options is None and caller_fn_scope is None:
        raise ValueError("either caller_fn_scope or options must have a value")
    keywords = kwargs or {}
    if f is super and not args and not keywords:
        return _super_of(caller_fn_scope)
    if f is globals and not args and not keywords:
        return _frame_of(caller_fn_scope).f_globals
    if f is locals and not args and not keywords:
        return _frame_of(caller_fn_scope).f_locals
    if f is eval and 1 <= len(args) < 3 and not keywords:
        frame = _frame_of(caller_fn_scope)
        return f(*args, *(frame.f_globals, frame.f_locals)[len(args) - 1 :])
    converted = convert_callee(f) if convert_callee is not None else None
    return (converted or f)(*args, **keywords)


def _frame_of(scope, innermost=True):
    """Returns the frame that has `scope` in a variable: the frame of the innermost block, or of the function."""
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


# Statements that TensorFlow only converts with optional features


def assert_stmt(expression1, expression2):
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    if expression2.__code__.co_argcount:
        raise ValueError(f"{expression2} may not have any arguments")
    if not expression1:
        raise AssertionError(expression2())


def print_(*objects, **kwargs):
    print(*objects, **kwargs)


class ListPopOpts:
    def __init__(self, element_dtype, element_shape):
        self.element_dtype = element_dtype
        self.element_shape = element_shape


class ListStackOpts:
    def __init__(self, element_dtype, original_call):
        self.element_dtype = element_dtype
        self.original_call = original_call


class GetItemOpts:
    def __init__(self, element_dtype):
        self.element_dtype = element_dtype


def new_list(iterable=None):
    return list(iterable) if iterable else []


def list_append(list_, x):
    list_.append(x)
    return list_


def list_pop(list_, i, opts):
    return list_, list_.pop() if i is None else list_.pop(i)


def list_stack(list_, opts):
    return opts.original_call(list_)


def get_item(target, i, opts):
    return target[i]


def set_item(target, i, x):
    target[i] = x
    return target
