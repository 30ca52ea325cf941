"""Branches under jax.jit: Python may test static arguments and configuration, but not traced values."""
from functools import partial
from typing import NamedTuple, Optional

import jax
import jax.numpy as jnp


@partial(jax.jit, static_argnames=["mode", "flip"])
def pad(x, amount=1, mode="zero", flip=False):
    if mode == "zero":
        y = jnp.concatenate([jnp.zeros(2), x * amount])
    elif mode == "edge":
        y = jnp.concatenate([jnp.full(2, x[0]), x * amount])
    else:
        raise ValueError(f"unknown mode {mode}")
    return y[::-1] if flip else y


@partial(jax.jit, static_argnums=(1,))
def power(x, exponent):
    if exponent < 0:
        return 1 / power(x, -exponent)
    result = jnp.ones_like(x)
    while exponent:
        if exponent % 2:
            result = result * x
        x, exponent = x * x, exponent // 2
    return result


@jax.jit
def masked_mean(x, mask=None, weights=None):
    if mask is None and weights is None:
        return x.mean()
    scale = jnp.ones_like(x) if weights is None else weights
    if mask is not None:
        scale = jnp.where(mask, scale, 0)
    return (x * scale).sum() / jnp.maximum(scale.sum(), 1e-6)


class Options(NamedTuple):
    clip: Optional[float] = None
    centre: bool = True
    order: int = 2


@partial(jax.jit, static_argnames="options")
def normalise(x, options=Options()):
    if options.centre:
        x = x - x.mean()
    size = jnp.abs(x).max() if options.order == 0 else jnp.linalg.norm(x, options.order)
    x = x / jnp.where(size > 0, size, 1.0)
    if options.clip is not None and options.clip > 0:
        x = jnp.clip(x, -options.clip, options.clip)
    return x


@jax.jit
def hinge(margin):
    if margin < 1:
        return 1 - margin
    return jnp.zeros_like(margin)


@jax.jit
def scaled(x, factor=2.0, repeat=1):
    if factor != 1.0:
        x = x * factor
    return x if repeat == 1 else x * repeat


def make_activation(name, leak=0.01):
    @jax.jit
    def activation(x):
        if name == "leaky":
            return jnp.where(x > 0, x, leak * x)
        return jax.nn.relu(x) if name == "relu" else jnp.tanh(x)

    return activation


def checked(x, low=None, high=None):
    """Runs outside of jit: the values are concrete."""
    assert jnp.isfinite(x).all(), "not finite"
    if low is not None and (x < low).any():
        x = jnp.maximum(x, low)
    if high is not None and not (x <= high).all():
        x = jnp.minimum(x, high)
    return x


@jax.jit
def staged_choice(x, threshold=0.5, invert=False):
    taken = x.mean() > threshold
    large, small = (lambda v: v * 2), (lambda v: v / 2)
    return jax.lax.cond(taken, large, small, x)


@jax.jit
def first_non_negative(values):
    for value in values:
        if value >= 0:
            return value
    return jnp.nan


def main():
    x = jnp.array([1.0, -2.0, 3.0])
    print(pad(x))
    print(pad(x, 2, mode="edge", flip=True))
    print(power(x, 5))
    print(power(x, -1))
    print(masked_mean(x))
    print(masked_mean(x, x > 0))
    print(masked_mean(x, weights=x))
    print(normalise(x))
    print(normalise(x, options=Options(clip=0.5, centre=False, order=0)))
    print(make_activation("leaky")(x))
    print(make_activation("relu")(x))
    print(make_activation("tanh")(x))
    print(checked(x))
    print(checked(x, low=0.0, high=2.0))
    print(staged_choice(x))
    print(scaled(x))
    print(scaled(x, 1.0, repeat=3))
    print(hinge(jnp.array(0.5)))
    print(hinge(jnp.array(1.5)))
    print(first_non_negative(x))
    print(first_non_negative(-jnp.ones(2)))


if __name__ == "__main__":
    main()
