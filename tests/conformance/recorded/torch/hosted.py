"""Models and functions that use plain Python: configurations, registries, hooks, caches, properties."""
import enum
import functools
import math
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from typing import Callable, Dict, List, Optional, Tuple, Union

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

TINY = torch.finfo(torch.float32).tiny
DEVICE = torch.device("cpu")
REGISTRY: Dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}


class Norm(str, enum.Enum):
    LAYER = "layer"
    RMS = "rms"
    NONE = "none"


@dataclass
class ModelConfig:
    width: int = 8
    heads: int = 2
    norm: Norm = Norm.LAYER
    rotary: Optional[float] = None
    layers: List[str] = field(default_factory=lambda: ["attention", "mlp"])

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError("width must be divisible by heads")

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def register(name):
    def decorate(function):
        REGISTRY[name] = function
        return function

    return decorate


@register("clip")
def clip(x, low=-1.0, high=1.0):
    if low >= high:
        raise ValueError("empty interval")
    if x.min() < low or x.max() > high:
        x = x.clamp(low, high)
    return x


@register("whiten")
def whiten(x):
    spread = x.std()
    return x / spread if spread > TINY else x


@torch.compile
def apply_registered(x, names):
    for name in names:
        function = REGISTRY.get(name)
        if function is None:
            continue
        y = function(x)
        if y is not x and not torch.equal(x, y):
            x = y
    return x


class Attention(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.register_buffer("mask", torch.ones(16, 16).tril().bool(), persistent=False)
        if config.rotary is not None:
            rates = config.rotary ** -torch.arange(0, config.head_width, 2).float()
            self.register_buffer("rates", rates)
        else:
            self.rates = None
        self.cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None

    def forward(self, x, *, causal: bool = True, use_cache: bool = False):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=-1)
        if use_cache:
            if self.cache is not None:
                k = torch.cat([self.cache[0], k], 1)
                v = torch.cat([self.cache[1], v], 1)
            self.cache = (k, v)
        if self.rates is not None:
            angle = torch.arange(length)[:, None] * self.rates
            q = q * angle.cos().repeat(1, width // angle.shape[-1])
        scores = q @ k.transpose(1, 2) / math.sqrt(self.config.head_width)
        if causal and length > 1:
            scores = scores.masked_fill(~self.mask[:length, : k.size(1)], float("-inf"))
        if scores.isnan().any():
            raise RuntimeError("not a number")
        return scores.softmax(-1) @ v


class Block(nn.Module):
    norms = {Norm.LAYER: nn.LayerNorm, Norm.RMS: nn.RMSNorm}

    def __init__(self, config: ModelConfig):
        super().__init__()
        factory = self.norms.get(config.norm)
        self.norm = factory(config.width) if factory else nn.Identity()
        self.parts = nn.ModuleDict()
        for kind in config.layers:
            if kind == "attention":
                self.parts[kind] = Attention(config)
            elif kind == "mlp":
                self.parts[kind] = nn.Sequential(OrderedDict(up=nn.Linear(config.width, 16), act=nn.GELU(), down=nn.Linear(16, config.width)))
        self.gate = nn.Parameter(torch.ones(()))

    @property
    def gated(self):
        return self.gate.item() != 1.0

    def forward(self, x, **options):
        for kind, part in self.parts.items():
            y = self.norm(x)
            y = part(y, **options) if kind == "attention" else part(y)
            if self.gated:
                y = y * self.gate
            if self.training and y.requires_grad:
                y = F.dropout(y, 0.1)
            x = x + y
        return x


class Decoder(nn.Module):
    def __init__(self, config: ModelConfig, depth=2, shared=False):
        super().__init__()
        blocks = [Block(config)] * depth if shared else [Block(config) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        self.hooks: Dict[str, List[Callable]] = defaultdict(list)
        self.calls = 0

    def on(self, event, hook):
        self.hooks[event].append(hook)

    @torch.compile
    def forward(self, x, stop_below: Optional[float] = None, collect=False):
        self.calls += 1
        seen = []
        for index, block in enumerate(self.blocks):
            y = block(x, causal=index > 0)
            for hook in self.hooks["block"]:
                changed = hook(y)
                if changed is not None:
                    y = changed
            if stop_below is not None and (y - x).abs().mean() < stop_below:
                break
            x = y
            if collect:
                seen.append(x)
        if self.calls > 1 and seen:
            return seen[-1]
        return (x, seen) if collect else x


def halve_large(y):
    if y.norm() > 1.0:
        return y / 2
    return None


@torch.compile
def mixed_inputs(values: Union[torch.Tensor, np.ndarray, list]):
    if isinstance(values, np.ndarray):
        if values.ndim == 1:
            values = values[None]
        if values.sum() > 2:
            values = values / 2
        values = torch.from_numpy(values)
    elif not torch.is_tensor(values):
        values = torch.tensor(values)
    if values.is_floating_point() and values.dim() == 2:
        values = values.mean(0)
    if values.numel() and values.sum() > 0:
        return values
    return -values


@functools.lru_cache(maxsize=None)
def window(size, kind="hann"):
    if kind == "hann":
        return torch.hann_window(size)
    return torch.ones(size)


@torch.compile
def windowed(signal, sizes=(2, 4), kind="hann"):
    parts = []
    for size in sizes:
        if size > signal.shape[-1]:
            break
        part = (signal[:size] * window(size, kind)).sum()
        parts.append(part if part >= 0 else -part)
    assert parts, "the signal is too short"
    energies = {size: part for size, part in zip(sizes, parts) if size % 2 == 0}
    if len(energies) == len(parts) and max(parts) > 1:
        return torch.stack(parts) / max(parts)
    return torch.stack(parts)


@torch.compile(fullgraph=True)
def shaped(x, y=None, scale: float = 1.0):
    if x.ndim != 2 or x.shape[0] < 1:
        x = x.reshape(1, -1)
    if y is None:
        y = torch.zeros_like(x)
    if x.dtype != y.dtype:
        y = y.to(x.dtype)
    if x.shape != y.shape or scale == 0:
        return x
    if x.device.type == "cuda" and not x.is_contiguous():
        x = x.contiguous()
    return x + scale * y


def main():
    torch.manual_seed(0)
    config = ModelConfig()
    small = replace(config, norm=Norm.NONE, rotary=10.0, layers=["attention"])
    apply_registered(torch.randn(4), ["clip", "absent", "whiten"])
    apply_registered(torch.zeros(4), ("whiten",))
    Attention(config)(torch.randn(1, 3, 8))
    attention = Attention(small).eval()
    attention(torch.randn(1, 3, 8), use_cache=True, causal=False)
    attention(torch.randn(1, 1, 8), use_cache=True)
    Block(config)(torch.randn(1, 3, 8))
    Block(small)(torch.randn(1, 3, 8), causal=False)
    decoder = Decoder(config)
    decoder.on("block", halve_large)
    decoder(torch.randn(1, 3, 8))
    decoder(torch.randn(1, 3, 8), stop_below=10.0, collect=True)
    Decoder(replace(config, norm=Norm.RMS), depth=1, shared=True).eval()(torch.randn(1, 3, 8))
    mixed_inputs(np.ones(4, np.float32))
    mixed_inputs([[1.0, 2.0], [3.0, 4.0]])
    mixed_inputs(torch.tensor([1, 2]))
    windowed(torch.randn(8))
    windowed(torch.randn(3), kind="flat")
    shaped(torch.ones(4))
    shaped(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64), scale=0.5)


if __name__ == "__main__":
    main()
