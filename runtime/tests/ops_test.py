"""Each operator in torch's own table has the same values and gradients staged and eager. The gradients are computed outside
of the graph and in the graph."""

import logging
import re

import pytest
import torch
from torch.utils import _pytree as pytree

import autograph as ag
from ops_known import EXCLUDED, KNOWN, KNOWN_NON_CONTIGUOUS
from oracle import assert_equal
from samples import name_of, operators, samples

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Uses one thread, because the tensors are small, and disables logging, because pytest would store all records."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_operator_of_torch():
    forward, backward, calls, used, failures, repaired = set(), set(), 0, set(), [], []
    for info in operators():
        name = name_of(info)
        if name in EXCLUDED:
            continue
        failed = set()
        for sample in samples(info):
            key = f"{name} {sample.dtype}".replace("torch.", "")
            try:
                compared = compare(sample)
            except Exception as error:
                failed.update({name, key})
                if name not in KNOWN and key not in KNOWN:
                    failures.append(f"{key}: {type(error).__name__}: {str(error)[:300]}")
                continue
            calls += len(compared.parts)
            used |= compared.used
            forward |= {info.name} if "values" in compared.parts else set()
            backward |= {info.name} if "gradients" in compared.parts else set()
        repaired += [known for known in KNOWN if known.split(" ")[0] == name and known not in failed]
    print(
        f"\n{len(forward)} operators of torch compared, {len(backward)} of them with gradients, "
        f"in {calls} calls; their graphs have {len(used)} ATen operators"
    )
    assert not failures, "\n".join(failures)
    assert not repaired, f"these work now: {repaired}"
    assert len(forward) >= 250 and len(backward) >= 250 and len(used) >= 250


def test_every_operator_of_torch_on_non_contiguous_tensors():
    """Each function is traced for contiguous tensors, and then called with non-contiguous ones."""
    compared, failures = 0, []
    for info in operators():
        name = name_of(info)
        sample = next((one for one in samples(info) if one.dtype is torch.float32), None)
        if sample is None or name in EXCLUDED or name in KNOWN or name in KNOWN_NON_CONTIGUOUS:
            continue
        try:
            compared += compare_non_contiguous(sample)
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    assert not failures, "\n".join(failures)
    assert compared >= 250


def compare_non_contiguous(sample):
    """Compares a call with non-contiguous tensors. Returns False if eager torch does not support the call."""

    def fresh(requires_grad):
        given = map(non_contiguous, sample.fresh())
        return [t.detach().requires_grad_(requires_grad and o.requires_grad) for t, o in zip(given, sample.tensors)]

    def outcome(call):
        tensors = fresh(requires_grad=True)
        return gradients(seeded(call, tensors), sample.prepared, tensors)

    try:
        expected = seeded(sample.call, fresh(requires_grad=False))
    except Exception:  # eager torch refuses this call
        return False
    staged = ag.function(sample.call)
    seeded(staged, sample.fresh())
    assert_equal(seeded(staged, fresh(requires_grad=False)), expected)
    try:
        expected = outcome(sample.call)
    except Exception:  # it has no derivative
        return True
    if expected is not None:
        seeded(staged, sample.fresh(requires_grad=True))
        torch.testing.assert_close(outcome(staged) or zeros(expected), expected, rtol=1e-4, atol=1e-4, equal_nan=True)
    return True


def non_contiguous(tensor):
    """Copies a tensor. The copy stores the dimensions in reverse order, or has gaps if it is a vector."""
    if tensor.layout is not torch.strided or tensor.dim() == 0:
        return tensor
    if tensor.dim() == 1:
        return torch.stack([tensor, tensor], 1)[:, 0]
    return transposed(transposed(tensor).contiguous())


def transposed(tensor):
    """Reverses the dimensions."""
    return tensor.permute(tuple(reversed(range(tensor.dim()))))


class Comparison:
    """The compared results of a call, and the ATen operators of its graph."""

    def __init__(self):
        self.parts = []
        self.used = set()


def compare(sample):
    """Compares the values and gradients of a call."""
    compared = Comparison()
    try:
        expected = seeded(sample.call, sample.fresh())
    except Exception:  # eager torch refuses this call
        return compared
    staged = ag.function(sample.call)
    assert_equal(seeded(staged, sample.fresh()), expected)
    compared.parts.append("values")
    compared.used.update(re.findall(r"aten\.\w+\.\w+", staged.graph(*sample.fresh())))
    tensors = sample.fresh(requires_grad=True)
    try:
        expected = gradients(seeded(sample.call, tensors), sample.prepared, tensors)
    except Exception:
        return compared
    if expected is None:
        return compared
    tensors = sample.fresh(requires_grad=True)
    if sample.dtype is torch.float64:

        def inside(*tensors):
            return gradients(sample.call(*tensors), sample.prepared, tensors, wanted)

        wanted = [tensor.requires_grad for tensor in tensors]
        found = seeded(ag.function(inside), tensors)
    else:
        found = gradients(seeded(ag.function(sample.call), tensors), sample.prepared, tensors) or zeros(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        precision = 1e-4 if other.dtype in (torch.float32, torch.complex64) else 1e-7
        torch.testing.assert_close(one, other, rtol=precision, atol=precision, equal_nan=True)
    compared.parts.append("gradients")
    return compared


def zeros(expected):
    """Returns gradients of zeros. Eager torch records them even if the result depends on none of the tensors (`x ** 0`)."""
    return tuple(torch.zeros_like(one) for one in expected)


def seeded(function, args):
    """Calls a function after setting the random seed."""
    torch.manual_seed(0)
    return function(*args)


def gradients(result, prepared, tensors, wanted=None):
    """Returns the gradients of a number that depends on all differentiable parts of a result; None if there are none."""
    total = None
    for tensor in pytree.tree_leaves(prepared(result)):
        if isinstance(tensor, torch.Tensor) and (tensor.is_floating_point() or tensor.is_complex()):
            # Their strides differ from those of every result, so the incoming gradient is non-contiguous, too.
            weights = torch.ones_like(tensor.detach()).flatten().cumsum(0).cos()
            weights = transposed(weights.reshape(tensor.shape[::-1]))
            product = (tensor * weights).sum()
            product = product.real + 2 * product.imag if product.is_complex() else product
            total = product if total is None else total + product
    if wanted is None:
        if total is None or not total.requires_grad:
            return None
        wanted = [tensor.requires_grad for tensor in tensors]
    requested = [tensor for tensor, needed in zip(tensors, wanted) if needed]
    return torch.autograd.grad(total, requested, allow_unused=True, materialize_grads=True)
