"""W16: greedy decoding of a small transformer that keeps the keys and values of earlier tokens.

`cache` says how the keys and values are kept: in a tensor of the full length, in which attention masks the later
positions (`mask`) or reads a slice (`slice`), or in a tensor that grows by `torch.cat` (`cat`). The logit of the end
token grows with the step, so that decoding stops before the last step.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import Workload, single

LAYERS, HEADS = 2, 4
CONFIGURATIONS = [dict(D=D, V=1000, T=64, B=4, cache=cache) for D in (64, 256) for cache in ("mask", "slice", "cat")]


class Layer(nn.Module):
    def __init__(self, D):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.before, self.after = nn.LayerNorm(D), nn.LayerNorm(D)

    def split(self, x):
        """Returns the query, key and value of each head, of size [B, heads, 1, D / heads]."""
        B, D = x.shape
        return [part.view(B, HEADS, 1, D // HEADS) for part in self.qkv(self.before(x)).chunk(3, 1)]

    def attend(self, x, query, keys, values, bias):
        weights = query @ keys.transpose(2, 3) / math.sqrt(query.shape[-1]) + bias
        mixed = torch.softmax(weights, -1) @ values
        x = x + self.out(mixed.reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Decoder(nn.Module):
    def __init__(self, D, V, T):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, D), nn.Embedding(T, D)
        self.layers = nn.ModuleList([Layer(D) for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, V)


@torch.no_grad()
def decode_full(model, first, ramp, end, sliced: bool):
    """Decodes with caches of the full length."""
    (B,), T, D = first.shape, ramp.shape[0], model.head.in_features
    keys = [torch.zeros(B, HEADS, T, D // HEADS) for _ in model.layers]
    values = [torch.zeros(B, HEADS, T, D // HEADS) for _ in model.layers]
    places = torch.arange(T)
    token, tokens = first, torch.zeros(B, T, dtype=torch.int64)
    done = torch.zeros(B, dtype=torch.bool)
    t = 0
    while t < T and not done.all():
        x = model.tokens(token) + model.positions.weight[t]
        for i, layer in enumerate(model.layers):
            query, key, value = layer.split(x)
            keys[i][:, :, t : t + 1] = key
            values[i][:, :, t : t + 1] = value
            if sliced:
                x = layer.attend(x, query, keys[i][:, :, : t + 1], values[i][:, :, : t + 1], 0.0)
            else:
                x = layer.attend(x, query, keys[i], values[i], torch.where(places <= t, 0.0, -math.inf))
        token = (model.head(model.norm(x)) + ramp[t] * end).argmax(1)
        token = torch.where(done, 0, token)
        tokens[:, t] = token
        done = done | (token == 0)
        t += 1
    return tokens, t


@torch.no_grad()
def decode_growing(model, first, ramp, end):
    """Decodes with caches that grow."""
    (B,), T, D = first.shape, ramp.shape[0], model.head.in_features
    keys = [torch.zeros(B, HEADS, 0, D // HEADS) for _ in model.layers]
    values = [torch.zeros(B, HEADS, 0, D // HEADS) for _ in model.layers]
    token, tokens = first, torch.zeros(B, T, dtype=torch.int64)
    done = torch.zeros(B, dtype=torch.bool)
    t = 0
    while t < T and not done.all():
        x = model.tokens(token) + model.positions.weight[t]
        for i, layer in enumerate(model.layers):
            query, key, value = layer.split(x)
            keys[i] = torch.cat([keys[i], key], 2)
            values[i] = torch.cat([values[i], value], 2)
            x = layer.attend(x, query, keys[i], values[i], 0.0)
        token = (model.head(model.norm(x)) + ramp[t] * end).argmax(1)
        token = torch.where(done, 0, token)
        tokens[:, t] = token
        done = done | (token == 0)
        t += 1
    return tokens, t


def workload(D, V, T, B, cache):
    rng = np.random.RandomState(0)
    torch.manual_seed(0)
    model = Decoder(D, V, T)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            scale = 0.5 if name.endswith(("qkv.weight", "out.weight", "down.weight")) else D**-0.5
            parameter.data = single(rng.randn(*parameter.shape) * scale)
    first = torch.from_numpy(rng.randint(1, V, B))
    end = torch.zeros(V)
    end[0] = 1
    ramp = single(8.0 * (np.arange(T) - 0.5 * T) / T)
    if cache == "cat":
        return Workload(decode_growing, (model, first, ramp, end))
    return Workload(decode_full, (model, first, ramp, end, cache == "slice"))
