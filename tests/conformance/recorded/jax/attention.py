"""Sequence models: attention with a cache, recurrent scans, beam search."""
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Optional

import jax
import jax.numpy as jnp
from jax import lax


@jax.tree_util.register_dataclass
@dataclass
class Cache:
    keys: jax.Array
    values: jax.Array
    length: jax.Array


class Beam(NamedTuple):
    tokens: jax.Array
    scores: jax.Array
    finished: jax.Array
    position: jax.Array


@partial(jax.jit, static_argnames=("causal", "window"))
def attend(query, key, value, mask=None, causal=False, window: Optional[int] = None):
    scores = query @ key.swapaxes(-1, -2) / jnp.sqrt(query.shape[-1])
    if causal:
        rows, columns = jnp.arange(query.shape[-2])[:, None], jnp.arange(key.shape[-2])
        allowed = columns <= rows
        if window is not None:
            allowed = allowed & (columns > rows - window)
        scores = jnp.where(allowed, scores, -1e9)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9) if mask.dtype == jnp.bool_ else scores + mask
    return jax.nn.softmax(scores) @ value


@jax.jit
def cached_step(cache, x):
    keys = lax.dynamic_update_slice(cache.keys, x[None], (cache.length, 0))
    values = lax.dynamic_update_slice(cache.values, x[None], (cache.length, 0))
    mask = jnp.arange(keys.shape[0]) <= cache.length
    out = attend(x[None], keys, values, mask)
    return Cache(keys, values, cache.length + 1), out[0]


@partial(jax.jit, static_argnames=("reverse", "bidirectional"))
def recurrent(params, xs, lengths=None, reverse=False, bidirectional=False):
    if bidirectional:
        there = recurrent(params, xs, lengths)
        back = recurrent(params, xs, lengths, reverse=True)
        return jnp.concatenate([there, back], -1)

    def step(hidden, inputs):
        index, x = inputs
        new = jnp.tanh(x @ params["x"] + hidden @ params["h"])
        if lengths is not None:
            new = jnp.where((index < lengths)[:, None], new, hidden)
        return new, new

    start = jnp.zeros((xs.shape[1], params["h"].shape[0]))
    return lax.scan(step, start, (jnp.arange(xs.shape[0]), xs), reverse=reverse)[1]


@partial(jax.jit, static_argnames=("width", "limit", "alpha"))
def beam_search(logits, width=2, limit=4, stop=0, alpha=0.0):
    vocabulary = logits.shape[-1]
    assert width <= vocabulary

    def unfinished(beam):
        return (beam.position < limit) & ~beam.finished.all()

    def extend(beam):
        last = beam.tokens[:, beam.position - 1]
        grown = beam.scores[:, None] + jnp.where(beam.finished[:, None], 0.0, jax.nn.log_softmax(logits[last]))
        scores, flat = lax.top_k(grown.reshape(-1), width)
        parents, token = flat // vocabulary, flat % vocabulary
        tokens = beam.tokens[parents].at[:, beam.position].set(token)
        return Beam(tokens, scores, beam.finished[parents] | (token == stop), beam.position + 1)

    start = Beam(jnp.ones((width, limit), int), jnp.zeros(width), jnp.zeros(width, bool), jnp.array(1))
    final = lax.while_loop(unfinished, extend, start)
    scores = final.scores / final.position ** alpha if alpha > 0 else final.scores
    return final.tokens[scores.argmax()]


def greedy(logits, limit=5, stop=None):
    """One token after the other, in Python, on concrete arrays."""
    token, out = jnp.array(1), []
    for _ in range(limit):
        token = logits[token].argmax()
        out.append(token)
        if stop is not None and token == stop:
            break
    return jnp.stack(out) if out else jnp.zeros(0, int)


@jax.jit
def greedy_staged(logits, stop):
    token = jnp.array(1)
    for _ in range(4):
        token = logits[token].argmax()
        if token == stop:
            break
    return token


@partial(jax.jit, static_argnames=("kind",))
def positions(length_like, width=4, kind="sine"):
    steps = jnp.arange(length_like.shape[0])[:, None]
    if kind == "none":
        return jnp.zeros((steps.shape[0], 4))
    angle = steps / 10.0 ** jnp.arange(0, 4, 2)
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1) if kind == "sine" else angle.repeat(2, -1)


@jax.jit
def tree_lstm(params, tree):
    if isinstance(tree, tuple):
        children = [tree_lstm(params, child) for child in tree]
        total = sum(children[1:], children[0])
        return jnp.tanh(total @ params)
    return tree @ params if tree.ndim == 1 else tree.mean(0) @ params


def main():
    x = jnp.ones((3, 4))
    print(attend(x, x, x))
    print(attend(x, x, x, jnp.ones((3, 3), bool), causal=True))
    print(attend(x, x, x, jnp.zeros((3, 3)), causal=True, window=2))
    print(cached_step(Cache(jnp.zeros((5, 4)), jnp.zeros((5, 4)), jnp.array(0)), x[0]))
    params = {"x": jnp.ones((4, 2)), "h": jnp.eye(2)}
    xs = jnp.ones((5, 3, 4))
    print(recurrent(params, xs))
    print(recurrent(params, xs, jnp.array([1, 2, 5]), bidirectional=True))
    logits = jnp.cos(jnp.arange(16.0)).reshape(4, 4)
    print(beam_search(logits))
    print(beam_search(logits, width=3, alpha=0.6))
    print(greedy(logits))
    print(greedy(logits, stop=2))
    print(greedy(logits, limit=0))
    print(positions(x))
    print(positions(x, kind="none"))
    print(positions(x, kind="ramp"))
    print(tree_lstm(jnp.eye(4), (x, (x[0], x[1]))))
    print(greedy_staged(logits, jnp.array(2)))


if __name__ == "__main__":
    main()
