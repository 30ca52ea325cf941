"""Equations and ordinary differential equations: fixed and adaptive steps."""
from functools import partial
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class Step(NamedTuple):
    time: jax.Array
    state: jax.Array
    size: jax.Array


TABLEAUX = {
    "euler": ([[]], [1.0]),
    "midpoint": ([[], [0.5]], [0.0, 1.0]),
    "rk4": ([[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
}


def runge_kutta(field, state, time, size, method="rk4"):
    rows, weights = TABLEAUX[method]
    slopes = []
    for row in rows:
        moved = state
        for coefficient, slope in zip(row, slopes):
            if coefficient != 0:
                moved = moved + size * coefficient * slope
        slopes.append(field(time, moved))
    for weight, slope in zip(weights, slopes):
        state = state + size * weight * slope if weight else state
    return state


@partial(jax.jit, static_argnames=("field", "steps", "method", "keep"))
def integrate(field, state, end=1.0, steps=4, method="rk4", keep=False):
    size = end / steps

    def body(carry, index):
        carry = runge_kutta(field, carry, index * size, size, method)
        return carry, carry if keep else None

    final, path = lax.scan(body, state, jnp.arange(steps))
    return path if keep else final


@partial(jax.jit, static_argnames=("field",))
def adaptive(field, state, end=1.0, tolerance=1e-3):
    def unfinished(step):
        return step.time < end

    def advance(step):
        size = jnp.minimum(step.size, end - step.time)
        coarse = runge_kutta(field, step.state, step.time, size, "euler")
        fine = runge_kutta(field, step.state, step.time, size, "midpoint")
        error = jnp.abs(fine - coarse).max()
        accepted = error <= tolerance
        grown = jnp.where(accepted, size * 1.5, size / 2)
        return Step(jnp.where(accepted, step.time + size, step.time), jnp.where(accepted, fine, step.state), grown)

    start = Step(jnp.zeros(()), state, jnp.array(0.1))
    return lax.while_loop(unfinished, advance, start).state


def adaptive_in_python(field, state, end=1.0, tolerance=1e-2, smallest=1e-3):
    time, size = 0.0, 0.25
    rejected = 0
    while time < end:
        coarse = runge_kutta(field, state, time, size, "euler")
        fine = runge_kutta(field, state, time, size, "midpoint")
        error = jnp.abs(fine - coarse).max()
        if error > tolerance and size > smallest:
            size, rejected = size / 2, rejected + 1
            continue
        time, state = time + size, fine
        if error < tolerance / 10:
            size = size * 2
    return state, rejected


@jax.jit
def newton(x, target):
    def residual(v):
        return v ** 3 + v - target

    for _ in range(5):
        x = x - residual(x) / jax.grad(residual)(x)
    return x


def newton_in_python(f: Callable, x, tolerance=1e-6, limit=20):
    derivative = jax.grad(f)
    for iteration in range(limit):
        slope = derivative(x)
        assert slope != 0
        change = f(x) / slope
        x = x - change
        if jnp.abs(change) < tolerance:
            return x, iteration
    return x, None


@partial(jax.jit, static_argnames=("f",))
def bisect(f, low, high):
    def body(_, bounds):
        low, high = bounds
        middle = (low + high) / 2
        same = jnp.sign(f(middle)) == jnp.sign(f(low))
        return jnp.where(same, middle, low), jnp.where(same, high, middle)

    low, high = lax.fori_loop(0, 20, body, (low, high))
    return (low + high) / 2


@jax.jit
def secant(low, high):
    while high - low > 1e-2:
        middle = (low + high) / 2
        if middle ** 2 > 2:
            high = middle
        else:
            low = middle
    return low


@jax.jit
def conjugate_gradient(matrix, target, preconditioner=None, limit=10):
    def body(_, state):
        x, r, d = state
        image = matrix @ d
        z = r if preconditioner is None else preconditioner * r
        alpha = (r @ z) / jnp.maximum(d @ image, 1e-12)
        new = r - alpha * image
        fresh = new if preconditioner is None else preconditioner * new
        beta = (new @ fresh) / jnp.maximum(r @ z, 1e-12)
        return x + alpha * d, new, fresh + beta * d

    first = target if preconditioner is None else preconditioner * target
    return lax.fori_loop(0, limit, body, (jnp.zeros_like(target), target, first))[0]


def event(field, state, crossing, size=0.1, limit=30):
    """Steps until `crossing(state)` changes its sign."""
    before = crossing(state)
    for step in range(limit):
        state = runge_kutta(field, state, step * size, size, method="rk4")
        after = crossing(state)
        if before * after < 0 or after == 0:
            return state, step
        before = after
    return state, -1


def decay(time, state):
    return -state


def swing(time, state):
    return jnp.stack([state[1], -jnp.sin(state[0])])


def main():
    one, start = jnp.array(1.0), jnp.array([1.0, 0.0])
    print(runge_kutta(decay, start, 0.0, 0.1))
    print(integrate(decay, start))
    print(integrate(swing, start, method="midpoint", keep=True))
    print(adaptive(decay, start))
    print(adaptive_in_python(decay, start))
    print(newton(one, jnp.array(2.0)))
    print(newton_in_python(jnp.cos, one))
    print(newton_in_python(jnp.cos, one, limit=2))
    print(bisect(jnp.cos, jnp.array(0.0), jnp.array(3.0)))
    print(conjugate_gradient(jnp.eye(2) * 2, start))
    print(conjugate_gradient(jnp.eye(2) * 2, start, jnp.ones(2) / 2))
    print(event(swing, start, lambda s: s[0]))
    print(event(decay, start, lambda s: s[0], limit=2))
    print(secant(jnp.array(0.0), jnp.array(2.0)))


if __name__ == "__main__":
    main()
