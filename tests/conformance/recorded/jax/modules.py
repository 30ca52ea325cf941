"""Neural modules of flax (linen and nnx) and plain pytree classes, with their training steps."""
import dataclasses
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax, tree_util


class MLP(nn.Module):
    features: Sequence[int]
    dropout: float = 0.0
    activation: Callable = nn.relu
    final_bias: bool = True

    @nn.compact
    def __call__(self, x, train: bool = False, mask: Optional[jax.Array] = None):
        for i, width in enumerate(self.features):
            last = i == len(self.features) - 1
            x = nn.Dense(width, use_bias=self.final_bias or not last, name=f"dense_{i}")(x)
            if not last:
                x = self.activation(x)
                if self.dropout > 0 and train:
                    x = nn.Dropout(self.dropout, deterministic=not train)(x)
        if mask is not None:
            x = jnp.where(mask[:, None], x, 0)
        if x.ndim > 2:
            x = x.reshape(x.shape[0], -1)
        return x


class Normalizer(nn.Module):
    momentum: float = 0.9
    axis: Optional[int] = None

    def setup(self):
        self.mean = self.variable("stats", "mean", lambda: jnp.zeros(()))
        self.scale = self.param("scale", nn.initializers.ones, ()) if self.axis is None else None

    def __call__(self, x, train=False):
        if train and not self.is_initializing():
            mean = x.mean(self.axis)
            if self.axis is None:
                self.mean.value = self.momentum * self.mean.value + (1 - self.momentum) * mean
        else:
            mean = self.mean.value
        y = x - mean
        return y * self.scale if self.scale is not None else y


class Gated(nnx.Module):
    def __init__(self, width: int, *, gate: bool = True, rngs: nnx.Rngs):
        self.linear = nnx.Linear(width, width, rngs=rngs)
        self.gate = nnx.Linear(width, width, rngs=rngs) if gate else None
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))
        self.width = width

    def __call__(self, x, residual=False):
        self.calls.value += 1
        y = self.linear(x)
        if self.gate is not None:
            y = y * nnx.sigmoid(self.gate(x))
        if residual and x.shape[-1] == self.width:
            y = y + x
        return self.dropout(y)


@nnx.jit
def nnx_loss(model, x, y):
    prediction = model(x)
    if prediction.shape != y.shape:
        y = jnp.broadcast_to(y, prediction.shape)
    loss = ((prediction - y) ** 2).mean()
    for kind in (nnx.Param,):
        state = nnx.state(model, kind)
        if jax.tree.leaves(state):
            loss = loss + 0.0
    return loss


@tree_util.register_pytree_node_class
@dataclasses.dataclass
class Affine:
    weight: jax.Array
    bias: Optional[jax.Array] = None
    clip: float = 0.0

    def tree_flatten(self):
        return (self.weight, self.bias), self.clip

    @classmethod
    def tree_unflatten(cls, clip, children):
        return cls(*children, clip=clip)

    def __call__(self, x):
        y = x @ self.weight
        if self.bias is not None:
            y = y + self.bias
        if self.clip:
            y = jnp.clip(y, -self.clip, self.clip)
        return y


@jax.jit
def affine_loss(model, x):
    y = model(x)
    if model.bias is None or y.shape[-1] == 1:
        return jnp.abs(y).sum()
    return (y**2).sum()


class TrainState(NamedTuple):
    params: Any
    momentum: Any
    step: jax.Array
    best: Optional[jax.Array] = None


@partial(jax.jit, static_argnums=(2, 3))
def train_step(state, batch, model, rate=0.1):
    x, y = batch["x"], batch.get("y")

    def loss_fn(params):
        prediction = model.apply({"params": params}, x)
        if y is None:
            return jnp.square(prediction).mean()
        return jnp.square(prediction - y).mean()

    loss, gradients = jax.value_and_grad(loss_fn)(state.params)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state.momentum, gradients)
    params = jax.tree.map(lambda p, m: p - rate * m, state.params, momentum)
    best = loss if state.best is None else jnp.minimum(loss, state.best)
    if rate > 0.5 and len(jax.tree.leaves(params)) > 1:
        params = jax.tree.map(lambda p: p * 0.99, params)
    return TrainState(params, momentum, state.step + 1, best), loss


def fit(model, batches, rate=0.1, patience=1):
    first = batches[0]
    params = model.init(jax.random.PRNGKey(0), first["x"])["params"]
    state = TrainState(params, jax.tree.map(jnp.zeros_like, params), jnp.array(0))
    losses = []
    for k, batch in enumerate(batches):
        state, loss = train_step(state, batch, model, rate)
        if not jnp.isfinite(loss):
            raise FloatingPointError(k)
        if losses and loss > min(losses) and patience <= 0:
            break
        losses.append(float(loss))
        patience -= 1 if len(losses) > 1 and losses[-1] > losses[-2] else 0
    return state, np.array(losses)


class Cell:
    """A recurrent cell whose parameters are a dictionary."""

    def __init__(self, width, kind="tanh", reset=False):
        self.width = width
        self.kind = kind
        self.reset = reset

    def init(self, key):
        a, b = jax.random.split(key)
        params = {"w": jax.random.normal(a, (self.width, self.width))}
        if self.kind == "gated":
            params["g"] = jax.random.normal(b, (self.width,))
        return params

    def __call__(self, params, carry, x):
        hidden, age = carry
        new = jnp.tanh(hidden @ params["w"] + x)
        if "g" in params:
            gate = jax.nn.sigmoid(params["g"] * x)
            new = gate * new + (1 - gate) * hidden
        if self.reset:
            new = jnp.where(age % 2 == 0, new, 0.0)
        return (new, age + 1), new

    def unroll(self, params, xs, start=None, last_only=False):
        if start is None:
            start = jnp.zeros(self.width)
        carry, outputs = lax.scan(partial(self, params), (start, 0), xs)
        return carry[0] if last_only else outputs


@partial(jax.jit, static_argnames=["cell", "last_only"])
def encode(cell, params, xs, last_only=True):
    encoded = cell.unroll(params, xs, last_only=last_only)
    if encoded.ndim == 1:
        return encoded / jnp.linalg.norm(encoded)
    if cell.kind == "gated" and cell.width > 1:
        encoded = encoded[::-1]
    return encoded


def main():
    key = jax.random.PRNGKey(0)
    x = jnp.ones((2, 3))
    mlp = MLP((4, 2), dropout=0.5)
    variables = mlp.init(key, x)
    mlp.apply(variables, x)
    mlp.apply(variables, x, train=True, mask=jnp.array([True, False]), rngs={"dropout": key})
    plain = MLP([3], final_bias=False)
    plain.init_with_output(key, jnp.ones((2, 2, 3)))
    normalizer = Normalizer()
    stats = normalizer.init(key, x)
    normalizer.apply(stats, x)
    normalizer.apply(stats, x, train=True, mutable=["stats"])
    Normalizer(axis=0).init_with_output(key, x, True)
    gated = Gated(3, rngs=nnx.Rngs(0))
    gated(x, residual=True)
    nnx_loss(gated, x, jnp.ones(3))
    Gated(3, gate=False, rngs=nnx.Rngs(1))(x)
    affine_loss(Affine(jnp.ones((3, 2))), x)
    affine_loss(Affine(jnp.ones((3, 2)), jnp.zeros(2), clip=1.0), x)
    fit(MLP((4, 1)), [{"x": x, "y": jnp.ones((2, 1))}, {"x": x}])
    fit(MLP((1,)), [{"x": x, "y": jnp.ones((2, 1))}] * 3, rate=0.9, patience=0)
    cell = Cell(2)
    encode(cell, cell.init(key), jnp.ones((3, 2)))
    gated_cell = Cell(2, kind="gated", reset=True)
    encode(gated_cell, gated_cell.init(key), jnp.ones((3, 2)), last_only=False)
    gated_cell.unroll(gated_cell.init(key), jnp.ones((3, 2)), start=jnp.ones(2))


if __name__ == "__main__":
    main()
