"""Optimisers, filters, samplers and schedules as small programs; equinox modules and optax updates."""
import dataclasses
import functools
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

Schedule = Union[float, Callable[[Array], Array]]


class Dense(eqx.Module):
    weight: Array
    bias: Optional[Array]
    activation: Callable = eqx.field(static=True)
    scale: float = eqx.field(static=True, default=1.0)

    def __init__(self, key, inputs, outputs, bias=True, activation=jax.nn.relu):
        self.weight = jax.random.normal(key, (outputs, inputs))
        self.bias = jnp.zeros(outputs) if bias else None
        self.activation = activation

    def __call__(self, x, *, inference: bool = False):
        y = self.weight @ x
        if self.bias is not None:
            y = y + self.bias
        if self.scale != 1.0 and not inference:
            y = y * self.scale
        return self.activation(y) if self.activation is not None else y


class Network(eqx.Module):
    layers: list
    skip: bool = eqx.field(static=True, default=False)

    def __call__(self, x):
        for k, layer in enumerate(self.layers):
            y = layer(x)
            x = x + y if self.skip and y.shape == x.shape else y
            if k + 1 == len(self.layers):
                return x
        return x


@eqx.filter_jit
def network_loss(model, x, y, penalty: Optional[float] = None):
    predictions = jax.vmap(model)(x)
    loss = jnp.mean((predictions - y) ** 2)
    if penalty is not None and penalty > 0:
        leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array))
        loss = loss + penalty * sum(jnp.sum(leaf**2) for leaf in leaves if leaf.ndim > 1)
    return loss


def learn(model, data: Sequence[Tuple[Array, Array]], steps: int = 2, clip: Optional[float] = None):
    chain = [optax.sgd(0.1)]
    if clip is not None:
        chain.insert(0, optax.clip_by_global_norm(clip))
    optimiser = optax.chain(*chain)
    state = optimiser.init(eqx.filter(model, eqx.is_array))
    history = []
    for step in range(steps):
        x, y = data[step % len(data)]
        loss, gradients = eqx.filter_value_and_grad(network_loss)(model, x, y)
        updates, state = optimiser.update(gradients, state)
        model = eqx.apply_updates(model, updates)
        if history and loss > 10 * history[0]:
            raise ArithmeticError("diverged")
        history.append(loss)
    return model, history[-1] if history else None


class Kalman(NamedTuple):
    mean: Array
    variance: Array
    gain: Optional[Array] = None


@functools.partial(jax.jit, static_argnames=("smooth",))
def kalman(observations, noise=0.1, smooth: bool = False):
    def step(state, observation):
        gain = state.variance / (state.variance + noise)
        mean = state.mean + gain * (observation - state.mean)
        new = Kalman(mean, (1 - gain) * state.variance + 0.01)
        return new, new.mean

    start = Kalman(observations[0], jnp.array(1.0))
    final, means = lax.scan(step, start, observations)
    if smooth and means.shape[0] > 2:
        means = jnp.convolve(means, jnp.ones(3) / 3, mode="same")
    return final if final.gain is not None else means


@dataclasses.dataclass(frozen=True)
class Annealing:
    start: float = 1.0
    floor: Optional[float] = None
    kind: str = "cosine"

    def __call__(self, step, total):
        fraction = step / total
        if self.kind == "cosine":
            value = self.start * (1 + jnp.cos(jnp.pi * fraction)) / 2
        elif self.kind == "linear":
            value = self.start * (1 - fraction)
        else:
            raise ValueError(self.kind)
        return value if self.floor is None else jnp.maximum(value, self.floor)


@functools.partial(jax.jit, static_argnums=(0, 2))
def anneal(schedule, key, steps=4):
    def body(k, state):
        x, key = state
        key, used = jax.random.split(key)
        proposal = x + jax.random.normal(used)
        accept = jnp.abs(proposal) < jnp.abs(x) + schedule(k, steps)
        return jnp.where(accept, proposal, x), key

    x, _ = lax.fori_loop(0, steps, body, (jnp.array(3.0), key))
    if isinstance(schedule, Annealing) and schedule.floor:
        x = x - schedule.floor
    return x


def rate_at(schedule: Schedule, step):
    if callable(schedule):
        return schedule(step)
    return schedule


@jax.jit
def decayed(x, step):
    rate = rate_at(lambda s: 0.9**s, step)
    fixed = rate_at(0.5, step)
    scale = rate if jnp.ndim(rate) == 0 else rate[0]
    if fixed > 0.1:
        scale = scale * fixed
    return x * scale


def golden(f, low, high, tolerance=1e-1):
    ratio = (5**0.5 - 1) / 2
    while high - low > tolerance:
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if f(a) < f(b):
            high = b
        else:
            low = a
    return (low + high) / 2


def multistart(f, starts, low=-2.0, high=2.0):
    best, value = None, None
    for start in starts:
        x = golden(f, start + low, start + high)
        current = f(x)
        if best is None or current < value:
            best, value = x, current
    return best


@jax.jit
def normalise(tree: Dict[str, Any], eps: float = 1e-6):
    result = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            result[name] = {k: v / (jnp.abs(v).max() + eps) for k, v in value.items() if not k.startswith("_")}
        elif value.ndim == 0:
            result[name] = value
        else:
            norm = jnp.linalg.norm(value)
            result[name] = value / jnp.where(norm > eps, norm, 1.0)
    assert result, "nothing to normalise"
    return result


def segments(flags, minimum=1):
    start, found = None, []
    for k, flag in enumerate(flags):
        if flag and start is None:
            start = k
        elif not flag and start is not None:
            if k - start >= minimum:
                found.append((start, k))
            start = None
    return found if start is None else found + [(start, len(flags))]


def main():
    key = jax.random.PRNGKey(0)
    x, y = jnp.ones((4, 2)), jnp.ones((4, 1))
    model = Network([Dense(key, 2, 2), Dense(key, 2, 1, bias=False, activation=None)], skip=True)
    network_loss(model, x, y)
    network_loss(model, x, y, penalty=0.1)
    learn(model, [(x, y)])
    learn(Network([Dense(key, 2, 1)]), [(x, y), (x, y)], steps=3, clip=0.5)
    kalman(jnp.array([1.0, 1.2, 0.9]))
    kalman(jnp.array([1.0, 1.2, 0.9]), smooth=True)
    anneal(Annealing(), key)
    anneal(Annealing(floor=0.1, kind="linear"), key, 2)
    decayed(jnp.ones(2), jnp.array(3))
    multistart(lambda v: (v - 1.0) ** 2, [jnp.array(0.0), jnp.array(2.0)])
    normalise({"w": jnp.ones(3), "inner": {"a": jnp.ones(2), "_b": jnp.ones(1)}, "s": jnp.array(2.0)})
    segments(jnp.array([1.0, 2.0, 0.0, 3.0]) > 0.5)
    segments([True, False], minimum=2)


if __name__ == "__main__":
    main()
