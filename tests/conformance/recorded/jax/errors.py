"""Control flow that jax.jit rejects, and similar functions that work."""
from functools import partial

import jax
import jax.numpy as jnp

DIALECT = "jax.jit"


@jax.jit
def if_on_value(x):
    if x > 0:
        return x
    return -x


@jax.jit
def if_on_shape(x):
    if x.shape[0] > 2:
        return x
    return -x


@jax.jit
def elif_on_value(x, scale=None):
    if scale is not None:
        x = x * scale
    elif x.sum() > 1:
        x = x / x.sum()
    return x


@jax.jit
def while_on_value(x):
    while jnp.abs(x) > 1:
        x = x / 2
    return x


@jax.jit
def while_on_counter(x):
    count = 0
    while count < 3:
        x, count = x / 2, count + 1
    return x


@jax.jit
def ternary_on_value(x):
    return x if x.sum() > 0 else -x


@jax.jit
def ternary_as_where(x):
    return jnp.where(x.sum() > 0, x, -x)


@jax.jit
def ternary_on_none(x, y=None):
    return x if y is None else x + y


@jax.jit
def and_on_values(x):
    return x[0] > 0 and x[1] > 0


@jax.jit
def and_of_values_as_ufunc(x):
    return (x[0] > 0) & (x[1] > 0)


@jax.jit
def and_with_value_last(x):
    return x.ndim == 1 and x[0] > 0


@jax.jit
def or_on_values(x):
    return x[0] or x[1]


@jax.jit
def not_on_value(x):
    return not x.any()


@jax.jit
def not_as_ufunc(x):
    return ~x.any()


@jax.jit
def assert_on_value(x):
    assert x.min() >= 0
    return jnp.sqrt(x)


@jax.jit
def assert_on_rank(x):
    assert x.ndim == 1
    return jnp.sqrt(jnp.abs(x))


@jax.jit
def bool_of_value(x):
    return bool(x.any())


@jax.jit
def chained_compare(x):
    if 0 < x.max() < 1:
        x = x * 2
    return x


@jax.jit
def break_on_value(x):
    for _ in range(4):
        x = x * 0.5
        if x.max() < 0.1:
            break
    return x


@jax.jit
def comprehension_condition(x):
    return sum(v for v in x if v > 0)


@jax.jit
def comprehension_over_rows(x):
    return sum(v * 2 for v in x)


@jax.jit
def maximum_of_builtin(x):
    return max(x[0], x[1])


@jax.jit
def membership(x):
    return x[0] in (1.0, 2.0)


@jax.jit
def range_of_value(x, n):
    for _ in range(n):
        x = x + 1
    return x


@partial(jax.jit, static_argnames="n")
def range_of_static(x, n):
    for _ in range(n):
        x = x + 1
    return x


@jax.jit
def range_of_length(x):
    total = jnp.zeros(())
    for i in range(len(x)):
        total = total + x[i]
    return total


RULES = {
    "if_on_value": "jax-branch", "if_on_shape": None, "elif_on_value": "jax-branch", "while_on_value": "jax-loop",
    "while_on_counter": None, "ternary_on_value": "jax-branch", "ternary_as_where": None, "ternary_on_none": None,
    "and_on_values": "jax-branch", "and_of_values_as_ufunc": None, "and_with_value_last": None,
    "or_on_values": "jax-branch", "not_on_value": "jax-branch", "not_as_ufunc": None,
    "assert_on_value": "jax-branch", "assert_on_rank": None, "bool_of_value": "jax-branch",
    "chained_compare": "jax-branch", "break_on_value": "jax-branch", "comprehension_condition": "jax-branch",
    "comprehension_over_rows": None, "maximum_of_builtin": "jax-branch", "membership": "jax-branch",
    "range_of_value": "jax-concretize", "range_of_static": None, "range_of_length": None,
}


def main():
    x, one = jnp.array([1.0, 2.0, 3.0]), jnp.array(1.0)
    print(if_on_value(one))
    print(if_on_shape(x))
    print(elif_on_value(x))
    print(while_on_value(one))
    print(while_on_counter(one))
    print(ternary_on_value(x))
    print(ternary_as_where(x))
    print(ternary_on_none(x, x))
    print(and_on_values(x))
    print(and_of_values_as_ufunc(x))
    print(and_with_value_last(x))
    print(or_on_values(x))
    print(not_on_value(x))
    print(not_as_ufunc(x))
    print(assert_on_value(x))
    print(assert_on_rank(x))
    print(bool_of_value(x))
    print(chained_compare(x))
    print(break_on_value(x))
    print(comprehension_condition(x))
    print(comprehension_over_rows(x))
    print(maximum_of_builtin(x))
    print(membership(x))
    print(range_of_value(x, 3))
    print(range_of_static(x, 3))
    print(range_of_length(x))


if __name__ == "__main__":
    main()
