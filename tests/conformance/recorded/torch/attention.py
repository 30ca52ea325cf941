"""A decoder-only transformer: optional masks, a key/value cache and a configuration object."""
import math
from dataclasses import dataclass
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    width: int = 16
    heads: int = 4
    layers: int = 2
    vocabulary: int = 50
    window: Optional[int] = None
    rotary: bool = True
    tie_weights: bool = False
    logit_cap: float = 0.0


def causal_mask(rows, columns, window=None):
    offset = columns - rows
    mask = torch.ones(rows, columns, dtype=torch.bool).tril(offset)
    if window is not None:
        mask = mask & ~torch.ones(rows, columns, dtype=torch.bool).tril(offset - window)
    return mask


def rotate(x, start=0):
    length, width = x.shape[-2:]
    if width % 2 != 0:
        raise ValueError(f"cannot rotate an odd width: {width}")
    steps = torch.arange(start, start + length)[:, None]
    rates = 10000 ** (-torch.arange(0, width, 2) / width)
    angle = steps * rates
    first, second = x[..., ::2], x[..., 1::2]
    return torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], -1)


def attend(query, key, value, mask=None, dropout=0.0):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
    weights = scores.softmax(-1)
    if dropout > 0:
        weights = F.dropout(weights, dropout)
    return weights @ value


class Attention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.heads
        self.window = config.window
        self.rotary = config.rotary
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width)

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x, cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None, use_cache=False):
        query, key, value = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        past = cache[0].size(-2) if cache is not None else 0
        if self.rotary:
            query, key = rotate(query, past), rotate(key, past)
        if cache is not None:
            key = torch.cat([cache[0], key], dim=-2)
            value = torch.cat([cache[1], value], dim=-2)
        length = query.size(-2)
        mask = causal_mask(length, past + length, self.window) if length > 1 or self.window else None
        y = attend(query, key, value, mask)
        y = self.out(y.transpose(1, 2).flatten(2))
        return (y, (key, value)) if use_cache else (y, None)


class Block(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        hidden = 4 * config.width
        self.mlp = nn.Sequential(nn.Linear(config.width, hidden), nn.GELU(), nn.Linear(hidden, config.width))

    def forward(self, x, cache=None, use_cache=False):
        y, cache = self.attention(self.norm1(x), cache, use_cache)
        x = x + y
        return x + self.mlp(self.norm2(x)), cache


class Decoder(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.head = None if config.tie_weights else nn.Linear(config.width, config.vocabulary)

    def logits(self, x):
        out = self.head(x) if self.head is not None else x @ self.embed.weight.T
        cap = self.config.logit_cap
        if cap:
            out = cap * torch.tanh(out / cap)
        return out

    def forward(self, tokens, caches=None, targets=None, use_cache=False):
        x = self.embed(tokens)
        grown = []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, caches[i] if caches else None, use_cache)
            if use_cache:
                grown.append(cache)
        logits = self.logits(x)
        if targets is None:
            return logits, grown
        keep = targets != -1
        if not keep.any():
            return logits.sum() * 0, grown
        return F.cross_entropy(logits[keep], targets[keep]), grown


def generate(model, tokens, limit, stop=None):
    caches, step = None, tokens
    for _ in range(limit):
        logits, caches = model(step, caches, use_cache=True)
        step = logits[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, step], dim=1)
        if stop is not None and (step == stop).all():
            break
    return tokens


def main():
    tokens = torch.randint(0, 50, (2, 6))
    targets = torch.randint(-1, 50, (2, 6))
    model = torch.compile(Decoder(Config()))
    print(model(tokens))
    print(model(tokens, targets=targets))
    print(model(tokens, use_cache=True))
    local = torch.compile(Decoder(Config(window=3, rotary=False, tie_weights=True, logit_cap=30.0)))
    print(local(tokens, targets=targets))
    decode = torch.compile(generate)
    print(decode(Decoder(Config()), tokens, 4))
    print(decode(Decoder(Config()), tokens, 4, stop=7))
    fused = torch.compile(attend, fullgraph=True)
    x = torch.randn(2, 4, 8)
    print(fused(x, x, x, torch.zeros(4, 4)))
    print(fused(x, x, x, dropout=0.1))


if __name__ == "__main__":
    main()
