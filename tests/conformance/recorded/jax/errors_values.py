"""Tracers used as Python numbers, NumPy arrays, shapes and masks, and similar functions that work."""
import jax
import jax.numpy as jnp
import numpy as np

DIALECT = "jax.jit"
TABLE = [10.0, 20.0, 30.0]


@jax.jit
def int_of_value(x):
    return x[:int(x[0])]


@jax.jit
def float_of_value(x):
    return float(x.sum()) * 2


@jax.jit
def float_of_size(x):
    return x.sum() / float(x.size)


@jax.jit
def item_of_value(x):
    return x.sum().item()


@jax.jit
def tolist_of_value(x):
    return jnp.array(x.tolist())


@jax.jit
def list_indexed_by_value(i):
    return TABLE[i]


@jax.jit
def array_indexed_by_value(i):
    return jnp.array(TABLE)[i]


@jax.jit
def slice_by_value(x, n):
    return x[:n]


@jax.jit
def slice_by_size(x):
    return x[:x.shape[0] // 2]


@jax.jit
def shape_from_value(n):
    return jnp.zeros(n)


@jax.jit
def arange_of_value(n):
    return jnp.arange(n)


@jax.jit
def arange_of_shape(x):
    return jnp.arange(x.shape[0])


@jax.jit
def numpy_on_value(x):
    return np.sin(x)


@jax.jit
def numpy_asarray_on_value(x):
    return np.asarray(x) + 1


@jax.jit
def numpy_on_constant(x):
    return x * np.sin(1.0)


@jax.jit
def boolean_mask(x):
    return x[x > 0].sum()


@jax.jit
def boolean_mask_as_where(x):
    return jnp.where(x > 0, x, 0).sum()


@jax.jit
def nonzero_of_value(x):
    return jnp.nonzero(x)[0]


@jax.jit
def nonzero_with_size(x):
    return jnp.nonzero(x, size=2)[0]


@jax.jit
def unique_of_value(x):
    return jnp.unique(x)


@jax.jit
def iterate_scalar(x):
    return [v for v in x.sum()]


@jax.jit
def formatted_value(x):
    print(f"{x.sum():.3f}")
    return x


@jax.jit
def printed_value(x):
    print("tracing", x)
    return x


RULES = {
    "int_of_value": "jax-concretize", "float_of_value": "jax-concretize", "float_of_size": None,
    "item_of_value": "jax-concretize", "tolist_of_value": "jax-concretize",
    "list_indexed_by_value": "jax-concretize", "array_indexed_by_value": None,
    "slice_by_value": "jax-dynamic-shape", "slice_by_size": None, "shape_from_value": "jax-dynamic-shape",
    "arange_of_value": "jax-dynamic-shape", "arange_of_shape": None, "numpy_on_value": "jax-numpy",
    "numpy_asarray_on_value": "jax-numpy", "numpy_on_constant": None, "boolean_mask": "jax-dynamic-shape",
    "boolean_mask_as_where": None, "nonzero_of_value": "jax-dynamic-shape", "nonzero_with_size": None,
    "unique_of_value": "jax-dynamic-shape", "iterate_scalar": "jax-iterate", "formatted_value": "jax-concretize",
    "printed_value": None,
}


def main():
    x, n = jnp.array([1.0, 2.0, 3.0]), jnp.array(2)
    print(int_of_value(x))
    print(float_of_value(x))
    print(float_of_size(x))
    print(item_of_value(x))
    print(tolist_of_value(x))
    print(list_indexed_by_value(n))
    print(array_indexed_by_value(n))
    print(slice_by_value(x, 2))
    print(slice_by_size(x))
    print(shape_from_value(n))
    print(arange_of_value(n))
    print(arange_of_shape(x))
    print(numpy_on_value(x))
    print(numpy_asarray_on_value(x))
    print(numpy_on_constant(x))
    print(boolean_mask(x))
    print(boolean_mask_as_where(x))
    print(nonzero_of_value(x))
    print(nonzero_with_size(x))
    print(unique_of_value(x))
    print(iterate_scalar(x))
    print(formatted_value(x))
    print(printed_value(x))


if __name__ == "__main__":
    main()
