"""Compares the rules for the types and sizes of results, and the mode for fake tensors, with torch."""

import collections
import itertools
import subprocess
import sys

import pytest
import torch
from autograph.capture.fakes import Mode
from autograph.interception import results, schemas
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

DTYPES = (torch.float32, torch.int64, torch.bool)
SAMPLES = 4

#: Errors about values, which are known only when the graph runs.
OF_VALUES = ("index 23 is out of bounds", "index 34 is out of bounds", "cannot be converted to type float without overflow")


class RuleComparison(TorchDispatchMode):
    """Compares the results of torch with those of the rules."""

    def __init__(self):
        super().__init__()
        self.mode = Mode(None)
        self.used = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        expected = self.expected(schemas.in_order(func, args, kwargs), func)
        try:
            result = func(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError) as error:
            assert expected is None or any(text in str(error) for text in OF_VALUES), f"{func} raises {error}"
            raise
        if expected is not None:
            self.used[func] += 1
            parts = result if isinstance(result, (tuple, list)) else [result]
            assert [(part.dtype, part.shape) for part in parts] == [(d, torch.Size(s)) for d, s in expected], func
            assert all(part.is_contiguous() for part in parts), func
        return result

    def expected(self, args, func):
        tensors = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]
        if any(t.layout is not torch.strided or t.dtype.is_complex or t.is_nested for t in tensors):
            return None
        with torch._C._DisableTorchDispatch():
            args = pytree.tree_map_only(torch.Tensor, lambda t: self.mode.empty(t.shape, t.stride(), t.dtype, t.device), args)
            leaves = pytree.tree_leaves(args)
            return results.results(func, args, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])


def with_gaps(tensor):
    """Copies a tensor to every second element of a larger one."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or not tensor.dim():
        return tensor
    return torch.stack([tensor, tensor], -1).select(-1, 0)


def transposed(tensor):
    """Copies a tensor, with its first and last dimensions swapped in memory."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or tensor.dim() < 2:
        return tensor
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


NAMES = {func.overloadpacket.__name__ for func in results.RULES}
OPERATORS = [op for op in op_db if op.name.rpartition(".")[2].strip("_") in {name.strip("_") for name in NAMES}] + [
    op
    for op in op_db
    if op.name.startswith("nn.functional.")
    and any(part in op.name for part in ("pool2d", "conv", "loss", "batch_norm", "instance_norm"))
]


def samples(op):
    for dtype in DTYPES:
        if op.supports_dtype(dtype, "cpu"):
            yield from itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: f"{op.name}{op.variant_test_name}")
def test_rules_return_what_torch_returns(op):
    for sample, layout in itertools.product(samples(op), (lambda tensor: tensor, with_gaps, transposed)):
        operands, named = pytree.tree_map(layout, (sample.input, *sample.args)), sample.kwargs
        try:
            with RuleComparison():
                op(*operands, **named)
        except (RuntimeError, IndexError, ValueError, TypeError):
            pass


@pytest.mark.parametrize("op", [op for op in OPERATORS if op.error_inputs_func], ids=lambda op: op.name)
def test_rules_return_nothing_where_torch_raises(op):
    for error in op.error_inputs("cpu"):
        sample = error.sample_input
        try:
            with RuleComparison():
                op(sample.input, *sample.args, **sample.kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError):
            pass


def test_a_mode_has_the_attributes_that_torch_sets():
    expected, found = vars(FakeTensorMode(allow_non_fake_inputs=True, static_shapes=False)), vars(Mode(None))
    lazy, own = {"shape_env"}, {"_shapes", "_attributes", "_refuse_pointer"}
    assert expected.keys() - lazy == found.keys() - own
    plain = {name for name, value in expected.items() if isinstance(value, (bool, int, str, type(None)))} - lazy
    assert {name: expected[name] for name in plain} == {name: found[name] for name in plain}


PROGRAM = """
import sys, torch
import autograph as ag

@ag.function
def step(x, w, b):
    total = 0.0
    for i in range(20):
        x = torch.relu(torch.addmm(b, x, w))
        total = total + (x.mean() if x.sum() > 0 else x.max())
    return total

step(torch.ones(2, 3), torch.ones(3, 3), torch.zeros(3))

encoder, decoder = torch.nn.Linear(8, 6), torch.nn.Linear(3, 8)

@ag.function
def variational(x):
    mean, spread = encoder(x).chunk(2, -1)
    decoded = torch.sigmoid(decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * spread)))
    loss = torch.nn.functional.binary_cross_entropy(decoded, torch.sigmoid(x), reduction="sum")
    loss = loss - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
    loss.backward()
    return loss.detach()

variational(torch.ones(4, 8))

@ag.function
def clusters(x, centers):
    for _ in range(3):
        nearest = torch.cdist(x, centers).argmin(1)
        counts = torch.nn.functional.one_hot(nearest, 3).sum(0).clamp(min=1)
        sums = torch.zeros_like(centers).index_add(0, nearest, x)
        centers = sums.scatter_add(0, nearest[:, None].expand(-1, 2), x) / counts[:, None] / 2
    return centers, torch.zeros(10, 3).scatter_(1, nearest[:, None], 1.0)

clusters(torch.rand(10, 2), torch.rand(3, 2))

block = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.ConvTranspose2d(4, 4, 2, 2), torch.nn.InstanceNorm2d(4), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 5),
)

@ag.function
def classified(x, labels):
    scores = block(x)
    loss = torch.nn.functional.cross_entropy(scores, labels) + torch.nn.functional.cross_entropy(scores[0], labels[0])
    loss.backward()
    return loss.detach()

classified(torch.rand(2, 3, 8, 8), torch.tensor([1, 2]))
block.eval()
ag.function(torch.no_grad()(lambda x: block(x)))(torch.rand(2, 3, 8, 8))
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


UNKNOWN_SIZES = """
import sys, torch
import autograph as ag

@ag.function
def decode(x, w):
    found, t, kept = [], 0, torch.zeros(4, 0, 3)
    cache = torch.zeros(4, 10, 3)
    while t < 10 and x.sum() < 100:
        x = torch.tanh(x @ w)
        cache[:, t : t + 1] = x.unsqueeze(1)
        kept = torch.cat([kept, x.unsqueeze(1)], 1)
        x = x + torch.softmax(cache[:, : t + 1] * kept / 2 + 1, 1).sum(1)
        found.append(x)
        t += 1
    return torch.stack(found), kept

x, w = torch.rand(4, 3), torch.rand(3, 3)
for one, other in zip(ag.function(decode)(x, w), decode(x, w)):
    torch.testing.assert_close(one, other)
print([name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules], hasattr(torch, "nothing"))
print(torch.compile(torch.sin, backend="eager")(x).equal(torch.sin(x)), "torch._dynamo" in sys.modules)
torch.testing.assert_close(ag.function(decode)(x, w)[1], decode(x, w)[1])
"""


@pytest.mark.parametrize("program, output", [(PROGRAM, "[]\n"), (UNKNOWN_SIZES, "[] False\nTrue True\n")])
def test_a_first_call_does_not_import_the_compiler_of_torch(program, output):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (output, 0), done.stdout + done.stderr
