"""Random numbers: keys, samplers, Markov chains, token sampling."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


@partial(jax.jit, static_argnames=("shape", "antithetic"))
def normal(key, shape=(), antithetic=False):
    if antithetic:
        if len(shape) == 0 or shape[0] % 2 != 0:
            raise ValueError("antithetic draws come in pairs")
        half = jax.random.normal(key, (shape[0] // 2,) + shape[1:])
        return jnp.concatenate([half, -half])
    return jax.random.normal(key, shape)


@jax.jit
def metropolis_step(state, key):
    propose, accept = jax.random.split(key)
    proposal = state + 0.5 * jax.random.normal(propose, state.shape)
    ratio = log_density(proposal) - log_density(state)
    accepted = jnp.log(jax.random.uniform(accept)) < ratio
    return jnp.where(accepted, proposal, state), accepted


def log_density(x, temperature=None):
    value = -0.5 * jnp.sum(x ** 2)
    return value / temperature if temperature is not None else value


def chain(key, start, steps, burn=0, thin=1, scan=True):
    keys = jax.random.split(key, steps)
    if scan:
        def step(state, k):
            state, accepted = metropolis_step(state, k)
            return state, (state, accepted)

        _, (draws, accepted) = lax.scan(step, start, keys)
    else:
        state, rows, flags = start, [], []
        for k in keys:
            state, flag = metropolis_step(state, k)
            rows.append(state)
            flags.append(flag)
        draws, accepted = jnp.stack(rows), jnp.stack(flags)
    if burn > 0:
        draws = draws[burn:]
    return draws[::thin] if thin > 1 else draws, accepted.mean()


def metropolis_in_python(key, start, steps=5):
    state, kept = start, []
    for _ in range(steps):
        key, a, b = jax.random.split(key, 3)
        proposal = state + jax.random.normal(a, state.shape)
        if jnp.log(jax.random.uniform(b)) < log_density(proposal) - log_density(state):
            state = proposal
        kept.append(state)
    return jnp.stack(kept)


@partial(jax.jit, static_argnames=("leaps",))
def hamiltonian(key, position, leaps=3, step=0.1, mass=None):
    momentum = jax.random.normal(key, position.shape)
    if mass is not None:
        momentum = momentum * jnp.sqrt(mass)
    gradient = jax.grad(log_density)
    for leap in range(leaps):
        momentum = momentum + (step / 2 if leap == 0 else step) * gradient(position)
        position = position + step * (momentum if mass is None else momentum / mass)
    return position, momentum + step / 2 * gradient(position)


@partial(jax.jit, static_argnames=("k", "greedy"))
def next_token(key, logits, temperature=1.0, k=0, greedy=False):
    if greedy:
        return jnp.argmax(logits, -1)
    logits = logits / temperature
    if k:
        lowest = lax.top_k(logits, k)[0][..., -1:]
        logits = jnp.where(logits < lowest, -jnp.inf, logits)
    return jax.random.categorical(key, logits)


@jax.jit
def sharpen(logits, temperature):
    if temperature == 0:
        return jax.nn.one_hot(logits.argmax(-1), logits.shape[-1])
    return jax.nn.softmax(logits / temperature)


@jax.jit
def rejection(key):
    def outside(state):
        _, point = state
        return jnp.sum(point ** 2) > 1

    def redraw(state):
        key, _ = state
        key, used = jax.random.split(key)
        return key, jax.random.uniform(used, (2,), minval=-1.0)

    return lax.while_loop(outside, redraw, (key, jnp.array([2.0, 2.0])))[1]


def rejection_in_python(key, limit=None):
    tried = 0
    point = jnp.array([2.0, 2.0])
    while point @ point > 1:
        if limit is not None and tried >= limit:
            return None
        key, used = jax.random.split(key)
        point = jax.random.uniform(used, (2,), minval=-1.0)
        tried += 1
    return point


@partial(jax.jit, static_argnames="scheme")
def resample(key, weights, scheme="systematic"):
    count = weights.shape[0]
    if scheme == "systematic":
        points = (jnp.arange(count) + jax.random.uniform(key)) / count
    elif scheme == "multinomial":
        points = jax.random.uniform(key, (count,))
    else:
        raise ValueError(scheme)
    return jnp.searchsorted(jnp.cumsum(weights / weights.sum()), points)


def particle_filter(key, observations, count=8, threshold=0.5):
    particles = jax.random.normal(key, (count,))
    weights = jnp.ones(count) / count
    resampled = 0
    for observation in observations:
        key, move, draw = jax.random.split(key, 3)
        particles = particles + 0.1 * jax.random.normal(move, particles.shape)
        weights = weights * jnp.exp(-0.5 * (particles - observation) ** 2)
        weights = weights / weights.sum()
        effective = 1 / jnp.sum(weights ** 2)
        if effective < threshold * count:
            particles = particles[resample(draw, weights)]
            weights = jnp.ones(count) / count
            resampled += 1
    return particles, resampled


def main():
    key = jax.random.PRNGKey(0)
    start = jnp.zeros(2)
    print(normal(key))
    print(normal(key, (4,), antithetic=True))
    print(metropolis_step(start, key))
    print(log_density(start, temperature=2.0))
    print(chain(key, start, 6))
    print(chain(key, start, 6, burn=2, thin=2, scan=False))
    print(metropolis_in_python(key, start))
    print(hamiltonian(key, start))
    print(hamiltonian(key, start, leaps=1, mass=jnp.ones(2)))
    print(next_token(key, jnp.arange(5.0)))
    print(next_token(key, jnp.arange(5.0), k=2))
    print(next_token(key, jnp.arange(5.0), greedy=True))
    print(rejection(key))
    print(rejection_in_python(key))
    print(rejection_in_python(key, limit=1))
    print(resample(key, jnp.ones(4)))
    print(resample(key, jnp.ones(4), scheme="multinomial"))
    print(particle_filter(key, jnp.array([0.1, 3.0])))
    print(sharpen(jnp.arange(3.0), 0.5))
    print(sharpen(jnp.arange(3.0), 0))


if __name__ == "__main__":
    main()
