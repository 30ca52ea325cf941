"""Simulations: environments, cellular automata, particles, filters."""
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class World:
    gravity: float = 9.8
    damping: float = 0.0
    walls: bool = True
    boundary: str = "reflect"


@jax.tree_util.register_dataclass
@dataclass
class Body:
    position: jax.Array
    velocity: jax.Array
    alive: jax.Array


@partial(jax.jit, static_argnames="world")
def step(body, world, force=None, dt=0.1):
    acceleration = jnp.array([0.0, -world.gravity])
    if force is not None:
        acceleration = acceleration + force
    velocity = body.velocity + dt * acceleration
    if world.damping > 0:
        velocity = velocity * (1 - world.damping)
    position = body.position + dt * velocity
    if world.walls:
        outside = (position < 0) | (position > 1)
        if world.boundary == "reflect":
            velocity = jnp.where(outside, -velocity, velocity)
            position = jnp.clip(position, 0, 1)
        elif world.boundary == "wrap":
            position = position % 1
    return replace(body, position=position, velocity=velocity)


def simulate(body, world, steps=5, record=True):
    path = []
    for index in range(steps):
        body = step(body, world)
        if not body.alive or jnp.abs(body.velocity).max() > 50:
            break
        if record and index % 2 == 0:
            path.append(body.position)
    return jnp.stack(path) if path else body.position[None]


@jax.jit
def unstable_step(body, limit=1.0):
    speed = jnp.linalg.norm(body.velocity)
    if speed > limit and body.alive:
        return replace(body, velocity=body.velocity / speed)
    return body


@partial(jax.jit, static_argnames=("rounds", "torus"))
def life(board, rounds=1, torus=True):
    for _ in range(rounds):
        padded = jnp.pad(board, 1, mode="wrap" if torus else "constant")
        neighbours = jnp.zeros_like(board)
        for dy in (0, 1, 2):
            for dx in (0, 1, 2):
                if dy == 1 and dx == 1:
                    continue
                neighbours = neighbours + lax.dynamic_slice(padded, (dy, dx), board.shape)
        board = jnp.where((neighbours == 3) | ((board == 1) & (neighbours == 2)), 1, 0)
    return board


def settle(board, limit=4):
    seen = []
    for generation in range(limit):
        board = life(board)
        for old in seen:
            if jnp.array_equal(old, board):
                return board, generation
        seen.append(board)
    return board, None


class CartPole:
    """The end of the episode is a traced flag. Later steps are masked."""

    def __init__(self, limit=5, noise=0.0, render=None):
        self.limit = limit
        self.noise = noise
        self.render = render

    def dynamics(self, state, action, key):
        x, v, angle, spin = state
        force = jnp.where(action > 0, 10.0, -10.0)
        if self.noise > 0:
            force = force + self.noise * jax.random.normal(key)
        spin = spin + 0.02 * (9.8 * jnp.sin(angle) - force)
        return jnp.stack([x + 0.02 * v, v + 0.02 * force, angle + 0.02 * spin, spin])

    def rollout(self, weights, key):
        def body(carry, step_key):
            state, alive = carry
            state = self.dynamics(state, state @ weights, step_key)
            alive = alive & (jnp.abs(state[2]) < 0.2)
            return (state, alive), jnp.where(alive, 1.0, 0.0)

        if self.limit < 1:
            return jnp.zeros(())
        keys = jax.random.split(key, self.limit)
        _, rewards = lax.scan(body, (jnp.zeros(4), jnp.array(True)), keys)
        return rewards.sum() if self.render is None else rewards


def search(environment, key, tries=3, target=None):
    best, best_reward = None, -jnp.inf
    run = jax.jit(environment.rollout)
    for k in jax.random.split(key, tries):
        weights = jax.random.normal(k, (4,))
        reward = run(weights, k)
        if best is None or reward > best_reward:
            best, best_reward = weights, reward
        if target is not None and best_reward >= target:
            break
    return best, best_reward


@jax.jit
def kalman(state, covariance, measurement=None, control=None):
    state = state + (control if control is not None else 0.0)
    covariance = covariance + 0.1
    if measurement is None:
        return state, covariance
    gain = covariance / (covariance + 0.5)
    return state + gain * (measurement - state), (1 - gain) * covariance


@partial(jax.jit, static_argnames=("periodic", "order"))
def laplacian(field, periodic=True, order=2):
    shifts = (1, -1) if order == 2 else (1, -1, 2, -2)
    total = jnp.zeros_like(field)
    for shift in shifts:
        weight = 1.0 if abs(shift) == 1 else -1 / 16
        total = total + weight * (jnp.roll(field, shift) - field)
    return total if periodic else total.at[0].set(0.0).at[-1].set(0.0)


def diffuse(field, limit=30, tolerance=1e-2):
    for count in range(limit):
        change = 0.25 * laplacian(field, periodic=False)
        field = field + change
        if jnp.abs(change).max() < tolerance:
            break
    return field, count


def main():
    body = Body(jnp.array([0.5, 0.5]), jnp.array([0.3, 3.0]), jnp.array(True))
    print(step(body, World()))
    print(step(body, World(damping=0.1, boundary="wrap"), jnp.ones(2)))
    print(step(body, World(walls=False)))
    print(simulate(body, World()))
    print(simulate(replace(body, alive=jnp.array(False)), World(), record=False))
    board = jnp.zeros((5, 5), int).at[2, 1:4].set(1)
    print(life(board))
    print(life(board, rounds=2, torus=False))
    print(settle(board))
    print(settle(board, limit=1))
    key = jax.random.PRNGKey(0)
    print(jax.jit(CartPole().rollout)(jnp.ones(4), key))
    print(jax.jit(CartPole(noise=0.1, render="steps").rollout)(jnp.ones(4), key))
    print(jax.jit(CartPole(limit=0).rollout)(jnp.ones(4), key))
    print(search(CartPole(), key))
    print(search(CartPole(), key, target=2.0))
    print(kalman(jnp.array(0.0), jnp.array(1.0)))
    print(kalman(jnp.array(0.0), jnp.array(1.0), jnp.array(0.3), jnp.array(0.1)))
    print(laplacian(jnp.arange(6.0), order=4))
    print(diffuse(jnp.arange(6.0)))
    print(unstable_step(body))


if __name__ == "__main__":
    main()
