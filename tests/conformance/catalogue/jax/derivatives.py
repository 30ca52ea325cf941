"""Programs with custom derivative rules that do not fit their function."""
from functools import partial

import jax
import jax.numpy as jnp

DIALECT = "jax.jit"


@jax.custom_vjp
def clipped(x):
    return jnp.clip(x, 0, 1)


def clipped_forward(x):
    return clipped(x), x


def clipped_backward(x, g):
    return (g * (x > 0),)


clipped.defvjp(clipped_forward, clipped_backward)


def without_rule(x):
    @jax.custom_vjp
    def softplus(v):
        return jnp.log1p(jnp.exp(v))

    return softplus(x)


def without_tangents(x):
    @jax.custom_jvp
    def softplus(v):
        return jnp.log1p(jnp.exp(v))

    return softplus(x)


def forgets_residuals(x):
    @jax.custom_vjp
    def wave(v):
        return jnp.sin(v)

    def forward(v):
        return jnp.sin(v)

    def backward(saved, g):
        return (g * jnp.cos(saved),)

    wave.defvjp(forward, backward)

    return jax.grad(lambda v: wave(v).sum())(x)


def returns_bare_cotangent(x):
    @jax.custom_vjp
    def wave(v):
        return jnp.sin(v)

    def forward(v):
        return jnp.sin(v), v

    def backward(saved, g):
        return g * jnp.cos(saved)

    wave.defvjp(forward, backward)

    return jax.grad(lambda v: wave(v).sum())(x)


def returns_too_few_cotangents(x):
    @jax.custom_vjp
    def wave(v, scale):
        return jnp.sin(v) * scale

    def forward(v, scale):
        return jnp.sin(v) * scale, (v, scale)

    def backward(saved, g):
        v, scale = saved
        return (g * jnp.cos(v) * scale,)

    wave.defvjp(forward, backward)

    return jax.grad(lambda v: wave(v, 2.0).sum())(x)


def returns_none_cotangent(x):
    @jax.custom_vjp
    def wave(v, scale):
        return jnp.sin(v) * scale

    def forward(v, scale):
        return jnp.sin(v) * scale, (v, scale)

    def backward(saved, g):
        v, scale = saved
        return g * jnp.cos(v) * scale, None

    wave.defvjp(forward, backward)

    return jax.grad(lambda v: wave(v, 2.0).sum())(x)


def sums_cotangent(x):
    @jax.custom_vjp
    def wave(v):
        return jnp.sin(v)

    def forward(v):
        return jnp.sin(v), v

    def backward(saved, g):
        return (jnp.sum(g * jnp.cos(saved)),)

    wave.defvjp(forward, backward)

    return jax.grad(lambda v: wave(v).sum())(x)


def returns_tangent_only(x):
    @jax.custom_jvp
    def wave(v):
        return jnp.sin(v)

    @wave.defjvp
    def rule(primals, tangents):
        (v,), (t,) = primals, tangents
        return jnp.cos(v) * t

    return jax.grad(lambda v: wave(v).sum())(x)


def wraps_tangent(x):
    @jax.custom_jvp
    def wave(v):
        return jnp.sin(v)

    @wave.defjvp
    def rule(primals, tangents):
        (v,), (t,) = primals, tangents
        return jnp.sin(v), (jnp.cos(v) * t,)

    return jax.grad(lambda v: wave(v).sum())(x)


def sums_tangent(x):
    @jax.custom_jvp
    def wave(v):
        return jnp.sin(v)

    @wave.defjvp
    def rule(primals, tangents):
        (v,), (t,) = primals, tangents
        return jnp.sin(v), jnp.sum(jnp.cos(v) * t)

    return jax.grad(lambda v: wave(v).sum())(x)


@jax.custom_jvp
def squashed(x):
    return jnp.tanh(x)


@squashed.defjvp
def squashed_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    y = jnp.tanh(x)
    return y, (1 - y ** 2) * t


def defines_tangents_of_static():
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    apply.defjvps(None, lambda t, y, f, x: t)
    return apply


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def limited(x, limit):
    return jnp.clip(x, -limit, limit)


limited.defvjp(lambda x, limit: (limited(x, limit), x), lambda limit, x, g: (g * (jnp.abs(x) < limit),))


@jax.jit
def limits_by_tracer(x, limit):
    return jax.grad(lambda v: limited(v, limit).sum())(x)


def limits_by_number(x):
    return jax.grad(lambda v: limited(v, 0.5).sum())(x)


def calls_with_missing_argument(x):
    return limited(x)


def converts_closure(x):
    function, constants = jax.closure_convert(lambda v: v[0] * 2, (x,))
    return function(x, *constants)


def pushes_through_reverse_rule(x):
    return jax.jvp(clipped, (x,), (x,))


def jacobian_of_reverse_rule(x):
    return jax.jacfwd(clipped)(x)


def jacobian_in_reverse(x):
    return jax.jacrev(clipped)(x)


def calls_tangents_with_missing_argument(x):
    return squashed()



KINDS = {
    "pushes_through_reverse_rule": "ad: can't apply forward-mode autodiff (jvp) to a custom_vjp func",
    "jacobian_of_reverse_rule": "ad: can't apply forward-mode autodiff (jvp) to a custom_vjp func",
    "jacobian_in_reverse": None,
    "calls_tangents_with_missing_argument": "custom_derivatives: The input arguments to the custom_jvp-decorated function {}",
    "without_rule": "custom_derivatives: No VJP defined for custom_vjp function {} using defvjp.",
    "without_tangents": "custom_derivatives: No JVP defined for custom_jvp function {} using defjvp.",
    "clipped": None,
    "forgets_residuals": "custom_derivatives: Custom VJP fwd rule {} for function {} must produce a pair (",
    "returns_bare_cotangent": "custom_derivatives: Custom VJP bwd rule must produce an output with the same con",
    "returns_too_few_cotangents": "custom_derivatives: Custom VJP bwd rule must produce an output with the same con",
    "returns_none_cotangent": None,
    "sums_cotangent": "custom_derivatives: Custom VJP bwd rule must produce an output with the same typ",
    "returns_tangent_only": "custom_derivatives: Custom JVP rule {} for function {} must produce a pair (list",
    "wraps_tangent": "custom_derivatives: Custom JVP rule {} for function {} must produce primal and t",
    "sums_tangent": "custom_derivatives: Custom JVP rule must produce primal and tangent outputs with",
    "squashed": None,
    "defines_tangents_of_static": "custom_derivatives: Can't use ``defjvps`` with ``nondiff_argnums``.",
    "limits_by_tracer": "custom_derivatives: Found a JAX Tracer object passed as an argument to a custom_",
    "limits_by_number": None,
    "calls_with_missing_argument": "custom_derivatives: The input arguments to the custom_vjp-decorated function {}",
    "converts_closure": "custom_derivatives: The inputs to the closure produced by closure_convert must h",
}


def total_gradient(function, *arguments):
    return jax.grad(lambda x: function(x, *arguments).sum())(jnp.arange(4.0))


def main():
    x = jnp.arange(4.0)
    print(without_rule(x))
    print(without_tangents(x))
    print(total_gradient(clipped))
    print(forgets_residuals(x))
    print(returns_bare_cotangent(x))
    print(returns_too_few_cotangents(x))
    print(returns_none_cotangent(x))
    print(sums_cotangent(x))
    print(returns_tangent_only(x))
    print(wraps_tangent(x))
    print(sums_tangent(x))
    print(total_gradient(squashed))
    print(defines_tangents_of_static())
    print(limits_by_tracer(x, 0.5))
    print(limits_by_number(x))
    print(calls_with_missing_argument(x))
    print(converts_closure(x))
    print(pushes_through_reverse_rule(x))
    print(jacobian_of_reverse_rule(x))
    print(jacobian_in_reverse(x))
    print(calls_tangents_with_missing_argument(x))


if __name__ == "__main__":
    main()
