"""Changes of modules by traced code: attributes that it sets, hooks that it registers on modules and optimizers, and handles
that it removes: `layer.calls = 0`, `layer.register_forward_hook(f)`, `handle.remove()`.

A module of torch may only be watched when one of its attributes is set: `for layer in model.modules(): layer.calls = 0`.

The trace calls the hooks that are registered while it runs, so a graph contains their operations. But runs of the graph
neither register nor remove hooks. So the trace undoes such changes, and is valid only if there are none at its end, as in
a `with` statement that registers hooks and removes them. Torch changes the dictionaries of hooks with the methods of
`RemovableHandle`."""

import sys
from contextlib import contextmanager

import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils.hooks import RemovableHandle

from ..capture.staging import current
from ..conversion import spans
from ..errors import NeedsPython

_register, _remove = RemovableHandle.__init__, RemovableHandle.remove
_new_module, _set_attribute = torch.nn.Module.__init__, torch.nn.Module.__setattr__


def _note(staging, hooks):
    """Called before a dictionary of hooks is changed."""
    if hooks is not None and id(hooks) not in staging.hooks:
        staging.hooks[id(hooks)] = hooks, dict(hooks), spans.current()


def _registered(handle, hooks_dict, *, extra_dict=None):
    staging = current()
    caller = sys._getframe(1).f_locals  # those of the method of torch, such as `register_forward_hook`
    owner = caller.get("self")
    if staging is not None and "hook" in caller:
        staging.objects.unseen(caller["hook"])
    if staging is not None and id(owner) not in staging.new_modules:
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        for hooks in (hooks_dict, *extra):
            _note(staging, hooks)
    _register(handle, hooks_dict, extra_dict=extra_dict)


#: The hooks that lazy modules remove when their first call makes the parameters. The parameters stay after the trace.
_OF_LAZY_MODULES = (LazyModuleMixin._infer_parameters, LazyModuleMixin._lazy_load_hook)


def _is_of_lazy_module(handle):
    hook = (handle.hooks_dict_ref() or {}).get(handle.id)
    hook = getattr(hook, "hook", hook)  # torch wraps hooks of `load_state_dict`
    return getattr(hook, "__func__", None) in _OF_LAZY_MODULES


def _removed(handle):
    staging = current()
    is_noted = staging is not None and not _is_of_lazy_module(handle)
    references = (handle.hooks_dict_ref, *handle.extra_dict_ref) if is_noted else ()
    for hooks in [reference() for reference in references]:
        if hooks is not None and handle.id in hooks and not _is_new(staging, hooks):
            _note(staging, hooks)
    _remove(handle)


def _is_new(staging, hooks):
    """Returns whether the dictionary belongs to a module that the function has created."""
    modules = staging.new_modules.values()
    return any(hooks is state for module in modules for state in module.__dict__.values())


def _created(module, *args, **kwargs):
    staging = current()
    if staging is not None:
        staging.new_modules[id(module)] = module
    _new_module(module, *args, **kwargs)


def _attribute_set(module, name, value):
    staging = current()
    # The first call of a lazy module sets its sizes, and they stay.
    if staging is not None and id(module) not in staging.new_modules and not isinstance(module, LazyModuleMixin):
        staging.objects.watch_existing(module)
    _set_attribute(module, name, value)


@contextmanager
def noted():
    """Notes these changes in this block."""
    RemovableHandle.__init__, RemovableHandle.remove = _registered, _removed
    torch.nn.Module.__init__, torch.nn.Module.__setattr__ = _created, _attribute_set
    try:
        yield
    finally:
        RemovableHandle.__init__, RemovableHandle.remove = _register, _remove
        torch.nn.Module.__init__, torch.nn.Module.__setattr__ = _new_module, _set_attribute


def _is_changed(hooks, before):
    return list(hooks) != list(before) or any(hook is not before[key] for key, hook in hooks.items())


def check(staging):
    """Ends the trace if the function has registered or removed hooks."""
    for hooks, before, span in staging.hooks.values():
        if _is_changed(hooks, before):
            message = "this changes the hooks of a module or optimizer"
            raise NeedsPython(f"{message}\nhelp: register and remove hooks outside of the function", span)


def restore(staging):
    """Undoes the changes of hooks."""
    for hooks, before, _ in staging.hooks.values():
        if _is_changed(hooks, before):
            hooks.clear()
            hooks.update(before)
