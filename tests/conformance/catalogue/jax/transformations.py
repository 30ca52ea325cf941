"""Programs that pass invalid arguments to a transformation of JAX."""
import warnings
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

DIALECT = "jax.jit"


def loss(w, x):
    return jnp.sum((x @ w) ** 2)


def differentiates_vector(x):
    return jax.grad(lambda v: v ** 2)(jnp.ones(3))


def differentiates_sum(x):
    return jax.grad(lambda v: (v ** 2).sum())(jnp.ones(3))


def differentiates_pair(x):
    def loss_and_prediction(v):
        prediction = v * 2
        return prediction.sum(), prediction

    return jax.value_and_grad(loss_and_prediction)(x)


def differentiates_with_auxiliary(x):
    def loss_and_prediction(v):
        prediction = v * 2
        return prediction.sum(), prediction

    return jax.value_and_grad(loss_and_prediction, has_aux=True)(x)


def expects_auxiliary(x):
    return jax.value_and_grad(lambda v: (v ** 2).sum(), has_aux=True)(x)


def differentiates_integer():
    return jax.grad(lambda v: v ** 2.0)(3)


def differentiates_range():
    return jax.grad(lambda v: (v * 0.5).sum())(jnp.arange(3))


def differentiates_float():
    return jax.grad(lambda v: v ** 2.0)(3.0)


def differentiates_position(x):
    return jax.grad(lambda v: jnp.argmax(v))(x)


def differentiates_missing_argument(x):
    return jax.grad(loss, argnums=2)(x, jnp.ones((2, 4)))


def differentiates_second_argument(x):
    return jax.grad(loss, argnums=1)(x, jnp.ones((2, 4)))


def differentiates_holomorphic_real(x):
    return jax.grad(lambda v: v ** 2, holomorphic=True)(1.0)


def differentiates_holomorphic_to_real():
    return jax.grad(lambda v: jnp.abs(v), holomorphic=True)(1.0 + 1j)


def jacobian_of_integers():
    return jax.jacfwd(lambda v: v * 2.0)(jnp.arange(3))


def jacobian_of_floats():
    return jax.jacfwd(lambda v: v * 2.0)(jnp.arange(3.0))


def jacobian_holomorphic_real():
    return jax.jacfwd(lambda v: v * 2.0, holomorphic=True)(jnp.ones(3))


def jacobian_holomorphic_to_real():
    return jax.jacfwd(lambda v: jnp.abs(v), holomorphic=True)(jnp.ones(3) * 1j)


def differentiates_result(x):
    w = jnp.ones(4)
    return jax.grad(loss(w, x[None]))(w)


def compiles_result(x):
    w = jnp.ones(4)
    return jax.jit(loss(w, x[None]))


def compiles_function(x):
    w = jnp.ones(4)
    return jax.jit(loss)(w, x[None])


def compiles_generator(x):
    @jax.jit
    def batches(v):
        for row in v:
            yield row * 2

    return list(batches(x))


class Trainer:
    @staticmethod
    def step(x):
        return x * 2


def compiles_static_method(x):
    return jax.jit(Trainer.__dict__["step"])(x)


def maps_by_list(x):
    return jax.vmap(loss, in_axes=[0, None])(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_by_tuple(x):
    return jax.vmap(loss, in_axes=(0, None))(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_by_text(x):
    return jax.vmap(loss, in_axes=("batch", None))(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_to_text(x):
    return jax.vmap(loss, in_axes=(0, None), out_axes="batch")(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_too_many(x):
    return jax.vmap(loss, in_axes=(0, None, None))(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_nothing(x):
    return jax.vmap(loss, in_axes=(None, None))(jnp.ones((3, 4)), jnp.ones((2, 4)))


def maps_scalar():
    return jax.vmap(lambda v, scale: v * scale)(jnp.ones((3, 4)), 2.0)


def maps_constant():
    return jax.vmap(lambda v, scale: v * scale, in_axes=(0, None))(jnp.ones((3, 4)), 2.0)


def maps_different_lengths():
    inputs = jnp.ones((3, 4))
    labels = jnp.ones(5)
    return jax.vmap(lambda v, label: v.sum() - label)(inputs, labels)


def maps_same_lengths():
    inputs = jnp.ones((3, 4))
    labels = jnp.ones(3)
    return jax.vmap(lambda v, label: v.sum() - label)(inputs, labels)


def maps_without_arguments():
    return jax.vmap(lambda: jnp.ones(3))()


def maps_inside_tuple():
    inputs = jnp.ones((3, 4))
    return jax.vmap(lambda pair: pair[0] + pair[1], in_axes=((0, None, 0),))((inputs, 1.0))


def maps_pair():
    inputs = jnp.ones((3, 4))
    return jax.vmap(lambda pair: pair[0] + pair[1], in_axes=((0, None),))((inputs, 1.0))


def pushes_array(x):
    return jax.jvp(jnp.sin, x, jnp.ones(4))


def pushes_tuples(x):
    return jax.jvp(jnp.sin, (x,), (jnp.ones(4),))


def pushes_too_few(x):
    w = jnp.ones(4)
    return jax.jvp(jnp.multiply, (w, x), (x,))


def pushes_integers():
    return jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.arange(3),))


def pushes_other_shape():
    return jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(4),))


def pulls_tuple(x):
    y, pull = jax.vjp(jnp.sin, x)
    return pull((jnp.ones_like(y),))


def pulls_array(x):
    y, pull = jax.vjp(jnp.sin, x)
    return pull(jnp.ones_like(y))


def pulls_other_shape():
    y, pull = jax.vjp(jnp.sin, jnp.ones(3))
    return pull(jnp.ones(4))


def linearizes_other_shape():
    y, push = jax.linearize(jnp.sin, jnp.ones(3))
    return push(jnp.ones(4))


def linearizes_tuple():
    y, push = jax.linearize(jnp.sin, jnp.ones(3))
    return push((jnp.ones(3),))


def transposes_integers():
    return jax.linear_transpose(lambda v: v.astype(jnp.int32), jnp.ones(3))(jnp.arange(3))


def transposes_tuple():
    return jax.linear_transpose(lambda v: v * 2, jnp.ones(3))((jnp.ones(3),))


def transposes_other_shape():
    return jax.linear_transpose(lambda v: v * 2, jnp.ones(3))(jnp.ones(4))


def puts_on_name(x):
    return jax.device_put(x, "cpu")


def puts_on_device(x):
    return jax.device_put(x, jax.devices()[0])


def puts_and_donates(x):
    return jax.device_put(x, donate=True, may_alias=True)


def puts_by_specification(x):
    return jax.device_put(x, PartitionSpec("data"))


def names_scope(x):
    with jax.named_scope(3):
        return x * 2


def names_scope_by_text(x):
    with jax.named_scope("layer3"):
        return x * 2


def static_by_wrong_name(x):
    return jax.jit(loss, static_argnames="size")(x, x)


def static_by_two_wrong_names(x):
    @partial(jax.jit, static_argnames=("mode", "train"))
    def predict(v, training):
        return v * 2 if training else v

    return predict(x, True)


def static_by_name(x):
    return jax.jit(lambda v, size: v[:size], static_argnames="size")(x, size=2)


def static_by_number_as_name(x):
    return jax.jit(loss, static_argnames=(1,))(x, x)


def static_beyond(x):
    return jax.jit(loss, static_argnums=2)(x, x)


def static_before(x):
    return jax.jit(loss, static_argnums=(-3,))(x, x)


def static_last(x):
    return jax.jit(lambda v, size: v[:size], static_argnums=-1)(x, 2)


def static_positional_only(x):
    def first(v, size, /):
        return v[:size]

    return jax.jit(first, static_argnames="size")(x, 2)


def static_list(x):
    @partial(jax.jit, static_argnums=1)
    def reshaped(v, shape):
        return v.reshape(shape)

    return reshaped(x, [2, 2])


def static_tuple(x):
    @partial(jax.jit, static_argnums=1)
    def reshaped(v, shape):
        return v.reshape(shape)

    return reshaped(x, (2, 2))


def donates_static(x):
    return jax.jit(loss, static_argnums=1, donate_argnums=(0, 1))(x, 2)


def donates_static_name(x):
    def scaled(v, size):
        return v * size

    return jax.jit(scaled, static_argnames=("size",), donate_argnames=("v", "size"))(x, 2)


def donates_first(x):
    return jax.jit(lambda v, size: v * size, static_argnums=1, donate_argnums=0)(jnp.ones(3), 2)


def passes_text(x):
    @jax.jit
    def pooled(v, mode):
        return v.max() if mode == "max" else v.mean()

    return pooled(x, "max")


def passes_static_text(x):
    @partial(jax.jit, static_argnames="mode")
    def pooled(v, mode):
        return v.max() if mode == "max" else v.mean()

    return pooled(x, "max")


def passes_large_integer(x):
    return jax.jit(lambda v, seed: v + seed)(x, 2 ** 40)


def passes_small_integer(x):
    return jax.jit(lambda v, seed: v + seed)(x, 2 ** 20)


def compiles_for_device_and_backend(x):
    return jax.jit(lambda v: v * 2, device=jax.devices()[0], backend="cpu")(x)


def compiles_for_device_with_shardings(x):
    return jax.jit(lambda v: v * 2, in_shardings=PartitionSpec(), device=jax.devices()[0])(x)


def compiles_without_mesh(x):
    return jax.jit(lambda v: v * 2, in_shardings=PartitionSpec("data"))(x)


def compiles_inner_with_options(x):
    @jax.jit
    def outer(v):
        return jax.jit(lambda u: u * 2, compiler_options={"xla_embed_ir_in_executable": True})(v)

    return outer(x)


def adds_text(x):
    return jax.lax.add(x, "1")


def adds_number(x):
    return jax.lax.add(x, 1.0)


def maps_to_one(x):
    return jax.vmap(lambda v: v * 2, out_axes=None)(jnp.ones((3, 4)))


def maps_to_pair(x):
    return jax.vmap(lambda v: v * 2, out_axes=(0, 0))(jnp.ones((3, 4)))


def maps_two_to_pair(x):
    return jax.vmap(lambda v: (v * 2, v.sum()), out_axes=(0, 0))(jnp.ones((3, 4)))


def compiles_for_backend_with_shardings(x):
    return jax.jit(lambda v: v * 2, out_shardings=PartitionSpec(), backend="cpu")(x)



KINDS = {
    "maps_to_one": "api: at vmap out_axes{}, got axis spec {} but output was batched",
    "maps_to_pair": "api_util: {} specification must be a tree prefix of the corresponding",
    "maps_two_to_pair": None,
    "compiles_for_backend_with_shardings": "pjit: If backend or device is specified on jit, then out_shardings",
    "differentiates_vector": "api: Gradient only defined for scalar-output functions. Output ha",
    "differentiates_sum": None,
    "differentiates_pair": "api: Gradient only defined for scalar-output functions. Output wa",
    "differentiates_with_auxiliary": None,
    "expects_auxiliary": "ad: expected function with aux output to return a two-element tu",
    "differentiates_integer": "api: {} requires real- or complex-valued inputs (input dtype that",
    "differentiates_range": "api: {} requires real- or complex-valued inputs (input dtype that",
    "differentiates_float": None,
    "differentiates_position": "api: {} requires real-valued outputs (output dtype that is a sub-",
    "differentiates_missing_argument": "api: differentiating with respect to argnums={} requires at least",
    "differentiates_second_argument": None,
    "differentiates_holomorphic_real": "api: {} with holomorphic=True requires inputs with complex dtype,",
    "differentiates_holomorphic_to_real": "api: {} with holomorphic=True requires outputs with complex dtype",
    "jacobian_of_integers": "api: jacfwd requires real-valued inputs (input dtype that is a su",
    "jacobian_of_floats": None,
    "jacobian_holomorphic_real": "api: jacfwd with holomorphic=True requires inputs with complex dt",
    "jacobian_holomorphic_to_real": "api: jacfwd with holomorphic=True requires outputs with complex d",
    "differentiates_result": "api_util: Expected a callable value, got {}",
    "compiles_result": "api_util: Expected a callable value, got {}",
    "compiles_function": None,
    "compiles_generator": "api_util: Expected a function, got a generator function: {}",
    "compiles_static_method": "api_util: staticmethod arguments are not supported, got {}",
    "maps_by_list": None,
    "maps_by_tuple": None,
    "maps_by_text": "api: vmap in_axes must be an int, None, or (nested) container wit",
    "maps_to_text": "api: vmap out_axes must be an int, None, or (nested) container wi",
    "maps_too_many": "api: vmap in_axes must be an int, None, or a tuple of entries cor",
    "maps_nothing": "api: {} must have at least one non-None value in in_axes or axis_",
    "maps_scalar": "api: {} was requested to map its argument along axis {}, which im",
    "maps_constant": None,
    "maps_different_lengths": "api: {} got inconsistent sizes for array axes to be mapped:",
    "maps_same_lengths": None,
    "maps_without_arguments": "api: {} wrapped function must be passed at least one argument con",
    "maps_inside_tuple": "tree_util: pytree structure error: different lengths of {} at key path",
    "maps_pair": None,
    "pushes_array": "api: primal and tangent arguments to jax.jvp must be tuples or li",
    "pushes_tuples": None,
    "pushes_too_few": "api: primal and tangent arguments to jax.jvp must have the same t",
    "pushes_integers": "api: primal and tangent arguments to jax.jvp do not match; dtypes",
    "pushes_other_shape": "api: jvp called with different primal and tangent shapes;Got prim",
    "pulls_tuple": "api: unexpected tree structure. The argument to a VJP function re",
    "pulls_array": None,
    "pulls_other_shape": "api: unexpected JAX type (e.g. shape/dtype) for argument to VJP f",
    "linearizes_other_shape": "api: linearized function called on tangent values inconsistent wi",
    "linearizes_tuple": "api: expected {}, got {}",
    "transposes_integers": "api: linear_transpose only supports [float or complex] -> [float",
    "transposes_tuple": "api: cotangent tree does not match function output, expected {} b",
    "transposes_other_shape": "api: cotangent type does not match function output, expected {} b",
    "puts_on_name": "api: `jax.device_put` only accepts `None`, `jax.sharding.Sharding",
    "puts_on_device": None,
    "puts_and_donates": "api: may_alias and donate cannot be True at the same time.",
    "puts_by_specification": "api: Please set a mesh via `jax.set_mesh` if a PartitionSpec is p",
    "names_scope": "api: named_scope name argument must be a string.",
    "names_scope_by_text": None,
    "static_by_wrong_name": "api_util: Jitted function has invalid argnames {} in {}. Function does",
    "static_by_two_wrong_names": "api_util: Jitted function has invalid argnames {} in {}. Function does",
    "static_by_name": None,
    "static_by_number_as_name": "api_util: argument is not a string: {}",
    "static_beyond": "api_util: Jitted function has {}={}, but only accepts {} positional ar",
    "static_before": "api_util: Jitted function has {}={}, but only accepts {} positional ar",
    "static_last": None,
    "static_positional_only": "api_util: Jitted function has invalid argnames {} in {}. These are pos",
    "static_list": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "static_tuple": None,
    "donates_static": "api_util: static_argnames and donate_argnames cannot intersect. Argume",
    "donates_static_name": "api_util: static_argnames and donate_argnames cannot intersect. Argume",
    "donates_first": None,
    "passes_text": "pjit: Error interpreting argument to {} as an abstract array. The",
    "passes_static_text": None,
    "passes_large_integer": "pjit: An overflow was encountered while parsing an argument to a j",
    "passes_small_integer": None,
    "compiles_for_device_and_backend": "pjit: can't specify both a device and a backend for jit, got devic",
    "compiles_for_device_with_shardings": "pjit: If backend or device is specified on jit, then in_shardings",
    "compiles_without_mesh": "pjit: {} requires a non-empty mesh in context if you are passing `",
    "compiles_inner_with_options": "pjit: `compiler_options` can only be passed to top-level `jax.jit`",
    "adds_text": "core: Error interpreting argument to {} as a JAX value. The proble",
    "adds_number": None,
}


def main():
    x = jnp.arange(4.0)
    warnings.simplefilter("ignore")
    print(differentiates_vector(x))
    print(differentiates_sum(x))
    print(differentiates_pair(x))
    print(differentiates_with_auxiliary(x))
    print(expects_auxiliary(x))
    print(differentiates_integer())
    print(differentiates_range())
    print(differentiates_float())
    print(differentiates_position(x))
    print(differentiates_missing_argument(x))
    print(differentiates_second_argument(x))
    print(differentiates_holomorphic_real(x))
    print(differentiates_holomorphic_to_real())
    print(jacobian_of_integers())
    print(jacobian_of_floats())
    print(jacobian_holomorphic_real())
    print(jacobian_holomorphic_to_real())
    print(differentiates_result(x))
    print(compiles_result(x))
    print(compiles_function(x))
    print(compiles_generator(x))
    print(compiles_static_method(x))
    print(maps_by_list(x))
    print(maps_by_tuple(x))
    print(maps_by_text(x))
    print(maps_to_text(x))
    print(maps_too_many(x))
    print(maps_nothing(x))
    print(maps_scalar())
    print(maps_constant())
    print(maps_different_lengths())
    print(maps_same_lengths())
    print(maps_without_arguments())
    print(maps_inside_tuple())
    print(maps_pair())
    print(pushes_array(x))
    print(pushes_tuples(x))
    print(pushes_too_few(x))
    print(pushes_integers())
    print(pushes_other_shape())
    print(pulls_tuple(x))
    print(pulls_array(x))
    print(pulls_other_shape())
    print(linearizes_other_shape())
    print(linearizes_tuple())
    print(transposes_integers())
    print(transposes_tuple())
    print(transposes_other_shape())
    print(puts_on_name(x))
    print(puts_on_device(x))
    print(puts_and_donates(x))
    print(puts_by_specification(x))
    print(names_scope(x))
    print(names_scope_by_text(x))
    print(static_by_wrong_name(x))
    print(static_by_two_wrong_names(x))
    print(static_by_name(x))
    print(static_by_number_as_name(x))
    print(static_beyond(x))
    print(static_before(x))
    print(static_last(x))
    print(static_positional_only(x))
    print(static_list(x))
    print(static_tuple(x))
    print(donates_static(x))
    print(donates_static_name(x))
    print(donates_first(x))
    print(passes_text(x))
    print(passes_static_text(x))
    print(passes_large_integer(x))
    print(passes_small_integer(x))
    print(compiles_for_device_and_backend(x))
    print(compiles_for_device_with_shardings(x))
    print(compiles_without_mesh(x))
    print(compiles_inner_with_options(x))
    print(adds_text(x))
    print(adds_number(x))
    print(maps_to_one(x))
    print(maps_to_pair(x))
    print(maps_two_to_pair(x))
    print(compiles_for_backend_with_shardings(x))


if __name__ == "__main__":
    main()
