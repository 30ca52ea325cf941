"""An MLP and its optimiser in plain JAX: parameters are pytrees, every step is jitted."""
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Settings(NamedTuple):
    rate: float = 0.05
    momentum: float = 0.9
    clip: float = 1.0
    dropout: float = 0.1
    activation: str = "relu"
    nesterov: bool = False


class State(NamedTuple):
    params: list
    velocity: list
    step: jax.Array


def init(key, widths):
    params = []
    for k, inputs, outputs in zip(jax.random.split(key, len(widths)), widths, widths[1:]):
        params.append({"w": jax.random.normal(k, (inputs, outputs)) * inputs ** -0.5, "b": jnp.zeros(outputs)})
    return State(params, jax.tree_util.tree_map(jnp.zeros_like, params), jnp.zeros((), int))


def predict(params, x, settings, key=None):
    activate = jax.nn.relu if settings.activation == "relu" else jnp.tanh
    for i, layer in enumerate(params):
        x = x @ layer["w"] + layer["b"]
        if i == len(params) - 1:
            return x
        x = activate(x)
        if key is not None and settings.dropout > 0:
            key, used = jax.random.split(key)
            x = jnp.where(jax.random.bernoulli(used, 1 - settings.dropout, x.shape), x / (1 - settings.dropout), 0)
    return x


def loss_fn(params, batch, settings, key):
    x, labels = batch
    log = jax.nn.log_softmax(predict(params, x, settings, key))
    return -jnp.take_along_axis(log, labels[:, None], -1).mean()


def clip(gradients, limit):
    leaves = jax.tree_util.tree_leaves(gradients)
    norm = jnp.sqrt(sum(jnp.sum(leaf ** 2) for leaf in leaves))
    if norm > limit:
        gradients = jax.tree_util.tree_map(lambda g: g * limit / norm, gradients)
    return gradients


@partial(jax.jit, static_argnames="settings")
def update(state, batch, key, settings):
    loss, gradients = jax.value_and_grad(loss_fn)(state.params, batch, settings, key)
    if settings.clip > 0:
        gradients = clip(gradients, settings.clip)
    rate = settings.rate / (1 + 0.01 * state.step)
    velocity = jax.tree_util.tree_map(lambda v, g: settings.momentum * v + g, state.velocity, gradients)
    moved = velocity
    if settings.nesterov:
        moved = jax.tree_util.tree_map(lambda v, g: settings.momentum * v + g, velocity, gradients)
    params = jax.tree_util.tree_map(lambda p, m: p - rate * m, state.params, moved)
    return State(params, velocity, state.step + 1), loss


@partial(jax.jit, static_argnames="settings")
def accuracy(params, batch, settings):
    x, labels = batch
    return (predict(params, x, settings).argmax(-1) == labels).mean()


def train(key, batches, widths, settings, epochs=3):
    state = init(key, widths)
    for epoch in range(epochs):
        for batch in batches:
            key, used = jax.random.split(key)
            state, loss = update(state, batch, used, settings)
        if jnp.isnan(loss):
            raise FloatingPointError(f"epoch {epoch}")
    return state, loss


def main():
    key = jax.random.PRNGKey(0)
    centres = 2 * jax.random.normal(key, (4, 8))
    labels = jnp.arange(64) % 4
    x = centres[labels] + jax.random.normal(jax.random.PRNGKey(1), (64, 8))
    batches = [(x[i:i + 16], labels[i:i + 16]) for i in range(0, 64, 16)]
    settings = Settings(nesterov=True)
    state, loss = train(key, batches, (8, 16, 4), settings)
    print("loss", float(loss), "accuracy", float(accuracy(state.params, (x, labels), settings)))


if __name__ == "__main__":
    main()
