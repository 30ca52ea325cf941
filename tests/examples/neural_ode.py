"""A neural ODE in JAX: an adaptive solver for prediction, a fixed one for training."""
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

BOGACKI = ([[1 / 2], [0.0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]], [7 / 24, 1 / 4, 1 / 3, 1 / 8])


class Progress(NamedTuple):
    time: jax.Array
    state: jax.Array
    step: jax.Array
    evaluations: jax.Array


def init(key, widths):
    keys = jax.random.split(key, len(widths) - 1)
    return [(jax.random.normal(k, (a, b)) * a ** -0.5, jnp.zeros(b)) for k, a, b in zip(keys, widths, widths[1:])]


def field(params, state, time=None):
    h = state if time is None else jnp.concatenate([state, jnp.atleast_1d(time)])
    for i, (w, b) in enumerate(params):
        h = h @ w + b
        if i < len(params) - 1:
            h = jnp.tanh(h)
    return h


def embedded_step(f, state, size):
    """Returns the state after a third-order step, and an estimate of its error."""
    rows, weights = BOGACKI
    slopes = [f(state)]
    for row in rows:
        moved = state
        for coefficient, slope in zip(row, slopes):
            if coefficient != 0.0:
                moved = moved + size * coefficient * slope
        slopes.append(f(moved))
    coarse = state + size * sum(w * s for w, s in zip(weights, slopes))
    return moved, jnp.abs(moved - coarse).max()


@partial(jax.jit, static_argnames=("order", "limit"))
def solve(params, state, end, tolerance=1e-3, order=3, limit=200):
    def unfinished(p):
        return (p.time < end) & (p.evaluations < limit)

    def advance(p):
        size = jnp.minimum(p.step, end - p.time)
        moved, error = embedded_step(lambda s: field(params, s), p.state, size)
        accepted = error <= tolerance
        factor = jnp.clip(0.9 * (tolerance / (error + 1e-12)) ** (1 / order), 0.2, 4.0)
        return Progress(jnp.where(accepted, p.time + size, p.time), jnp.where(accepted, moved, p.state),
                        size * factor, p.evaluations + 1)

    start = Progress(jnp.zeros(()), state, jnp.array(0.1), jnp.zeros((), int))
    done = lax.while_loop(unfinished, advance, start)
    return done.state, done.evaluations


@partial(jax.jit, static_argnames=("steps", "remat"))
def trajectory(params, state, end, steps, remat=False):
    size = end / steps

    def step(s, _):
        half = s + size / 2 * field(params, s)
        s = s + size * field(params, half)
        return s, s

    body = jax.checkpoint(step) if remat else step
    return lax.scan(body, state, None, length=steps)[1]


@partial(jax.jit, static_argnames=("remat",))
def fit_step(params, target, start, rate, remat=False):
    def loss_fn(p):
        path = trajectory(p, start, 1.0, target.shape[0], remat)
        return jnp.mean((path - target) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads), loss


def main():
    params = init(jax.random.PRNGKey(0), (2, 16, 2))
    start = jnp.array([1.0, 0.0])
    angles = jnp.linspace(0.1, 1.0, 10)
    target = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1)
    previous = jnp.inf
    for iteration in range(200):
        params, loss = fit_step(params, target, start, 0.1, remat=iteration % 2 == 0)
        if abs(previous - loss) < 1e-6:
            break
        previous = loss
    state, evaluations = solve(params, start, 1.0)
    print("loss", float(loss), "end", state, "evaluations", int(evaluations))


if __name__ == "__main__":
    main()
