"""Optimisers as pairs of pure functions over pytrees."""
from functools import partial
from typing import Any, Callable, NamedTuple, Optional

import jax
import jax.numpy as jnp


class Optimiser(NamedTuple):
    init: Callable
    update: Callable


class Momentum(NamedTuple):
    velocity: Any
    step: Any = 0


def sgd(rate, momentum=0.0, nesterov=False, schedule=None):
    def init(params):
        if momentum == 0:
            return Momentum(None, jnp.array(0))
        return Momentum(jax.tree_util.tree_map(jnp.zeros_like, params), jnp.array(0))

    def update(grads, state, params):
        scale = rate if schedule is None else rate * schedule(state.step)
        velocity = state.velocity
        if velocity is not None:
            velocity = jax.tree_util.tree_map(lambda v, g: momentum * v + g, velocity, grads)
            grads = jax.tree_util.tree_map(lambda v, g: momentum * v + g, velocity, grads) if nesterov else velocity
        params = jax.tree_util.tree_map(lambda p, g: p - scale * g, params, grads)
        return params, Momentum(velocity, state.step + 1)

    return Optimiser(init, jax.jit(update))


def warmup_cosine(warmup, total):
    def schedule(step):
        rise = step / warmup if warmup else 1.0
        fall = (1 + jnp.cos(jnp.pi * step / total)) / 2
        return jnp.minimum(rise, fall)

    return schedule


def global_norm(tree):
    leaves = jax.tree_util.tree_leaves(tree)
    if not leaves:
        return jnp.zeros(())
    return jnp.sqrt(sum(jnp.sum(leaf ** 2) for leaf in leaves))


@jax.jit
def clip(grads, limit: Optional[float] = None):
    if limit is None:
        return grads
    scale = jnp.minimum(1.0, limit / (global_norm(grads) + 1e-9))
    return jax.tree_util.tree_map(lambda g: g * scale, grads)


@partial(jax.jit, static_argnames=("amsgrad", "decoupled"))
def adam(params, grads, state, rate=0.01, decay=0.0, amsgrad=False, decoupled=True):
    step = state["step"] + 1
    if not decoupled:
        grads = jax.tree_util.tree_map(lambda g, p: g + decay * p, grads, params)
    m = jax.tree_util.tree_map(lambda a, g: 0.9 * a + 0.1 * g, state["m"], grads)
    v = jax.tree_util.tree_map(lambda a, g: 0.999 * a + 0.001 * g * g, state["v"], grads)
    top = jax.tree_util.tree_map(jnp.maximum, state["top"], v) if amsgrad and "top" in state else v

    def move(p, a, b):
        p = p * (1 - rate * decay) if decoupled else p
        return p - rate * a / (jnp.sqrt(b) + 1e-8)

    return jax.tree_util.tree_map(move, params, m, top), {"m": m, "v": v, "top": top, "step": step}


@jax.jit
def scale_loss(grads, scale):
    finite = jnp.array(True)
    for leaf in jax.tree_util.tree_leaves(grads):
        finite = finite & jnp.isfinite(leaf).all()
    new = jnp.where(finite, scale, scale / 2)
    return jax.tree_util.tree_map(lambda g: jnp.where(finite, g / scale, 0), grads), new


@jax.jit
def skip_if_exploded(params, grads, limit=10.0):
    norm = global_norm(grads)
    if norm > limit:
        return params
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


@jax.jit
def backtrack(params, direction, rate=1.0):
    def loss(p):
        return jnp.sum((p - 1) ** 2)

    def worse(state):
        rate, tries = state
        return (loss(params - rate * direction) > loss(params)) & (tries < 10)

    rate, _ = jax.lax.while_loop(worse, lambda s: (s[0] / 2, s[1] + 1), (rate, 0))
    return params - rate * direction


def fit(loss, params, optimiser, limit=20, tolerance=None, patience=3):
    """The loop runs in Python, and the losses are concrete arrays."""
    state = optimiser.init(params)
    best, waited = jnp.inf, 0
    value_and_grad = jax.jit(jax.value_and_grad(loss))
    for step in range(limit):
        value, grads = value_and_grad(params)
        if jnp.isnan(value):
            raise FloatingPointError(f"step {step}")
        if tolerance is not None and global_norm(grads) < tolerance:
            break
        if value < best:
            best, waited = value, 0
        else:
            waited += 1
        if waited >= patience:
            break
        params, state = optimiser.update(grads, state, params)
    return params, best


def quadratic(params):
    return jnp.sum((params["a"] - 2) ** 2) + (params["b"] ** 2 if "b" in params else 0.0)


def wavy(params):
    return jnp.cos(3 * params["a"]).sum()


def main():
    params = {"a": jnp.ones(2), "b": jnp.array(3.0)}
    grads = jax.grad(quadratic)(params)
    plain = sgd(0.1)
    heavy = sgd(0.1, momentum=0.9, nesterov=True, schedule=warmup_cosine(3, 10))
    polyak = sgd(0.1, momentum=0.5, schedule=warmup_cosine(0, 10))
    print(plain.update(grads, plain.init(params), params))
    print(heavy.update(grads, heavy.init(params), params))
    print(polyak.update(grads, polyak.init(params), params))
    print(global_norm(grads))
    print(global_norm([]))
    print(clip(grads))
    print(clip(grads, 1.0))
    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    state = {"m": zeros, "v": zeros, "step": jnp.array(0)}
    print(adam(params, grads, state))
    print(adam(params, grads, {"top": zeros, **state}, amsgrad=True, decoupled=False))
    print(scale_loss(grads, jnp.array(2.0)))
    print(backtrack(jnp.zeros(2), jnp.ones(2)))
    print(fit(quadratic, params, plain))
    print(fit(quadratic, {"a": jnp.ones(2)}, heavy, limit=40, tolerance=0.1))
    print(fit(wavy, {"a": jnp.ones(2)}, sgd(0.9), tolerance=1e-9, patience=1))
    print(skip_if_exploded(params, grads))
    print(skip_if_exploded(params, grads, limit=0.5))


if __name__ == "__main__":
    main()
