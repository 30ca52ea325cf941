"""Loops that Python unrolls, and loops of `jax.lax`, which call their bodies with tracers."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


@partial(jax.jit, static_argnames=("steps", "unrolled"))
def cumulative(x, steps=3, unrolled=True):
    total = jnp.zeros_like(x[0])
    if unrolled:
        for i in range(steps):
            total = total + x[i]
        return total
    return lax.fori_loop(0, steps, lambda i, acc: acc + x[i], total)


@jax.jit
def collatz(n):
    def unfinished(state):
        value, _ = state
        return value != 1

    def advance(state):
        value, count = state
        return jnp.where(value % 2 == 0, value // 2, 3 * value + 1), count + 1

    return lax.while_loop(unfinished, advance, (n, 0))[1]


def collatz_in_python(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def make_step(decay=None, reset=False):
    def step(carry, x):
        if decay is not None:
            carry = decay * carry
        carry = carry + x
        out = carry if not reset else jnp.where(carry > 1, 0.0, carry)
        return out, out

    return step


@jax.jit
def smooth(xs):
    return lax.scan(make_step(decay=0.9), jnp.zeros(()), xs)[1]


@jax.jit
def saturate(xs):
    return lax.scan(make_step(reset=True), jnp.zeros(()), xs)[1]


@jax.jit
def running_maximum(xs, reverse=None):
    def body(i, state):
        best, out = state
        best = jnp.maximum(best, xs[i])
        return best, out.at[i].set(best)

    if reverse is not None:
        xs = xs[::-1]
    return lax.fori_loop(0, len(xs), body, (xs[0], jnp.zeros_like(xs)))[1]


@jax.jit
def matrix_product(matrices, skip=()):
    product = jnp.eye(matrices[0].shape[0])
    for i, matrix in enumerate(matrices):
        if i in skip:
            continue
        product = product @ matrix
    return product


@jax.jit
def polynomial(coefficients, x):
    total = jnp.zeros_like(x)
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@partial(jax.jit, static_argnums=(0, 2))
def iterate(f, x, count):
    history = [x]
    for _ in range(count):
        x = f(x)
        history.append(x)
    assert len(history) == count + 1
    return jnp.stack(history) if count > 0 else x[None]


@jax.jit
def stop_when_small(x):
    for _ in range(10):
        x = x / 2
        if jnp.abs(x).max() < 0.1:
            break
    return x


@jax.jit
def halve(x, limit=8):
    while limit > 1:
        x = x / 2
        limit = limit // 2
    return x


def bubble(x, rounds=None):
    """Swaps neighbours until nothing moves; written for concrete arrays."""
    done, used = False, 0
    while not done and (rounds is None or used < rounds):
        done = True
        for i in range(len(x) - 1):
            if x[i] > x[i + 1]:
                x = x.at[i].set(x[i + 1]).at[i + 1].set(x[i])
                done = False
        used += 1
    return x


def main():
    xs = jnp.array([3.0, 1.0, 2.0])
    print(cumulative(xs))
    print(cumulative(xs, unrolled=False))
    print(collatz(jnp.array(6)))
    print(collatz_in_python(jnp.array(6)))
    print(smooth(xs))
    print(saturate(xs))
    print(running_maximum(xs))
    print(running_maximum(xs, reverse=True))
    print(matrix_product([jnp.eye(2), jnp.ones((2, 2))]))
    print(matrix_product([jnp.eye(2), jnp.ones((2, 2))], skip=()))
    print(polynomial([1.0, 2.0, 3.0], xs))
    print(polynomial(jnp.array([1.0, 2.0]), xs))
    print(iterate(jnp.sin, xs, 3))
    print(iterate(jnp.sin, xs, 0))
    print(bubble(xs))
    print(bubble(xs, rounds=1))
    print(stop_when_small(xs))
    print(halve(xs))


if __name__ == "__main__":
    main()
