"""Building blocks of a residual network: flags fixed at construction, and conditions on activations."""
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6, affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width)) if affine else None

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.weight is not None:
            y = y * self.weight
        return y


class FeedForward(nn.Module):
    def __init__(self, width, hidden, activation="relu", dropout=0.0):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x, scale=None):
        h = self.up(x)
        if self.activation == "relu":
            h = F.relu(h)
        elif self.activation == "gelu":
            h = F.gelu(h)
        else:
            raise ValueError(self.activation)
        if self.training and self.dropout > 0:
            h = F.dropout(h, self.dropout)
        h = self.down(h)
        return h * scale if scale is not None else h


class Residual(nn.Module):
    def __init__(self, inner, width, pre_norm=True):
        super().__init__()
        self.inner = inner
        self.norm = RMSNorm(width)
        self.pre_norm = pre_norm

    def forward(self, x):
        y = self.inner(self.norm(x)) if self.pre_norm else self.norm(self.inner(x))
        if y.isnan().any():
            return x
        return x + y


class StochasticDepth(nn.Module):
    def __init__(self, blocks, keep=0.8):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.keep = keep

    def forward(self, x, return_all=False):
        states = []
        for index, block in enumerate(self.blocks):
            if self.training and torch.rand(()) > self.keep:
                continue
            x = block(x)
            if return_all and index % 2 == 0:
                states.append(x)
        return (x, states) if return_all else x


class EarlyExit(nn.Module):
    """Stops after the first exit head whose confidence exceeds the threshold."""

    def __init__(self, width, classes, depth, threshold=0.9):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.heads = nn.ModuleList([nn.Linear(width, classes) for _ in range(depth)])
        self.threshold = threshold

    def forward(self, x):
        logits = None
        for block, head in zip(self.blocks, self.heads):
            x = torch.tanh(block(x))
            logits = head(x)
            sure = logits.softmax(-1).amax(-1).min() > self.threshold
            if not self.training and sure:
                break
        assert logits is not None
        return logits


class AdaptiveSteps(nn.Module):
    def __init__(self, width, max_steps=6):
        super().__init__()
        self.cell = nn.GRUCell(width, width)
        self.halt = nn.Linear(width, 1)
        self.max_steps = max_steps

    def forward(self, x):
        state = torch.zeros_like(x)
        mass = torch.zeros(x.shape[0])
        steps = 0
        while steps < self.max_steps and (mass < 1).any():
            state = self.cell(x, state)
            mass = mass + torch.sigmoid(self.halt(state)).squeeze(-1)
            steps += 1
        if steps == self.max_steps and not (mass < 1).all():
            state = state / mass.clamp(min=1).unsqueeze(-1)
        return state, steps


class Router(nn.Module):
    def __init__(self, width, experts=3, noisy=False):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))
        self.noisy = noisy

    def forward(self, x):
        scores = self.gate(x)
        if self.noisy and self.training:
            scores = scores + torch.randn_like(scores)
        choice = scores.argmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            picked = choice == number
            if picked.any():
                out[picked] = expert(x[picked])
        return out


def main():
    x = torch.randn(4, 8)
    print(torch.compile(RMSNorm(8))(x))
    print(torch.compile(RMSNorm(8, affine=False))(x))
    feed = torch.compile(FeedForward(8, 16))
    print(feed(x))
    print(feed(x, torch.tensor(0.5)))
    print(torch.compile(FeedForward(8, 16, activation="gelu", dropout=0.1))(x))
    residual = torch.compile(Residual(FeedForward(8, 16), 8))
    print(residual(x))
    print(torch.compile(Residual(FeedForward(8, 16), 8, pre_norm=False))(x))
    deep = torch.compile(StochasticDepth([Residual(FeedForward(8, 16), 8) for _ in range(4)]))
    print(deep(x))
    print(deep(x, return_all=True))
    print(torch.compile(StochasticDepth([RMSNorm(8)]).eval())(x))
    early = torch.compile(EarlyExit(8, 3, depth=3, threshold=0.2).eval())
    print(early(x))
    print(torch.compile(EarlyExit(8, 3, depth=2))(x))
    print(torch.compile(AdaptiveSteps(8))(x))
    print(torch.compile(AdaptiveSteps(8, max_steps=1))(x))
    router = torch.compile(Router(8, noisy=True))
    print(router(x))


if __name__ == "__main__":
    main()
