"""Small functions as users write them, for `small.py`: with a few dozen elements, and with state.

Each function returns a program and `call(program, number)`, which calls the eager or the staged program once and returns the
tensors to compare. State is created with the function, so that both variants have their own."""

import collections
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

#: name -> function
PROGRAMS = {}


def program(make):
    """Adds a program to `PROGRAMS`."""
    PROGRAMS[make.__name__] = make
    return make


def params(*shapes, grad=True):
    return [torch.randn(*s).mul_(0.3).requires_grad_(grad) for s in shapes]


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


@program
def mlp_train_step():
    """A 64-element MLP step: manual SGD, the function computes its gradients."""
    w1, b1, w2, b2 = params((8, 8), (8,), (8, 1), (1,))
    x, y = torch.randn(8, 8), torch.randn(8, 1)

    def step(x, y):
        loss = ((torch.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()
        grads = torch.autograd.grad(loss, [w1, b1, w2, b2])
        with torch.no_grad():
            for p, g in zip([w1, b1, w2, b2], grads):
                p -= 0.01 * g
        return loss

    return step, lambda s, i: s(x, y)


@program
def module_loss_backward_outside():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))

    def step(x, y):
        return F.cross_entropy(model(x), y)

    def call(s, i):
        loss = s(x, y)
        loss.backward()
        g = [p.grad for p in model.parameters()]
        for p in model.parameters():
            p.grad = None
        return [loss, *g]

    return step, call


def _optimizer(kind, layers, **kw):
    model = nn.Sequential(*(nn.Linear(6, 6) for _ in range(layers)))
    opt = kind(model.parameters(), **kw)
    x, y = torch.randn(4, 6), torch.randn(4, 6)

    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return step, lambda s, i: [s(x, y).detach()]


@program
def sgd_10_params():
    return _optimizer(torch.optim.SGD, 5, lr=0.01, momentum=0.9)


@program
def adam_20_params():
    return _optimizer(torch.optim.Adam, 10, lr=1e-3)


@program
def adamw_50_params():
    return _optimizer(torch.optim.AdamW, 25, lr=1e-3)


@program
def adam_step_only_20():
    ps = [nn.Parameter(torch.randn(5, 5)) for _ in range(20)]
    opt = torch.optim.Adam(ps, lr=1e-3)
    grads = [torch.randn(5, 5) for _ in ps]
    for p, g in zip(ps, grads):
        p.grad = g.clone()

    def step():
        opt.step()

    def call(s, i):
        s()
        return [p.detach() for p in ps]

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
def deep_module_grad_backward():
    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(n), nn.Linear(n, 2 * n), nn.Linear(2 * n, n)

        def forward(self, x):
            return x + self.down(F.gelu(self.up(self.norm(x))))

    model = nn.Sequential(*(Block(8) for _ in range(3)))
    x = torch.randn(2, 8)

    def call(s, i):
        y = s(x).square().mean()
        y.backward()
        g = [p.grad for p in model.parameters()]
        for p in model.parameters():
            p.grad = None
        return [y, *g]

    return model.forward, call


@program
def ema_update_params():
    a = [p.detach() for p in params(*[(4, 4)] * 10)]
    b = [p.detach() for p in params(*[(4, 4)] * 10)]

    @torch.no_grad()
    def step(decay):
        for x, y in zip(a, b):
            x.mul_(decay).add_(y, alpha=1 - decay)

    def call(s, i):
        s(0.99)
        return [x.clone() for x in a]

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


@program
def sgd_functional_returns():
    def step(state, x, y, lr):
        w, b = state
        w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
        loss = F.binary_cross_entropy_with_logits(x @ w + b, y)
        gw, gb = torch.autograd.grad(loss, (w, b))
        return (w.detach() - lr * gw, b.detach() - lr * gb), loss.detach()

    w, b = torch.randn(8), torch.zeros(())
    x, y = torch.randn(16, 8), torch.rand(16).round()

    def call(s, i):
        (w2, b2), l = s((w, b), x, y, 0.1)
        return [w2, b2, l]

    return step, call


@program
def dqn_td_update():
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    obs, nxt = torch.randn(8, 4), torch.randn(8, 4)
    act, rew, done = torch.randint(0, 2, (8,)), torch.randn(8), torch.zeros(8)

    def step(obs, act, rew, nxt, done):
        with torch.no_grad():
            q = rew + 0.99 * (1 - done) * target(nxt).max(1).values
        loss = F.smooth_l1_loss(net(obs).gather(1, act[:, None])[:, 0], q)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for p, t in zip(net.parameters(), target.parameters()):
                t.lerp_(p, 0.01)
        return loss.detach()

    return step, lambda s, i: s(obs, act, rew, nxt, done)


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
def train_eval_alternate():
    m = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    x = torch.randn(2, 8)

    def call(s, i):
        m.train(i % 2 == 0)
        with torch.no_grad():
            return s(x)

    return m.forward, call


@program
def grad_and_nograd_alternate():
    m = nn.Linear(8, 8)
    x = torch.randn(2, 8)

    def call(s, i):
        with torch.set_grad_enabled(i % 2 == 0):
            return s(x).detach()

    return m.forward, call


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
def lr_scheduler_step():
    ps = [nn.Parameter(torch.randn(4, 4)) for _ in range(4)]
    opt = torch.optim.SGD(ps, lr=0.1)
    for p in ps:
        p.grad = torch.ones(4, 4)

    def step():
        opt.step()

    def call(s, i):
        for g in opt.param_groups:
            g["lr"] = 0.1 / (1 + i % 50)
        s()
        return [p.detach().clone() for p in ps]

    return step, call


@program
def step_number_argument():
    def step(x, t):
        return x * math.cos(0.1 * t) + t

    x = torch.randn(8)
    ts = [torch.tensor(float(i)) for i in range(5)]
    return (lambda x, t: x * torch.cos(0.1 * t) + t), lambda s, i: s(x, ts[i % 5])


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


@program
def dropout_train():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    def call(s, i):
        torch.manual_seed(i)
        return s(x, y)

    return step, call


@program
def bn_module_backward():
    model = nn.Sequential(nn.Linear(8, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))

    def step(x, y):
        return F.cross_entropy(model(x), y)

    def call(s, i):
        l = s(x, y)
        l.backward()
        g = [p.grad for p in model.parameters()]
        for p in model.parameters():
            p.grad = None
        return [l, *g, *[b.clone() for b in model.buffers()]]

    return step, call
