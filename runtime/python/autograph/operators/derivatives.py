"""The transforms of `torch.func`: derivatives are gradient nodes of the graph, and `vmap` is torch's."""

import functools

import torch
from torch.utils import _pytree as pytree

from ..capture import gradients
from ..capture.staging import current
from .batches import Batches
from .calls import call
from .overloads import OVERLOADS


def _staged(transform):
    """Registers a transform. Outside of tracing, torch's transform is called."""
    original = getattr(torch.func, transform.__name__)

    @functools.wraps(transform)
    def overload(*args, **kwargs):
        return (original if current() is None else transform)(*args, **kwargs)

    OVERLOADS[original] = overload
    return transform


@_staged
def grad(function, argnums=0, has_aux=False):
    def derived(*args, **kwargs):
        gradient, value = grad_and_value(function, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derived


@_staged
def grad_and_value(function, argnums=0, has_aux=False):
    def derived(*args, **kwargs):
        point = _Point(function, args, kwargs, argnums, has_aux)
        found = point.pullback(point.value, None)
        return point.as_arguments(found), ((point.value, point.aux) if has_aux else point.value)

    return derived


@_staged
def jacrev(function, argnums=0, has_aux=False, *, chunk_size=None):
    """Returns the Jacobian in reverse mode: computes one gradient for each element of the outputs."""

    def derived(*args, **kwargs):
        point = _Point(function, args, kwargs, argnums, has_aux)
        found = pytree.tree_map(lambda output: point.as_arguments(_jacobian(point, output)), point.value)
        return (found, point.aux) if has_aux else found

    return derived


@_staged
def jacfwd(function, argnums=0, has_aux=False, *, randomness="error"):
    """Equal to `jacrev`; computed in reverse mode."""
    return jacrev(function, argnums, has_aux)


@_staged
def hessian(function, argnums=0):
    return jacfwd(jacrev(function, argnums), argnums)


@_staged
def vjp(function, *primals, has_aux=False):
    point = _Point(function, primals, {}, tuple(range(len(primals))), has_aux)

    def pullback(cotangents):
        return point.as_arguments(point.pullback(point.value, cotangents))

    return (point.value, pullback, point.aux) if has_aux else (point.value, pullback)


@_staged
def jvp(function, primals, tangents, *, strict=False, has_aux=False):
    """Returns the value and the Jacobian-vector product. The vector-Jacobian product is linear in the cotangents; the
    Jacobian-vector product is computed as its derivative with respect to them."""
    point = _Point(function, primals, {}, tuple(range(len(primals))), has_aux)
    batches = point.batches
    outputs, structure = pytree.tree_flatten(point.value)
    cotangents = [torch.zeros_like(batches.stacked(output)) for output in outputs]
    back = point.pullback(outputs, list(map(batches.elements, cotangents)))
    tangents = list(map(batches.stacked, pytree.tree_leaves(tangents)))
    pushed = map(batches.elements, _gradient(list(map(batches.stacked, back)), cotangents, tangents))
    pushed = pytree.tree_unflatten(list(pushed), structure)
    return (point.value, pushed, point.aux) if has_aux else (point.value, pushed)


@_staged
def vmap(function, *args, **kwargs):
    """Calls torch's `vmap`, which calls the function once, for all elements. The function is converted like any
    function that staged code calls."""

    @functools.wraps(function)
    def converted(*args, **kwargs):
        return call(function, args, kwargs)

    return torch.func.vmap(converted, *args, **kwargs)


class _Point:
    """A call of a function that is differentiated with respect to its arguments `argnums`.

    Inside `vmap`, the function is called for all elements of the batch. Each element has inputs of its own, so the gradients
    of the sum of all outputs are those of the elements:

        vmap(grad(loss), in_dims=(None, 0))(weights, x)    # the weights are repeated for each element
    """

    def __init__(self, function, args, kwargs, argnums, has_aux):
        self.batches = batches = Batches()
        self.is_single = isinstance(argnums, int)
        numbers = [number % len(args) for number in ((argnums,) if self.is_single else argnums)]
        self.inputs, self._structure = pytree.tree_flatten([args[i] for i in numbers])
        self.inputs = [batches.stacked(leaf).clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in self.inputs]
        elements = [batches.elements(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.inputs]
        args = list(args)
        for number, arg in zip(numbers, pytree.tree_unflatten(elements, self._structure)):
            args[number] = arg
        with torch.enable_grad():
            value = call(function, tuple(args), kwargs)
        self.value, self.aux = value if has_aux else (value, None)

    def pullback(self, value, cotangents):
        """Returns the vector-Jacobian product: the gradients of the inputs."""
        outputs = list(map(self.batches.stacked, pytree.tree_leaves(value)))
        if cotangents is not None:
            seeds = list(map(self.batches.stacked, pytree.tree_leaves(cotangents)))
        elif self.batches.levels and all(output.numel() == 1 for output in pytree.tree_leaves(value)):
            seeds = list(map(torch.ones_like, outputs))
        else:
            seeds = None
        return list(map(self.batches.elements, _gradient(outputs, self.inputs, seeds)))

    def as_arguments(self, found):
        """Returns one value for each input, in the structure of the arguments."""
        found = pytree.tree_unflatten(list(found), self._structure)
        return found[0] if self.is_single else tuple(found)


def _gradient(outputs, inputs, seeds):
    return gradients.grad(current(), outputs, inputs, seeds, materialize_grads=True, create_graph=True)


def _jacobian(point, output):
    rows = [point.pullback(element, None) for element in output.reshape(-1)]
    return [torch.stack(row).reshape(*output.shape, *row[0].shape) for row in zip(*rows)]
