"""Networks without a framework: parameters are nested dictionaries and lists."""
from dataclasses import dataclass
from functools import partial
from typing import Sequence

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Config:
    widths: Sequence[int] = (4, 8, 3)
    activation: str = "relu"
    dropout: float = 0.0
    residual: bool = False
    norm: bool = True
    tie: bool = False


def init_layer(key, inputs, outputs, bias=True):
    layer = {"w": jax.random.normal(key, (inputs, outputs)) / jnp.sqrt(inputs)}
    if bias:
        layer["b"] = jnp.zeros(outputs)
    return layer


def init(key, config):
    keys = jax.random.split(key, len(config.widths))
    layers = []
    for k, (a, b) in zip(keys, zip(config.widths, config.widths[1:])):
        last = len(layers) == len(config.widths) - 2
        layers.append(init_layer(k, a, b, bias=not last or not config.tie))
    return layers


def dense(layer, x):
    y = x @ layer["w"]
    if "b" in layer:
        y = y + layer["b"]
    return y


def drop(key, x, rate, training):
    if not training or rate == 0.0:
        return x
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0)


@partial(jax.jit, static_argnames=("config", "training"))
def apply(params, x, config, key=None, training=False):
    for i, layer in enumerate(params):
        y = dense(layer, x)
        if i == len(params) - 1:
            return y
        if config.norm:
            y = (y - y.mean(-1, keepdims=True)) / (y.std(-1, keepdims=True) + 1e-5)
        y = jax.nn.relu(y) if config.activation == "relu" else jax.nn.gelu(y)
        if key is not None:
            key, used = jax.random.split(key)
            y = drop(used, y, config.dropout, training)
        x = x + y if config.residual and x.shape == y.shape else y
    return x


@partial(jax.jit, static_argnames=("config", "reduction"))
def loss_fn(params, batch, config, reduction="mean", l2=None):
    logits = apply(params, batch["x"], config)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), batch["y"][:, None], axis=-1)[:, 0]
    if "mask" in batch:
        losses = losses * batch["mask"]
    loss = losses.mean() if reduction == "mean" else losses.sum()
    if l2 is not None:
        loss = loss + l2 * sum(jnp.sum(p ** 2) for p in jax.tree_util.tree_leaves(params))
    return loss


class Layer:
    """A stateless module object; `self` is static because the methods are wrapped per instance."""

    def __init__(self, width, use_bias=True, gate=None):
        self.width = width
        self.use_bias = use_bias
        self.gate = gate
        self.apply = jax.jit(self.forward)

    def forward(self, params, x, scale=None):
        y = x @ params["w"]
        if self.use_bias:
            y = y + params["b"]
        if self.gate == "glu":
            y, g = jnp.split(y, 2, axis=-1)
            y = y * jax.nn.sigmoid(g)
        if scale is not None:
            y = y * scale
        return y


@jax.jit
def batch_norm(params, state, x, training=True):
    if training:
        mean, variance = x.mean(0), x.var(0)
        state = {"mean": 0.9 * state["mean"] + 0.1 * mean, "var": 0.9 * state["var"] + 0.1 * variance}
    else:
        mean, variance = state["mean"], state["var"]
    y = (x - mean) / jnp.sqrt(variance + 1e-5)
    return params["scale"] * y + params["shift"], state


def count_parameters(params, trainable=None):
    total = 0
    for leaf in jax.tree_util.tree_leaves(params):
        if trainable is None or leaf.ndim in trainable:
            total += leaf.size
    return total


def healthy(params):
    for leaf in jax.tree_util.tree_leaves(params):
        if jnp.isnan(leaf).any():
            return False
    return True


def main():
    key = jax.random.PRNGKey(0)
    config = Config()
    wide = Config(widths=(4, 4, 3), activation="gelu", dropout=0.2, residual=True, norm=False, tie=True)
    x, y = jnp.ones((5, 4)), jnp.zeros(5, dtype=int)
    print(init(key, config))
    print(init(key, wide))
    params = init(key, config)
    print(apply(params, x, config))
    print(apply(init(key, wide), x, wide, key=key, training=True))
    print(loss_fn(params, {"x": x, "y": y}, config))
    print(loss_fn(params, {"x": x, "y": y, "mask": jnp.ones(5)}, config, reduction="sum", l2=0.1))
    linear = Layer(3)
    print(linear.apply({"w": jnp.ones((4, 3)), "b": jnp.zeros(3)}, x))
    gated = Layer(2, use_bias=False, gate="glu")
    print(gated.apply({"w": jnp.ones((4, 4))}, x, jnp.array(0.5)))
    print(count_parameters(params))
    print(count_parameters(params, trainable=(2,)))
    print(healthy(params))
    norm, state = {"scale": jnp.ones(4), "shift": jnp.zeros(4)}, {"mean": jnp.zeros(4), "var": jnp.ones(4)}
    print(batch_norm(norm, state, x))
    print(batch_norm(norm, state, x, training=False))


if __name__ == "__main__":
    main()
