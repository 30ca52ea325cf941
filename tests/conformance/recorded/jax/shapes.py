"""Shapes, ranks and dtypes: they are Python values, even those of tracers."""
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
def flatten(x, keep=None):
    if x.ndim < 2:
        return x[None]
    if keep is not None:
        return x.reshape(x.shape[0], -1)
    return x.reshape(-1) if x.size > 1 else x[0]


@jax.jit
def to_float(x):
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x
    if x.dtype == jnp.bool_:
        return jnp.where(x, 1.0, 0.0)
    assert x.dtype == jnp.int32
    return x.astype(jnp.float32)


@jax.jit
def matmul(a, b):
    if a.ndim == 1 and b.ndim == 1:
        return jnp.sum(a * b)
    if not a.shape[-1] == b.shape[0]:
        b = b.T
    return a @ b


@partial(jax.jit, static_argnames=("axis", "size"))
def fit_axis(x, size, axis=-1, fill=0.0):
    current = x.shape[axis]
    if current == size:
        return x
    if current > size:
        return jax.lax.slice_in_dim(x, 0, size, axis=axis)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, size - current)
    return jnp.pad(x, widths, constant_values=fill)


@jax.jit
def pool(x, window=None):
    height, width = x.shape
    if height % 2 or width % 2:
        x = x[:height // 2 * 2, :width // 2 * 2]
    rows = [x[i:i + 2] for i in range(0, x.shape[0], 2)]
    out = []
    for row in rows:
        out.append(row.reshape(2, -1, 2).max((0, 2)))
    return jnp.stack(out) if out else x


@jax.jit
def broadcast(tree):
    leaves = jax.tree_util.tree_leaves(tree)
    rank = max(leaf.ndim for leaf in leaves)
    grown = []
    for leaf in leaves:
        while leaf.ndim < rank:
            leaf = leaf[None]
        grown.append(leaf)
    return sum(grown)


@jax.jit
def moments(x, weights=None, unbiased=False):
    count = x.shape[0] if weights is None else weights.sum()
    mean = x.sum(0) / count if weights is None else (x * weights[:, None]).sum(0) / count
    spread = ((x - mean) ** 2).mean(0)
    if x.shape[0] > 1 and weights is None:
        spread = spread * x.shape[0] / (x.shape[0] - 1)
    return mean, spread


@partial(jax.jit, static_argnames="pattern")
def rearrange(x, pattern):
    source, target = (side.split() for side in pattern.split("->"))
    if sorted(source) != sorted(target):
        raise ValueError(pattern)
    order = [source.index(name) for name in target]
    return x if order == sorted(order) else x.transpose(order)


@jax.jit
def chunked_sum(x, chunk=2):
    total = jnp.zeros(())
    for start in range(0, len(x), 2):
        part = x[start:start + 2]
        if len(part) < 2:
            part = jnp.append(part, 0.0)
        total = total + part.prod()
    return total


@jax.jit
def compress(x):
    if (x > 0).any():
        return x.sum()
    return jnp.zeros(()) if x.ndim else x


@jax.jit
def is_vector_of(x, width=3):
    return x.ndim == 1 and x.shape[0] == 3 and not jnp.iscomplexobj(x)


def main():
    x = jnp.arange(6.0).reshape(2, 3)
    print(flatten(x))
    print(flatten(x, keep=0))
    print(flatten(x[0]))
    print(to_float(x))
    print(to_float(x > 0))
    print(to_float(jnp.arange(3)))
    print(matmul(x, x))
    print(matmul(x[0], x[0]))
    print(fit_axis(x, 3))
    print(fit_axis(x, 2))
    print(fit_axis(x, 5, axis=0))
    print(pool(jnp.ones((4, 5))))
    print(pool(jnp.ones((1, 4))))
    print(broadcast({"a": x, "b": jnp.array(1.0)}))
    print(moments(x))
    print(moments(x, jnp.ones(2)))
    print(rearrange(x, "a b -> b a"))
    print(rearrange(x, "a b -> a b"))
    print(chunked_sum(jnp.arange(5.0)))
    print(is_vector_of(x))
    print(is_vector_of(x[0]))
    print(compress(x))
    print(compress(-x))


if __name__ == "__main__":
    main()
