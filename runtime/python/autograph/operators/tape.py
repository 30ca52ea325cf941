"""The derivative of a Python function that a graph calls: torch's autograd records the call on a *tape*.

The call returns its results and the tape, a tensor of the graph that has the recorded results as an attribute; torch
keeps the attributes of a tensor while a graph holds it. The results pass through an operator whose derivative plays the
tape back."""

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.types import is_differentiable

#: The dispatch keys outside of graphs. A graph runs below autograd, but its callbacks must run with autograd.
_OUTSIDE = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()

_LIBRARY = torch.library.Library("autograph", "FRAGMENT")
_LIBRARY.define("taped(Tensor[] outputs, Tensor[] inputs, Tensor tape) -> Tensor[]")
_LIBRARY.define("play_back(Tensor tape, Tensor[] seeds, Tensor[] inputs) -> Tensor[]")


def with_autograd(function):
    """Returns the function as a graph calls it: with torch's autograd, and with the current modes of autocast and autograd."""
    casts = [
        (kind, torch.get_autocast_dtype(kind))
        for kind in torch._C._autocast_supported_devices()
        if torch.is_autocast_enabled(kind)
    ]
    is_grad_enabled = torch.is_grad_enabled()

    def called(*values):
        with torch._C._ForceDispatchKeyGuard(*_OUTSIDE), torch.set_grad_enabled(is_grad_enabled):
            return _cast(function, values, casts)

    return called


def _cast(function, values, casts):
    if not casts:
        return function(*values)
    (kind, dtype), *rest = casts
    with torch.autocast(kind, dtype):
        return _cast(function, values, rest)


def recorded(function, needed):
    """Returns a function that also returns the tape, as its last result. `needed` contains a boolean for each argument:
    whether it needs a gradient."""

    def called(*values):
        values = [v.detach().requires_grad_() if need else v for v, need in zip(values, needed)]
        results = function(*values)
        tape = torch.empty(0)
        tape.recorded = results, [v for v, need in zip(values, needed) if need]
        return (*(r.detach() if isinstance(r, torch.Tensor) else r for r in results), tape)

    return called


def _taped(outputs, inputs, tape):
    return [output.clone() for output in outputs]


def _play_back(tape, seeds, inputs):
    results, arguments = tape.recorded
    tensors = [r for r in results if isinstance(r, torch.Tensor) and is_differentiable(r.dtype)]
    pairs = [(r, s) for r, s in zip(tensors, seeds) if r.requires_grad]
    if not pairs:
        return [torch.zeros_like(i) for i in inputs]
    with torch._C._ForceDispatchKeyGuard(*_OUTSIDE), torch.enable_grad():
        outputs, seeds = zip(*pairs)
        found = torch.autograd.grad(outputs, arguments, seeds, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(i) if g is None else g for g, i in zip(found, inputs)]


def _setup(ctx, inputs, output):
    outputs, arguments, tape = inputs
    ctx.save_for_backward(tape, *arguments)
    ctx.count = len(outputs)


def _backward(ctx, seeds):
    tape, *arguments = ctx.saved_tensors
    return [None] * ctx.count, torch.ops.autograph.play_back(tape, list(seeds), arguments), None


def no_second_derivative(ctx, *gradients):
    raise StagingError("a Python function that a graph calls has no second derivative", spans.current())


_LIBRARY.impl("taped", _taped, "CompositeExplicitAutograd")
_LIBRARY.impl("play_back", _play_back, "CompositeExplicitAutograd")
_LIBRARY.impl("play_back", lambda tape, seeds, inputs: [torch.empty_like(i) for i in inputs], "Meta")
torch.library.register_autograd("autograph::taped", _backward, setup_context=_setup, lib=_LIBRARY)
torch.library.register_autograd("autograph::play_back", no_second_derivative, lib=_LIBRARY)
