"""State, arguments and bodies of lax loops that jax rejects, and similar functions that work."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

DIALECT = "jax.jit"
LAST = None


@jax.jit
def item_assignment(x):
    x[0] = 1.0
    return x


@jax.jit
def item_augmented(x):
    y = x * 2
    y[1:] += 1.0
    return y


@jax.jit
def item_update(x):
    return x.at[0].set(1.0)


@jax.jit
def list_assignment(x):
    parts = [x, x]
    parts[0] = x * 2
    return parts[0]


def leak_through_global(x):
    @jax.jit
    def store(y):
        global LAST
        LAST = y * 2
        return y

    store(x)
    return LAST + 1


def leak_through_closure(x):
    kept = []

    @jax.jit
    def store(y):
        kept.append(y * 2)
        return y

    store(x)
    return kept[0] + 1


def list_inside_the_trace(x):
    @jax.jit
    def build(y):
        kept = []
        kept.append(y * 2)
        return jnp.stack(kept)

    return build(x) + 1


class Cache:
    def __init__(self):
        self.last = None
        self.calls = 0

    @partial(jax.jit, static_argnums=0)
    def remember(self, x):
        self.last = x + 1
        return self.last

    @partial(jax.jit, static_argnums=0)
    def count(self, x):
        self.calls += 1
        return x + 1


def leak_through_self(x):
    cache = Cache()
    cache.remember(x)
    return cache.last * 2


def count_on_self(x):
    cache = Cache()
    cache.count(x)
    return cache.calls * 2


def leak_from_scan(xs):
    seen = []

    def body(carry, x):
        seen.append(x)
        return carry + x, None

    total, _ = lax.scan(body, jnp.zeros(()), xs)
    return total + seen[0]


def outputs_of_scan(xs):
    total, seen = lax.scan(lambda carry, x: (carry + x, x), jnp.zeros(()), xs)
    return total + seen[0]


@partial(jax.jit, static_argnames="sizes")
def unhashable_static(x, sizes):
    return x.reshape(sizes)


@partial(jax.jit, static_argnames="sizes")
def hashable_static(x, sizes):
    return x.reshape(sizes)


@jax.jit
def string_argument(x, mode):
    return x if mode == "same" else -x


@partial(jax.jit, static_argnames=("mode",))
def string_static(x, mode):
    return x if mode == "same" else -x


@jax.jit
def function_argument(f, x):
    return f(x)


@partial(jax.jit, static_argnums=0)
def function_static(f, x):
    return f(x)


@jax.jit
def flag_argument(x, flip):
    return -x if flip else x


@jax.jit
def flag_default(x, flip=False):
    return -x if flip else x


@jax.jit
def returned_string(x):
    return {"value": x, "name": "sum"}


@jax.jit
def none_returned(x):
    return {"value": x, "name": None}


class Plain:
    @jax.jit
    def scale(self, x):
        return x * 2


def unregistered_self(x):
    return Plain().scale(x)


@jax.jit
def cond_dtypes(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: v.astype(int), x)


@jax.jit
def cond_shapes(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: v[:1], x)


@jax.jit
def cond_none(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: None, x)


@jax.jit
def cond_alike(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x)


@jax.jit
def if_inside_cond_branch(x):
    def large(v):
        if v.max() > 10:
            v = v / 10
        return v

    return lax.cond(x.sum() > 0, large, lambda v: v, x)


@jax.jit
def scan_carry_dtype(xs):
    return lax.scan(lambda total, x: (total + x, None), jnp.zeros((), int), xs)[0]


@jax.jit
def scan_carry_weak(xs):
    return lax.scan(lambda total, x: (total + x, None), 0, xs)[0]


@jax.jit
def scan_carry_alike(xs):
    return lax.scan(lambda total, x: (total + x, None), 0.0, xs)[0]


@jax.jit
def scan_without_pair(xs):
    return lax.scan(lambda total, x: total + x, 0.0, xs)[0]


def if_inside_scan(xs):
    def body(best, x):
        if x > best:
            best = x
        return best, None

    return lax.scan(body, jnp.zeros(()), xs)[0]


@jax.jit
def while_carry_shape(x):
    return lax.while_loop(lambda v: v.sum() < 10, lambda v: jnp.concatenate([v, v]), x)


@jax.jit
def while_condition_rank(x):
    return lax.while_loop(lambda v: v < 10, lambda v: v * 2, x)


@jax.jit
def while_alike(x):
    return lax.while_loop(lambda v: (v < 10).all(), lambda v: v * 2, x)


def fori_python_index(xs):
    rows = [xs[0], xs[1], xs[2]]
    return lax.fori_loop(0, 3, lambda i, total: total + rows[i], jnp.zeros(()))


def fori_array_index(xs):
    return lax.fori_loop(0, 3, lambda i, total: total + xs[i], jnp.zeros(()))


def gradient_of_vector(x):
    return jax.grad(jnp.sin)(x)


def gradient_of_scalar(x):
    return jax.grad(lambda v: jnp.sin(v).sum())(x)


def gradient_of_integer(n):
    return jax.grad(lambda v: v * 2.0)(n)


def branch_under_grad(x):
    return jax.grad(lambda v: v if v > 0 else -v)(x)


def branch_under_vmap(xs):
    return jax.vmap(lambda v: v if v > 0 else -v)(xs)


RULES = {
    "item_assignment": "jax-setitem", "item_augmented": "jax-setitem", "item_update": None, "list_assignment": None,
    "leak_through_global": "jax-leak", "leak_through_closure": "jax-leak", "list_inside_the_trace": None,
    "leak_through_self": "jax-leak", "count_on_self": None, "leak_from_scan": "jax-leak", "outputs_of_scan": None,
    "unhashable_static": "jax-static", "hashable_static": None, "string_argument": "jax-argument",
    "string_static": None, "function_argument": "jax-argument", "function_static": None,
    "flag_argument": "jax-branch", "flag_default": None, "returned_string": "jax-result", "none_returned": None,
    "unregistered_self": "jax-argument", "cond_dtypes": "jax-lax-types", "cond_shapes": "jax-lax-types",
    "cond_none": "jax-lax-types", "cond_alike": None, "if_inside_cond_branch": "jax-branch",
    "scan_carry_dtype": "jax-lax-types", "scan_carry_weak": None, "scan_carry_alike": None,
    "scan_without_pair": "jax-lax-types", "if_inside_scan": "jax-branch", "while_carry_shape": "jax-lax-types",
    "while_condition_rank": "jax-lax-types", "while_alike": None, "fori_python_index": "jax-concretize",
    "fori_array_index": None, "gradient_of_vector": "jax-grad", "gradient_of_scalar": None,
    "gradient_of_integer": "jax-grad", "branch_under_grad": None, "branch_under_vmap": "jax-branch",
}


def main():
    x, one = jnp.array([1.0, 2.0, 3.0]), jnp.array(1.0)
    print(item_assignment(x))
    print(item_augmented(x))
    print(item_update(x))
    print(list_assignment(x))
    print(leak_through_global(one))
    print(leak_through_closure(one))
    print(list_inside_the_trace(one))
    print(leak_through_self(one))
    print(count_on_self(one))
    print(leak_from_scan(x))
    print(outputs_of_scan(x))
    print(unhashable_static(x, sizes=[3, 1]))
    print(hashable_static(x, sizes=(3, 1)))
    print(string_argument(x, "same"))
    print(string_static(x, "same"))
    print(function_argument(jnp.sin, x))
    print(function_static(jnp.sin, x))
    print(flag_argument(x, True))
    print(flag_default(x))
    print(returned_string(x))
    print(none_returned(x))
    print(unregistered_self(x))
    print(cond_dtypes(x))
    print(cond_shapes(x))
    print(cond_none(x))
    print(cond_alike(x))
    print(if_inside_cond_branch(x))
    print(scan_carry_dtype(x))
    print(scan_carry_weak(x))
    print(scan_carry_alike(x))
    print(scan_without_pair(x))
    print(if_inside_scan(x))
    print(while_carry_shape(x))
    print(while_condition_rank(x))
    print(while_alike(x))
    print(fori_python_index(x))
    print(fori_array_index(x))
    print(gradient_of_vector(x))
    print(gradient_of_scalar(x))
    print(gradient_of_integer(2))
    print(branch_under_grad(one))
    print(branch_under_vmap(x))


if __name__ == "__main__":
    main()
