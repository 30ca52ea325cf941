"""The ambient settings of torch: a call under one setting has the results of eager torch under this setting, even if
the function was traced under another setting."""

import contextlib
import itertools

import autograph as ag
import pytest
import torch
from oracle import t
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode


@contextlib.contextmanager
def setting(set_to, value, before):
    """Changes a setting of torch inside a `with` statement."""
    set_to(value)
    try:
        yield
    finally:
        set_to(before)


SETTINGS = {
    "nothing": contextlib.nullcontext,
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "autocast to bfloat16": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast to float16": lambda: torch.autocast("cpu", torch.float16),
    "autocast without cache": lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
    "autocast off": lambda: torch.autocast("cpu", enabled=False),
    "device": lambda: torch.device("meta"),
    "default dtype": lambda: setting(torch.set_default_dtype, torch.float64, torch.float32),
    "deterministic": lambda: setting(torch.use_deterministic_algorithms, True, False),
    "anomaly mode": lambda: torch.autograd.set_detect_anomaly(True),
    "no oneDNN": lambda: torch.backends.mkldnn.flags(enabled=False),
    "math attention": lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
}

layer = torch.nn.Linear(2, 3)


def program(x, w):
    y = layer(x)
    if y.sum() > 100:
        y = y * 2
    settings = [
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"),
        torch.is_anomaly_enabled(), torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype(),
    ]  # fmt: skip
    return y, torch.ones(2), torch.tensor(1.5), w @ w, torch.arange(3) / 2, settings


def rounded(v):
    """Returns the rounded elements of a tensor on the CPU, because native kernels may round differently; None for other
    tensors."""
    return v.double().round(decimals=5).tolist() if v.device.type == "cpu" else None


def properties(result):
    """Returns the properties of results that a setting of torch may change."""
    *tensors, settings = result
    return [
        (v.dtype, v.device, v.requires_grad, v.is_inference(), rounded(v))
        for v in tensors
    ] + [settings]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("traced", SETTINGS)
def test_a_trace_is_not_used_under_another_setting(traced):
    x, w = torch.tensor([[1.0, 2.0]]), torch.eye(2)
    staged = ag.function(program, verify=False)
    for called in SETTINGS:
        for name in (traced, called, traced):
            with SETTINGS[name]():
                assert properties(staged(x, w)) == properties(program(x, w)), (traced, called)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("forward, backward", [*itertools.product(("nothing", "autocast to bfloat16"), repeat=2)])
def test_gradients_under_autocast(forward, backward):
    found = []
    for f in (program, ag.function(program)):
        x = torch.tensor([[1.0, 2.0]], requires_grad=True)
        with SETTINGS[forward]():
            loss = f(x, torch.eye(2))[0].float().sum()
        with SETTINGS[backward]():
            loss.backward()
        found.append(x.grad)
    assert found[0].dtype == found[1].dtype
    # Eager torch also casts the operators of a backward pass under autocast.
    tolerances = {} if backward == "nothing" else {"rtol": 1e-2, "atol": 1e-2}
    torch.testing.assert_close(found[1], found[0], **tolerances)


def test_tracing_leaves_no_casts_behind():
    with torch.autocast("cpu", torch.bfloat16):
        layer(t(1, 2))
        ag.function(program)(torch.ones(1, 2), torch.eye(2))
        assert type(layer(t(1, 2))) is torch.Tensor


def test_autocast_inside_of_branches():
    def f(x, n):
        with torch.autocast("cpu", torch.bfloat16):
            if n > 0:
                y = layer(x)
            else:
                y = layer(x + 1)
            for _ in range(n):
                y = y + layer(x)
            return y + layer(x)

    staged = ag.function(f)
    for n in (0, 2):
        expected, found = f(t(1, 2), n), staged(t(1, 2), torch.tensor(n))
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected)


class Subtracting(TorchFunctionMode):
    """Calls `torch.sub` instead of `torch.add`."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return torch.sub(*args) if func is torch.add else func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "mode", [Subtracting, lambda: FlopCounterMode(display=False), torch.autograd.forward_ad.dual_level]
)
def test_modes_that_a_graph_does_not_call(mode):
    f = ag.function(lambda x: torch.add(x, x))
    f(t(1))
    with mode(), pytest.raises(ag.StagingError, match="cannot be called here") as caught:
        f(t(1))
    assert "with mode()" in str(caught.value) or "f(t(1))" in str(caught.value)


def test_a_transform_is_not_part_of_a_trace():
    f = ag.function(lambda x: (x * x).sum())
    f(t(1, 2))
    assert torch.equal(torch.func.vmap(f)(torch.ones(3, 2)), t(2, 2, 2))
    with pytest.raises(ag.StagingError, match="Grad"):
        torch.func.grad(f)(t(1, 2))


def test_views_in_inference_mode():
    table = torch.linspace(0, 1, 10)

    def inside(x):
        with torch.inference_mode():
            for k in range(3):
                x = x * table[k] + table[1:3]
        return x

    @torch.inference_mode()
    def decorated(x):
        return x * table[2].sqrt(), table[3:5]

    for function in (inside, decorated):
        for mode in (contextlib.nullcontext, torch.inference_mode):
            with mode():
                staged = ag.function(function)
                for _ in range(2):
                    x = torch.ones(2)
                    torch.testing.assert_close(staged(x), function(x))
