"""References, layouts, shardings and numbers of arguments that JAX rejects."""
import jax
import jax.numpy as jnp
from jax.experimental.layout import Format, Layout

DIALECT = "jax.jit"


@jax.jit
def branches_on_reference(x):
    counter = jax.new_ref(x)
    if counter:
        return counter[...]
    return x


@jax.jit
def converts_reference(x):
    counter = jax.new_ref(x)
    return int(counter)


@jax.jit
def indexes_by_reference(x):
    counter = jax.new_ref(x)
    return [1, 2][counter]


@jax.jit
def reads_reference(x):
    counter = jax.new_ref(x)
    counter[...] += 1
    return counter[...]


def product(x, y):
    return x * y


def differentiates_by_missing_argument(x, y):
    return jax.jacfwd(product, argnums=5)(x, y)


def differentiates_by_last_argument(x, y):
    return jax.jacfwd(product, argnums=-1)(x, y)


def calls_without_sharding(x):
    return jax.sharding.auto_axes(jnp.sin)(x)


def leaves_layout_open():
    return jax.ShapeDtypeStruct((2,), jnp.float32, sharding=Format(Layout.AUTO))


KINDS = {
    "branches_on_reference": "core: Value of type {} is not convertible to boolean.",
    "converts_reference": "core: Value of type {} is not convertible to integer.",
    "indexes_by_reference": "core: Value of type {} is not convertible to integer index.",
    "reads_reference": None,
    "differentiates_by_missing_argument": "tree_util: Positional argument indices, e.g. for `static_argnums`, must",
    "differentiates_by_last_argument": None,
    "calls_without_sharding": "pjit: Missing required keyword argument: 'out_sharding'",
    "leaves_layout_open": "core: `Layout.AUTO` cannot be used in place of a device-local layo",
}


def main():
    print(branches_on_reference(1))
    print(converts_reference(1))
    print(indexes_by_reference(1))
    print(reads_reference(1))
    print(differentiates_by_missing_argument(1.0, 2.0))
    print(differentiates_by_last_argument(1.0, 2.0))
    print(calls_without_sharding(jnp.arange(3.0)))
    print(leaves_layout_open())


if __name__ == "__main__":
    main()
