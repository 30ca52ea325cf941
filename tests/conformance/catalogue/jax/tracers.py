"""Programs that need more of a tracer than its shape and dtype."""
import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DIALECT = "jax.jit"


@jax.jit
def clips_by_norm(grads, limit):
    norm = jnp.sqrt(jnp.sum(grads ** 2))
    if norm > limit:
        grads = grads * limit / norm
    return grads


@jax.jit
def scales_by_norm(grads, limit):
    norm = jnp.sqrt(jnp.sum(grads ** 2))
    return grads * jnp.minimum(1.0, limit / norm)


@jax.jit
def stops_on_any(x):
    if x > 0:
        return x
    return -x


@jax.jit
def tests_emptiness(x):
    kept = x[:0]
    return x if kept else -x


@jax.jit
def keeps_positive(scores):
    return scores[scores > 0].mean()


@jax.jit
def masks_positive(scores):
    return jnp.where(scores > 0, scores, 0.0).mean()


@jax.jit
def plain_loss(predicted, target):
    return float(jnp.mean((predicted - target) ** 2))


@jax.jit
def converts_vector(x):
    return float(x)


@jax.jit
def mixes_numpy(x):
    return np.log(x).sum()


@jax.jit
def sizes_with_numpy(x):
    return x * np.sqrt(x.shape[0])


TABLE = [0.1, 0.2, 0.4]


@jax.jit
def looks_up_rate(step):
    return TABLE[step]


@jax.jit
def looks_up_by_rows(rows):
    return TABLE[rows]


@jax.jit
def looks_up_in_array(step):
    return jnp.array(TABLE)[step]


@jax.jit
def lists_values(x):
    return x.tolist()


@jax.jit
def dumps_bytes(x):
    return x.tobytes()


@jax.jit
def exports_dlpack(x):
    return np.from_dlpack(x)


@jax.jit
def pickles(x):
    return pickle.dumps(x)


@jax.jit
def copies_deeply(x):
    return copy.deepcopy(x)


@jax.jit
def waits_inside(x):
    y = x @ x
    y.block_until_ready()
    return y


def waits_outside(x):
    y = scales_by_norm(x, 1.0)
    y.block_until_ready()
    return y


@jax.jit
def asks_sharding(x):
    y = x * 2
    return y * len(y.sharding.device_set)


@jax.jit
def asks_device(x):
    y = x * 2
    return y if y.device.platform == "cpu" else -y


@jax.jit
def asks_devices(x):
    y = x * 2
    return y * len(y.devices())


@jax.jit
def asks_committed(x):
    y = x * 2
    return y if y.committed else -y


@jax.jit
def reads_shards(x):
    return x.addressable_shards[0].data


@jax.jit
def reads_addressable_data(x):
    return x.addressable_data(0)


@jax.jit
def reads_global_shards(x):
    return x.global_shards[0].data


@jax.jit
def frees_buffer(x):
    y = x * 2
    y.delete()
    return x


@jax.jit
def tests_deleted(x):
    return None if x.is_deleted() else x


@jax.jit
def tests_addressable(x):
    return x if x.is_fully_addressable else -x


@jax.jit
def tests_replicated(x):
    return x if x.is_fully_replicated else -x


@jax.jit
def measures_bytes(x):
    return x.on_device_size_in_bytes()


@jax.jit
def measures_size(x):
    return x.size * x.dtype.itemsize


@jax.jit
def reads_pointer(x):
    return x.unsafe_buffer_pointer()


@jax.jit
def reads_traceback(x):
    y = x * 2
    return y.traceback


@jax.jit
def detaches(x):
    return (x * 2).detach()


@jax.jit
def stops_gradient(x):
    return lax.stop_gradient(x * 2)


@jax.jit
def moves_to_numpy(x):
    y = x + 1
    return y.numpy()


@jax.jit
def counts_scalar(x):
    total = x.sum()
    return x / len(total)


@jax.jit
def counts_rows(x):
    return x.sum() / len(x)


@jax.jit
def makes_zeros(n):
    return jnp.zeros(n)


def makes_zeros_outside(n):
    return jnp.zeros(n)


STEPS = []


@jax.jit
def remembers_square(x):
    y = x ** 2
    STEPS.append(y)
    return y


def uses_remembered(x):
    remembers_square(x)
    return STEPS[-1] + 1


class Wrapped:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


def passes_wrapped(x):
    doubled = jax.jit(lambda array: array * 2)
    return doubled(Wrapped(x))


def unwraps(x):
    doubled = jax.jit(lambda array: array * 2)
    return doubled(jnp.asarray(Wrapped(x)))


def sums_without_axis(x):
    centred = jax.vmap(lambda row: row - lax.pmean(row, "rows"))
    return centred(x)


def sums_over_axis(x):
    centred = jax.vmap(lambda row: row - lax.pmean(row, "batch"), axis_name="batch")
    return centred(x)


def carries_text(x):
    def body(carry, row):
        total, label = carry
        return (total + row.sum(), label), None

    return lax.scan(body, (0.0, "total"), x)


def carries_none(x):
    def body(carry, row):
        total, label = carry
        return (total + row.sum(), label), None

    return lax.scan(body, (0.0, None), x)


def describes_without_dtype():
    return jax.ShapeDtypeStruct((2, 3), None)


def changes_description():
    described = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    described.shape = (3, 2)
    return described


def describes():
    return jax.ShapeDtypeStruct((2, 3), jnp.float32)


@jax.jit
def steps_by_zero(x):
    return x[::0]


KINDS = {
    "clips_by_norm": "errors: Attempted boolean conversion of {}.{}",
    "scales_by_norm": None,
    "stops_on_any": "core: The truth value of an array with more than one element is am",
    "tests_emptiness": "core: The truth value of an empty array is ambiguous. Use `array.s",
    "keeps_positive": "errors: Array boolean indices must be concrete; got {}",
    "masks_positive": None,
    "plain_loss": "errors: Abstract tracer value encountered where concrete value is ex",
    "converts_vector": "core: Only scalar arrays can be converted to Python scalars; got a",
    "mixes_numpy": "errors: The numpy.ndarray conversion method __array__() was called o",
    "sizes_with_numpy": None,
    "looks_up_rate": "errors: The __index__() method was called on {}{}",
    "looks_up_by_rows": "core: Only integer scalar arrays can be converted to a scalar inde",
    "looks_up_in_array": None,
    "lists_values": "core: The tolist() method was called on {}.{}",
    "dumps_bytes": "core: The tobytes() method was called on {}.{}",
    "exports_dlpack": "core: The __dlpack__() method was called on {}.{}",
    "pickles": "core: The error occurred in the __reduce__ method, which may indic",
    "copies_deeply": None,
    "waits_inside": "core: The '{}' method is not available on {}.{}",
    "waits_outside": None,
    "asks_sharding": "core: The 'sharding' attribute is not available on {}. To query sh",
    "asks_device": "core: {} has no attribute {}",
    "asks_devices": "core: The devices() method was called on {}.{}",
    "asks_committed": "core: The 'committed' attribute is not available on {}.{}",
    "reads_shards": "core: The 'addressable_shards' attribute is not available on {}.{}",
    "reads_addressable_data": "core: The addressable_data() method was called on {}.{}",
    "reads_global_shards": "core: The global_shards property was called on {}.{}",
    "frees_buffer": "core: The delete() method was called on {}.{}",
    "tests_deleted": "core: The is_deleted() method was called on {}.{}",
    "tests_addressable": "core: The is_fully_addressable property was called on {}.{}",
    "tests_replicated": "core: The is_fully_replicated property was called on {}.{}",
    "measures_bytes": "core: The on_device_size_in_bytes() method was called on {}.{}",
    "measures_size": None,
    "reads_pointer": "core: The unsafe_buffer_pointer() method was called on {}.{}",
    "reads_traceback": "core: The traceback property was called on {}.{}",
    "detaches": "core: {} has no attribute {}",
    "stops_gradient": None,
    "moves_to_numpy": "core: {} has no attribute {}",
    "counts_scalar": "core: len() of unsized object",
    "counts_rows": None,
    "makes_zeros": "core: If using `jit`, try using `static_argnums` or applying `jit`",
    "makes_zeros_outside": None,
    "remembers_square": "core: Encountered an unexpected tracer. A function transformed by",
    "passes_wrapped": "core: Triggering __jax_array__() during abstractification is no lo",
    "unwraps": None,
    "sums_without_axis": "core: unbound axis name: {}",
    "sums_over_axis": None,
    "carries_text": "core: Argument '{}' of type {} is not a valid JAX type",
    "carries_none": None,
    "describes_without_dtype": "core: ShapeDtypeStruct: dtype must be specified.",
    "changes_description": "core: Cannot reassign attributes ({}) of immutable ShapeDtypeStruc",
    "describes": None,
    "steps_by_zero": "core: slice step cannot be zero",
}


def main():
    x = jnp.arange(4.0)
    square = jnp.ones((3, 3))
    print(clips_by_norm(x, 1.0))
    print(scales_by_norm(x, 1.0))
    print(stops_on_any(x))
    print(tests_emptiness(x))
    print(keeps_positive(x))
    print(masks_positive(x))
    print(plain_loss(x, x))
    print(converts_vector(x))
    print(mixes_numpy(x))
    print(sizes_with_numpy(x))
    print(looks_up_rate(1))
    print(looks_up_by_rows(jnp.array([1, 2])))
    print(looks_up_in_array(1))
    print(lists_values(x))
    print(dumps_bytes(x))
    print(exports_dlpack(x))
    print(pickles(x))
    print(copies_deeply(x))
    print(waits_inside(square))
    print(waits_outside(x))
    print(asks_sharding(x))
    print(asks_device(x))
    print(asks_devices(x))
    print(asks_committed(x))
    print(reads_shards(x))
    print(reads_addressable_data(x))
    print(reads_global_shards(x))
    print(frees_buffer(x))
    print(tests_deleted(x))
    print(tests_addressable(x))
    print(tests_replicated(x))
    print(measures_bytes(x))
    print(measures_size(x))
    print(reads_pointer(x))
    print(reads_traceback(x))
    print(detaches(x))
    print(stops_gradient(x))
    print(moves_to_numpy(x))
    print(counts_scalar(x))
    print(counts_rows(x))
    print(makes_zeros(3))
    print(makes_zeros_outside(3))
    print(remembers_square(x) + uses_remembered(x))
    print(passes_wrapped(x))
    print(unwraps(x))
    print(sums_without_axis(square))
    print(sums_over_axis(square))
    print(carries_text(square))
    print(carries_none(square))
    print(describes_without_dtype())
    print(changes_description())
    print(describes())
    print(steps_by_zero(x))


if __name__ == "__main__":
    main()
