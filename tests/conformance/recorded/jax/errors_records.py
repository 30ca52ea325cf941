"""Records as state: NamedTuples and registered dataclasses in loops and branches, immutable objects, donated arrays."""
import dataclasses
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax


class Walk(NamedTuple):
    x: jax.Array
    count: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Totals:
    total: jax.Array
    count: jax.Array


def half_steps(walk, x):
    return walk._replace(x=walk.x + x, count=walk.count + 0.5), None


def whole_steps(walk, x):
    return walk._replace(x=walk.x + x, count=walk.count + 1), None


def named_tuple_dtype(xs):
    walk = Walk(jnp.zeros(3), jnp.zeros((), jnp.int32))
    return lax.scan(half_steps, walk, xs)


def named_tuple_alike(xs):
    walk = Walk(jnp.zeros(3), jnp.zeros((), jnp.int32))
    return lax.scan(whole_steps, walk, xs)


def named_tuple_or_tuple(x):
    walk = Walk(jnp.zeros(3), jnp.zeros((), jnp.int32))
    return lax.cond(x.sum() > 0, lambda w: Walk(w.x + 1, w.count), lambda w: (w.x, w.count), walk)


def named_tuple_branches(x):
    walk = Walk(jnp.zeros(3), jnp.zeros((), jnp.int32))
    return lax.cond(x.sum() > 0, lambda w: Walk(w.x + 1, w.count), lambda w: w._replace(x=w.x * 2), walk)


def dataclass_dtype(xs):
    def add(totals, x):
        return dataclasses.replace(totals, count=totals.count + 0.5), x

    return lax.scan(add, Totals(jnp.zeros(()), jnp.zeros((), jnp.int32)), xs)


def dataclass_alike(xs):
    def add(totals, x):
        return dataclasses.replace(totals, count=totals.count + 1), x

    return lax.scan(add, Totals(jnp.zeros(()), jnp.zeros((), jnp.int32)), xs)


def advance(scale, walk):
    return Walk(walk.x * scale, walk.count / 2)


def partial_body(x):
    walk = Walk(jnp.zeros(3), jnp.zeros((), jnp.int32))
    return lax.while_loop(lambda w: w.count < 3, partial(advance, 2.0), walk)


def conditional_code(xs, shift=None):
    def add(total, x):
        if shift is not None:
            x = x + shift
        return total + 0.5, x

    return lax.scan(add, jnp.zeros((), jnp.int32), xs)


def conditional_alike(xs, shift=None):
    def add(total, x):
        if shift is not None:
            x = x + shift
        total = total + 1
        return total, x

    return lax.scan(add, jnp.zeros((), jnp.int32), xs)


class Triple:
    def __init__(self, rate):
        self.rate = rate

    def step(self, mean, x):
        mean = mean + self.rate * (x - mean)
        return mean, mean, x

    def smooth(self, xs):
        return lax.scan(self.step, jnp.zeros(3), xs)


class Pair:
    def __init__(self, rate):
        self.rate = rate

    def step(self, mean, x):
        mean = mean + self.rate * (x - mean)
        return mean, mean

    def smooth(self, xs):
        return lax.scan(self.step, jnp.zeros(3), xs)


class Assigned(eqx.Module):
    total: jax.Array

    def add(self, x):
        self.total = self.total + x
        return self.total


class Returned(eqx.Module):
    total: jax.Array

    def add(self, x):
        return Returned(self.total + x)


class Scale(eqx.Module):
    factor: jax.Array

    def __init__(self, factor):
        self.prepare(factor)

    def prepare(self, factor):
        self.factor = 2 * factor

    def apply(self, x):
        return self.factor * x


@partial(jax.jit, donate_argnums=0)
def descend(params, grads):
    return params - 0.1 * grads


def donated_argument(grads):
    params = jnp.ones(3)
    new = descend(params, grads)
    return new - params


def donated_and_bound(grads):
    params = jnp.ones(3)
    params = descend(params, grads)
    return params + 1


def donated_shape(grads):
    params = jnp.ones(3)
    new = descend(params, grads)
    return new, params.shape


def main():
    xs = jnp.ones((4, 3))
    print(named_tuple_dtype(xs))
    print(named_tuple_alike(xs))
    print(named_tuple_or_tuple(xs))
    print(named_tuple_branches(xs))
    print(dataclass_dtype(xs))
    print(dataclass_alike(xs))
    print(partial_body(xs))
    print(conditional_code(xs))
    print(conditional_alike(xs))
    print(Triple(0.1).smooth(xs))
    print(Pair(0.1).smooth(xs))
    print(Assigned(jnp.zeros(())).add(1.0))
    print(Returned(jnp.zeros(())).add(1.0))
    print(Scale(jnp.ones(())).apply(1.0))
    print(donated_argument(jnp.ones(3)))
    print(donated_and_bound(jnp.ones(3)))
    print(donated_shape(jnp.ones(3)))


if __name__ == "__main__":
    main()


DIALECT = "jax.jit"

RULES = {
    "named_tuple_dtype": "jax-control-flow",
    "named_tuple_alike": None,
    "named_tuple_or_tuple": "jax-control-flow",
    "named_tuple_branches": None,
    "dataclass_dtype": "jax-control-flow",
    "dataclass_alike": None,
    "partial_body": "jax-control-flow",
    "conditional_code": "jax-control-flow",
    "conditional_alike": None,
    "Triple.smooth": "jax-control-flow",
    "Pair.smooth": None,
    "Assigned.add": "jax-frozen-attribute",
    "Returned.add": None,
    "Scale.apply": None,
    "donated_argument": "jax-donated-argument",
    "donated_and_bound": None,
    "donated_shape": None,
}
