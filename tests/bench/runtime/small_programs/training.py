"""Programs that compute gradients or change parameters: training steps, optimizers, losses."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from .registry import params, program


def gradients(model, loss):
    """Returns the gradients of the parameters of a model, computed outside the program, and removes them from it."""
    loss.backward()
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    return found


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
        return [loss, *gradients(model, loss)]

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
        return [y, *gradients(model, y)]

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
        return [l, *gradients(model, l), *[b.clone() for b in model.buffers()]]

    return step, call
