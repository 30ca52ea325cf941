"""Programs that read and change Python state, without a gradient: inference, metrics, filters, counters."""

import collections
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

from .registry import params, program


@program
def add_two():
    x, y = torch.randn(8), torch.randn(8)

    def step(x, y):
        return x + y

    return step, lambda s, i: s(x, y)


@program
def mlp_infer():
    w1, b1, w2, b2 = params((16, 16), (16,), (16, 4), (4,), grad=False)
    x = torch.randn(4, 16)

    def step(x):
        return torch.relu(x @ w1 + b1) @ w2 + b2

    return step, lambda s, i: s(x)


@program
def mlp_module_nograd():
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)).eval()
    x = torch.randn(4, 16)

    def step(x):
        return model(x).softmax(-1)

    def call(s, i):
        with torch.no_grad():
            return s(x)

    return step, call


class Cell(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.ih, self.hh = nn.Linear(n, 3 * n), nn.Linear(n, 3 * n)

    def forward(self, x, h):
        r, z, n = self.ih(x).chunk(3, -1)
        a, b, c = self.hh(h).chunk(3, -1)
        r, z = torch.sigmoid(r + a), torch.sigmoid(z + b)
        n = torch.tanh(n + r * c)
        return (1 - z) * n + z * h


class Decoder(nn.Module):
    def __init__(self, v=30, n=16):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(v, n), Cell(n), nn.Linear(n, v)

    def forward(self, token, h):
        h = self.cell(self.embed(token), h)
        return self.head(h).argmax(-1), h


@program
def decoder_step():
    model = Decoder().eval()
    token, h = torch.tensor([3]), torch.zeros(1, 16)

    @torch.no_grad()
    def step(token, h):
        return model(token, h)

    state = {}

    def call(s, i):
        t, hh = state.get("s", (token, h))
        state["s"] = s(t, hh)
        return state["s"]

    return step, call


@program
def decoder_method_grad_mode():
    model = Decoder()
    token, h = torch.tensor([3, 5]), torch.zeros(2, 16)
    return model.forward, lambda s, i: s(token, h)


@dataclasses.dataclass
class Stats:
    count: torch.Tensor
    mean: torch.Tensor
    m2: torch.Tensor


@program
def welford_dataclass():
    """Returns a new dataclass."""

    def step(stats, x):
        count = stats.count + 1
        delta = x - stats.mean
        mean = stats.mean + delta / count
        return Stats(count, mean, stats.m2 + delta * (x - mean))

    stats = Stats(torch.tensor(3.0), torch.zeros(8), torch.zeros(8))
    x = torch.randn(8)

    def call(s, i):
        r = s(stats, x)
        return [r.count, r.mean, r.m2]

    return step, call


class Accuracy:
    def __init__(self):
        self.correct, self.total = torch.zeros(()), 0

    def update(self, logits, labels):
        self.correct = self.correct + (logits.argmax(-1) == labels).float().sum()
        self.total += labels.numel()

    def compute(self):
        return self.correct / self.total


@program
def metric_update_object():
    m = Accuracy()
    logits, labels = torch.randn(16, 4), torch.randint(0, 4, (16,))

    def call(s, i):
        s(logits, labels)
        return [m.compute()]

    return m.update, call


@program
def running_norm_buffers():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(8))
            self.register_buffer("var", torch.ones(8))

        def forward(self, x):
            m, v = x.mean(0), x.var(0, unbiased=False)
            self.mean.lerp_(m, 0.1)
            self.var.lerp_(v, 0.1)
            return (x - self.mean) / (self.var + 1e-5).sqrt()

    n = Norm()
    x = torch.randn(16, 8)
    return n.forward, lambda s, i: [s(x), n.mean.clone()]


@program
def list_of_tensors_norm():
    grads = [torch.randn(4, 4) for _ in range(20)]

    def step(grads, limit):
        total = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
        scale = torch.clamp(limit / (total + 1e-6), max=1.0)
        return [g * scale for g in grads], total

    def call(s, i):
        a, b = s(grads, 1.0)
        return [*a, b]

    return step, call


@program
def keyword_arguments():
    def step(q, k, v, *, mask=None, scale=None, causal=False):
        scale = scale or 1 / math.sqrt(q.shape[-1])
        s = q @ k.transpose(-1, -2) * scale
        if causal:
            s = s + torch.triu(torch.full(s.shape[-2:], float("-inf")), 1)
        if mask is not None:
            s = s.masked_fill(~mask, -1e9)
        return s.softmax(-1) @ v

    q, k, v = (torch.randn(2, 5, 8) for _ in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool)
    return step, lambda s, i: s(q, k, v, mask=mask, scale=0.3, causal=True)


@program
def closure_counter():
    count, ema = 0, torch.zeros(8)

    def step(x):
        nonlocal count, ema
        count += 1
        ema = 0.9 * ema + 0.1 * x
        return ema / (1 - 0.9**count)

    x = torch.randn(8)
    return step, lambda s, i: s(x)


@program
def deep_module_15():
    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm, self.up, self.down, self.act = (
                nn.LayerNorm(n),
                nn.Linear(n, 2 * n),
                nn.Linear(2 * n, n),
                nn.GELU(),
            )

        def forward(self, x):
            return x + self.down(self.act(self.up(self.norm(x))))

    model = nn.Sequential(*(Block(8) for _ in range(4)), nn.LayerNorm(8)).eval()
    x = torch.randn(2, 8)

    def step(x):
        return model(x)

    def call(s, i):
        with torch.no_grad():
            return s(x)

    return step, call


@program
def env_step():
    """Cart pole with namedtuple state."""
    State = collections.namedtuple("State", "x v th w")

    def step(state, action):
        force = torch.where(action > 0, 10.0, -10.0)
        c, s_ = torch.cos(state.th), torch.sin(state.th)
        temp = (force + 0.05 * state.w**2 * s_) / 1.1
        acc = (9.8 * s_ - c * temp) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xacc = temp - 0.05 * acc * c / 1.1
        new = State(state.x + 0.02 * state.v, state.v + 0.02 * xacc, state.th + 0.02 * state.w, state.w + 0.02 * acc)
        done = (new.x.abs() > 2.4) | (new.th.abs() > 0.2)
        return new, done

    st = State(*(torch.tensor(0.01 * k) for k in range(4)))
    a = torch.tensor(1)

    def call(s, i):
        n, d = s(st, a)
        return [*n, d]

    return step, call


@program
def while_newton():
    def step(a):
        x = a
        while (x * x - a).abs() > 1e-5:
            x = 0.5 * (x + a / x)
        return x

    a = torch.tensor(7.0)
    return step, lambda s, i: s(a)


@program
def dict_batch_branch():
    class Model:
        def __init__(self):
            self.weights = {"a": torch.randn(6, 6), "b": torch.randn(6)}
            self.config = {"clip": 1.0, "use_bias": True}

        def __call__(self, batch):
            y = batch["x"] @ self.weights["a"]
            if self.config["use_bias"]:
                y = y + self.weights["b"]
            if y.abs().max() > self.config["clip"]:
                y = y / y.abs().max()
            return {"y": y, "n": batch["n"] + 1}

    m = Model()
    batch = {"x": torch.randn(4, 6), "n": torch.tensor(3)}

    def call(s, i):
        r = s(batch)
        return [r["y"], r["n"]]

    return m.__call__, call


class Kalman:
    def __init__(self):
        self.F = torch.tensor([[1.0, 0.1], [0, 1]])
        self.H = torch.tensor([[1.0, 0]])
        self.Q, self.R = torch.eye(2) * 0.01, torch.eye(1) * 0.1
        self.x, self.P = torch.zeros(2), torch.eye(2)

    def update(self, z):
        x, P = self.F @ self.x, self.F @ self.P @ self.F.T + self.Q
        S = self.H @ P @ self.H.T + self.R
        K = P @ self.H.T / S
        self.x = x + K @ (z - self.H @ x)
        self.P = (torch.eye(2) - K @ self.H) @ P
        return self.x


@program
def kalman_object():
    k = Kalman()
    z = torch.tensor([0.3])
    return k.update, lambda s, i: s(z)


@program
def two_shapes():
    w = torch.randn(8, 8)
    xs = [torch.randn(3, 8), torch.randn(5, 8)]

    def step(x):
        return torch.relu(x @ w).sum(1)

    return step, lambda s, i: s(xs[i % 2])


@program
def three_instances():
    class Layer:
        def __init__(self):
            self.w, self.b = torch.randn(8, 8), torch.randn(8)

        def run(self, x):
            return torch.tanh(x @ self.w + self.b)

    ls = [Layer() for _ in range(3)]
    x = torch.randn(2, 8)

    def step(layer, x):
        return layer.run(x)

    def call(s, i):
        y = x
        for l in ls:
            y = s(l, y)
        return y

    return step, call


@program
def bool_masks():
    def step(x):
        mask = x > 0
        return x[mask].sum(), mask.sum()

    x = torch.randn(16)
    return step, lambda s, i: s(x)


@program
def lstm_cell_hidden_tuple():
    cell = nn.LSTMCell(4, 8)
    x, h, c = torch.randn(1, 4), torch.zeros(1, 8), torch.zeros(1, 8)

    def call(s, i):
        with torch.no_grad():
            hh, cc = s(x, (h, c))
        return [hh, cc]

    return cell.forward, call


@program
def item_branch():
    def step(x):
        if x.sum().item() > 1000:
            return x * 0
        return x / (x.abs().max() + 1)

    x = torch.randn(8)
    return step, lambda s, i: s(x)


@program
def numpy_like_stats():
    def stats(x):
        m = x.mean(0)
        c = (x - m).t() @ (x - m) / (x.shape[0] - 1)
        return m, c, torch.linalg.norm(c)

    x = torch.randn(10, 3)
    return stats, lambda s, i: s(x)
