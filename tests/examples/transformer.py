"""A transformer encoder in PyTorch: compiled for training, exported for serving."""
import math
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    width: int = 32
    heads: int = 4
    layers: int = 2
    experts: int = 0
    pre_norm: bool = True
    positions: str = "sine"


def sine_positions(length, width):
    steps = torch.arange(length)[:, None]
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    return torch.cat([torch.sin(steps * rates), torch.cos(steps * rates)], -1)


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x, padding: Optional[torch.Tensor] = None):
        batch, length, width = x.shape
        if width % self.heads != 0:
            raise ValueError(f"{width} is not a multiple of {self.heads}")
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, None], -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    """A plain MLP, or a soft mixture of several."""

    def __init__(self, config):
        super().__init__()
        count = max(1, config.experts)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(config.width, 64), nn.GELU(), nn.Linear(64, config.width)) for _ in range(count)]
        )
        self.gate = nn.Linear(config.width, count) if count > 1 else None

    def forward(self, x):
        if self.gate is None:
            return self.experts[0](x)
        weights = self.gate(x).softmax(-1)
        total = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            total = total + weights[..., i:i + 1] * expert(x)
        return total


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.pre_norm = config.pre_norm
        self.attention, self.feed = SelfAttention(config), FeedForward(config)
        self.norm1, self.norm2 = nn.LayerNorm(config.width), nn.LayerNorm(config.width)

    def forward(self, x, padding=None):
        if self.pre_norm:
            x = x + self.attention(self.norm1(x), padding)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attention(x, padding))
        return self.norm2(x + self.feed(x))


class Encoder(nn.Module):
    def __init__(self, config, vocabulary=50, classes=3):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.width, padding_idx=0)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.head = nn.Linear(config.width, classes)

    def forward(self, tokens, labels=None):
        padding = tokens == 0
        x = self.embedding(tokens)
        if self.config.positions == "sine":
            x = x + sine_positions(tokens.size(1), self.config.width)
        for block in self.blocks:
            x = block(x, padding)
        kept = (~padding).float()[..., None]
        logits = self.head((x * kept).sum(1) / kept.sum(1).clamp(min=1))
        return logits if labels is None else F.cross_entropy(logits, labels)


def main():
    torch.manual_seed(0)
    tokens, labels = torch.randint(1, 50, (8, 12)), torch.randint(0, 3, (8,))
    for config in (Config(), Config(experts=2, pre_norm=False, positions="none")):
        model = Encoder(config)
        step = torch.compile(model)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(5):
            optimiser.zero_grad()
            loss = step(tokens, labels)
            loss.backward()
            optimiser.step()
        print("loss", float(loss.detach()))
        print(len(torch.export.export(model.eval(), (tokens,)).graph.nodes))


if __name__ == "__main__":
    main()
