"""Properties of ATen operators that follow from their schemas. They are cached."""

from functools import lru_cache

import torch
from torch._C import DispatchKey, _dispatch_has_kernel_for_dispatch_key


@lru_cache(maxsize=None)
def is_composite(func):
    """Returns whether torch decomposes the operator."""
    return DispatchKey.CompositeImplicitAutograd in func.py_kernels or _dispatch_has_kernel_for_dispatch_key(
        func.name(), DispatchKey.CompositeImplicitAutograd
    )


@lru_cache(maxsize=None)
def is_host_only(func):
    """Returns whether the operator neither takes nor returns tensors, such as the profiler's annotations."""
    types = [a.type for a in func._schema.arguments] + [r.type for r in func._schema.returns]
    return func.namespace != "aten" and not any("Tensor" in str(type) for type in types)


@lru_cache(maxsize=None)
def writes(func):
    """Returns whether the operator writes to an argument: in place, or `out=`."""
    return any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)


@lru_cache(maxsize=None)
def is_view(func):
    """Returns whether the result shares the memory of the first argument."""
    arguments, returns = func._schema.arguments, func._schema.returns
    return bool(arguments and returns and arguments[0].alias_info is not None and returns[0].alias_info is not None)


@lru_cache(maxsize=None)
def returns_list(func):
    returns = func._schema.returns
    return len(returns) == 1 and str(returns[0].type) == "List[Tensor]"


@lru_cache(maxsize=None)
def is_like(func):
    """Returns whether the operator creates a tensor with only the type and shape of another: `zeros_like`."""
    return func is not None and func.overloadpacket.__name__.endswith("_like")


@lru_cache(maxsize=None)
def _sparse_arguments(func):
    return [i for i, a in enumerate(func._schema.arguments) if a.name in ("sparse", "sparse_grad")]


def has_sparse_gradient(func, args):
    """Returns whether the arguments request a sparse gradient; `args` are in the order of the schema."""
    return any(args[index] is True for index in _sparse_arguments(func))


@lru_cache(maxsize=None)
def arguments(func):
    """(name, type, whether keyword-only) of each argument, in order. Sizes are `SymInt` in the type."""
    return [(a.name, str(a.real_type), a.kwarg_only) for a in func._schema.arguments]


@lru_cache(maxsize=None)
def types(func):
    """Returns the type of each argument, in order."""
    return [type for _, type, _ in arguments(func)]


@lru_cache(maxsize=None)
def _positions(func):
    """Name of an argument -> its position."""
    return {name: index for index, (name, _, _) in enumerate(arguments(func))}


def argument(func, args, name):
    """Returns the argument with this name; None if the operator has no such parameter. `args` are in the order of the
    schema."""
    position = _positions(func).get(name)
    return None if position is None else args[position]


def by_kind(func, args):
    """Splits arguments in the order of the schema into the positional and the keyword-only ones."""
    described = arguments(func)
    positional = [argument for argument, (_, _, only_named) in zip(args, described) if not only_named]
    return positional, {name: argument for argument, (name, _, only_named) in zip(args, described) if only_named}


@lru_cache(maxsize=None)
def _defaults(func):
    return [(a.name, a.default_value if a.has_default_value() else None) for a in func._schema.arguments]


def in_order(func, args, kwargs):
    """Returns all arguments in the order of the schema, with its defaults."""
    ordered = list(args)
    for name, default in _defaults(func)[len(args) :]:
        ordered.append(kwargs.get(name, default))
    return ordered


def _takes(candidate, func):
    """Returns whether an operator has all parameters of another."""
    parameters = {(a.name, str(a.real_type)) for a in candidate._schema.arguments}
    return all((a.name, str(a.real_type)) in parameters for a in func._schema.arguments)


#: Operator that writes -> its functional operator, if the name does not follow from the name of the operator.
_FUNCTIONAL = {torch.ops.aten.bernoulli_.float: torch.ops.aten.bernoulli.p}


@lru_cache(maxsize=None)
def functional(func):
    """Returns the functional operator that computes the value that this operator writes; None if torch has none."""
    packet, overload = func.overloadpacket, func._overloadname
    name = packet.__name__
    namespace = getattr(torch.ops, func.namespace)
    written = _written_arguments(func)
    if name.endswith("_") and not name.endswith("__"):
        for candidate in (name[:-1], name[:-1] + "_functional", name + "functional"):
            found = getattr(namespace, candidate, None)
            if found is not None and overload in found.overloads() and _takes(getattr(found, overload), func):
                return getattr(found, overload)
            for other in found.overloads() if found is not None else ():
                if _takes(getattr(found, other), func) and not writes(getattr(found, other)):
                    return getattr(found, other)
        return _FUNCTIONAL.get(func)
    if hasattr(namespace, name + "_functional") and overload in getattr(namespace, name + "_functional").overloads():
        return getattr(getattr(namespace, name + "_functional"), overload)
    out_arguments = [a for a in written if a.kwarg_only]
    if len(out_arguments) != len(written):
        return None
    required = [(a.name, str(a.real_type)) for a in func._schema.arguments if a not in out_arguments]
    for other in packet.overloads():
        found = getattr(packet, other)
        parameters = [(a.name, str(a.real_type)) for a in found._schema.arguments]
        if not writes(found) and [g for g in parameters if g in required] == required:
            return found
    return None


def _written_arguments(func):
    return [a for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


@lru_cache(maxsize=None)
def written(func):
    """Returns the positions of the arguments that the operator writes to."""
    return [i for i, a in enumerate(func._schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
