"""Structured control flow, transformations, static arguments and host loops around jitted steps."""
import enum
import functools
import itertools
import operator
from collections import namedtuple
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DEBUG = False
LIMITS = np.array([0.5, 1.5])
Bracket = namedtuple("Bracket", "low high value")


class Solver(enum.Enum):
    EULER = 1
    HEUN = 2


class Settings(NamedTuple):
    solver: Solver = Solver.EULER
    steps: int = 4
    adaptive: bool = False


def derivative(t, y, damping=0.0):
    if damping:
        return -y - damping * t
    return -y


@functools.partial(jax.jit, static_argnums=1)
def integrate(y, settings=Settings()):
    h = 1.0 / settings.steps

    def advance(carry, t):
        y = carry
        slope = derivative(t, y)
        if settings.solver is Solver.HEUN:
            slope = (slope + derivative(t + h, y + h * slope, damping=0.1)) / 2
        new = y + h * slope
        if settings.adaptive:
            new = lax.cond(jnp.abs(new - y).max() > 0.1, lambda: (new + y) / 2, lambda: new)
        return new, new

    y, path = lax.scan(advance, y, jnp.arange(settings.steps) * h)
    return (y, path) if settings.steps > 2 else (y, None)


@functools.partial(jax.jit, static_argnames=("maximum",))
def newton(x0, maximum=10, tolerance=1e-4):
    def unfinished(state):
        x, k, error = state
        return (error > tolerance) & (k < maximum)

    def body(state):
        x, k, _ = state
        step = (x * x - 2) / (2 * x)
        return x - step, k + 1, jnp.abs(step)

    if maximum == 0:
        return x0
    x, k, error = lax.while_loop(unfinished, body, (x0, 0, jnp.inf))
    if DEBUG and k > 5:
        jax.debug.print("slow {}", k)
    return x


def bisect(f, low, high, rounds=5):
    bracket = Bracket(low, high, f(low))
    for _ in range(rounds):
        middle = (bracket.low + bracket.high) / 2
        value = f(middle)
        if value == 0:
            return middle
        if (value > 0) == (bracket.value > 0):
            bracket = bracket._replace(low=middle, value=value)
        else:
            bracket = bracket._replace(high=middle)
    return bracket.low


def tree_norm(tree, order=2):
    leaves = jax.tree_util.tree_leaves(tree)
    if not leaves:
        return 0.0
    if order == np.inf:
        return functools.reduce(jnp.maximum, [jnp.abs(leaf).max() for leaf in leaves])
    total = sum(jnp.sum(jnp.abs(leaf) ** order) for leaf in leaves)
    return total ** (1 / order) if order != 1 else total


@jax.jit
def clip_tree(tree, limit):
    norm = tree_norm(tree)
    scale = jnp.where(norm > limit, limit / norm, 1.0)
    clipped = {}
    for name, leaf in tree.items():
        if leaf.dtype == jnp.int32 or name.endswith("_frozen"):
            clipped[name] = leaf
            continue
        clipped[name] = leaf * scale if leaf.ndim else leaf
    return clipped


@functools.partial(jax.vmap, in_axes=(0, None, None))
def per_row(row, weight, mode):
    if mode == "dot":
        return row @ weight
    if mode is None and row.shape == weight.shape:
        return (row - weight).sum()
    return row.sum()


def make_update(rate, momentum=None):
    @jax.jit
    def update(params, gradients, velocity):
        if momentum is not None:
            velocity = [momentum * v + g for v, g in zip(velocity, gradients)]
        else:
            velocity = gradients
        new = [p - rate * v for p, v in zip(params, velocity) if v is not None]
        if len(new) != len(params):
            raise ValueError("lengths differ")
        return new, velocity

    return update


def minimise(loss, params, update, steps=3, tolerance=1e-6):
    value_and_grad = jax.jit(jax.value_and_grad(loss))
    velocity = [jnp.zeros_like(p) for p in params]
    previous = None
    for step in itertools.count():
        value, gradients = value_and_grad(params)
        params, velocity = update(params, gradients, velocity)
        if previous is not None and abs(previous - value) < tolerance:
            break
        if step + 1 >= steps or bool(value < 1e-3):
            break
        previous = value
    return params


@jax.jit
def bucket(x, limits=None):
    if limits is None:
        limits = LIMITS
    index = 0
    for limit in limits:
        index = index + (x > limit)
    if limits.size > 1 and limits[0] < limits[1]:
        index = index * 1
    return index


@jax.jit
def masked_mean(x, mask=None, axis=None, keepdims=False):
    if mask is None:
        mask = jnp.ones(x.shape, bool)
    elif mask.shape != x.shape:
        mask = jnp.broadcast_to(mask, x.shape)
    count = mask.sum(axis)
    total = jnp.where(mask, x, 0).sum(axis)
    assert total.shape == count.shape
    mean = total / jnp.maximum(count, 1)
    return mean if axis is None or not keepdims else jnp.expand_dims(mean, axis)


@functools.partial(jax.grad, has_aux=True)
def huber_grad(w, x, delta=1.0):
    error = w * x - 1.0
    if abs(error) <= delta:
        loss = 0.5 * error**2
    else:
        loss = delta * (abs(error) - 0.5 * delta)
    return loss, {"inside": error, "delta": delta if delta != 1.0 else None}


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def clipped_identity(x, limit):
    return x


def clipped_forward(x, limit):
    return x, x if limit > 1 else None


def clipped_backward(limit, residual, gradient):
    if residual is not None:
        gradient = jnp.where(jnp.abs(residual) > limit, 0.0, gradient)
    return (jnp.clip(gradient, -limit, limit),)


clipped_identity.defvjp(clipped_forward, clipped_backward)


def sample(key, logits, temperature=1.0, top=None, *, forbidden=()):
    if temperature == 0:
        return logits.argmax()
    if top is not None and top < logits.shape[-1]:
        threshold = jnp.sort(logits)[-top]
        logits = jnp.where(logits < threshold, -jnp.inf, logits)
    for token in forbidden:
        logits = logits.at[token].set(-jnp.inf)
    return jax.random.categorical(key, logits / temperature)


def generate(key, logits_of, start, length=3, end=None, **options):
    tokens = [start]
    while len(tokens) <= length:
        key, used = jax.random.split(key)
        token = sample(used, logits_of(tokens[-1]), **options)
        if end is not None and token == end:
            break
        if int(token) in tokens and options.get("unique", False):
            continue
        tokens.append(token)
    return tokens if len(tokens) > 1 else None


def main():
    integrate(jnp.ones(2))
    integrate(jnp.ones(2), Settings(Solver.HEUN, steps=2, adaptive=True))
    newton(1.0)
    newton(jnp.array(3.0), maximum=0)
    bisect(lambda x: x * x - 2, jnp.array(0.0), jnp.array(2.0))
    tree_norm({"a": jnp.ones(2)})
    tree_norm([jnp.ones(2)], order=np.inf)
    tree_norm([])
    clip_tree({"w": jnp.ones(2), "n": jnp.array(1), "b_frozen": jnp.ones(2), "s": jnp.array(1.0)}, 0.5)
    per_row(jnp.ones((2, 3)), jnp.ones(3), "dot")
    per_row(jnp.ones((2, 3)), jnp.ones(3), None)
    quadratic = lambda params: sum((p**2).sum() for p in params)
    minimise(quadratic, [jnp.ones(2), jnp.array(1.0)], make_update(0.1))
    minimise(quadratic, [jnp.ones(2)], make_update(0.5, momentum=0.9), steps=10)
    bucket(jnp.array(1.0))
    masked_mean(jnp.ones((2, 3)))
    masked_mean(jnp.ones((2, 3)), jnp.array([True, False, True]))
    huber_grad(2.0, 3.0)
    huber_grad(1.0, jnp.array(1.5), delta=0.25)
    jax.grad(lambda x: clipped_identity(x, 2.0))(1.0)
    jax.grad(lambda x: clipped_identity(x, 0.5))(1.0)
    key = jax.random.PRNGKey(0)
    generate(key, lambda token: jnp.arange(4.0), 0)
    generate(key, lambda token: jnp.arange(4.0), 0, temperature=0, end=3)
    generate(key, lambda token: jnp.arange(4.0), 0, top=2, forbidden=(1, 2))


if __name__ == "__main__":
    main()
