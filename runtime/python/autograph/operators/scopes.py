"""The function scopes and conversion options of converted code."""

from ..capture.staging import current
from ..capture.unbound import Maybe
from ..conversion.converter import mark_converted
from .variables import resolve_return, returned


class Feature:
    """The names of the optional features of a conversion, as in TensorFlow."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


class ConversionOptions:
    """The options with which a function is converted, and whether the functions that it calls are converted."""

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
            internal_convert_user_code=self.recursive,
            optional_features=self.optional_features,
        )


STD = ConversionOptions(recursive=True, optional_features=None)


class FunctionScope:
    """A call of a converted function."""

    __slots__ = ("function_name", "name", "options", "callopts")

    def __init__(self, function_name, scope_name, options):
        self.function_name = function_name
        self.name = scope_name
        self.options = options
        self.callopts = options.call_options()

    def __enter__(self):
        staging = current()
        if staging is not None:
            staging.calls += 1
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        staging = current()
        if staging is not None:
            staging.calls -= 1

    def ret(self, value, did_return):
        staging = current()
        if isinstance(value, Maybe) and staging.calls > 1:
            return resolve_return(staging, value, self.function_name)
        return returned(value)


def with_function_scope(thunk, scope_name, options):
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


def autograph_artifact(entity, extras=None):
    """Marks a function that was converted with its enclosing function."""
    return mark_converted(entity)
