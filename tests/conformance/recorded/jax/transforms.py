"""grad, vmap, custom rules, checkpoint: functions reached through transformations."""
from functools import partial

import jax
import jax.numpy as jnp


def loss(w, x, y, kind="squared", penalty=None):
    prediction = x @ w
    if kind == "squared":
        value = jnp.mean((prediction - y) ** 2)
    elif kind == "absolute":
        value = jnp.mean(jnp.abs(prediction - y))
    else:
        raise ValueError(kind)
    return value + penalty * jnp.sum(w ** 2) if penalty is not None else value


@partial(jax.jit, static_argnames="kind")
def gradient_step(w, x, y, kind="squared"):
    value, grad = jax.value_and_grad(loss)(w, x, y, kind)
    return w - 0.1 * grad, value


@jax.jit
def jacobian_norms(x, forward=None):
    jac = jax.jacrev(jnp.sin)(x) if forward is None else jax.jacfwd(jnp.sin)(x)
    norms = []
    for row in jac:
        norms.append(jnp.linalg.norm(row))
    return jnp.stack(norms)


def pairwise(f, symmetric=False):
    def table(xs, ys=None):
        if ys is None:
            ys = xs
        values = jax.vmap(lambda a: jax.vmap(lambda b: f(a, b))(ys))(xs)
        return (values + values.T) / 2 if symmetric else values

    return jax.jit(table)


def distance(a, b, order=2):
    if order == 2:
        return jnp.sqrt(jnp.sum((a - b) ** 2) + 1e-9)
    return jnp.sum(jnp.abs(a - b))


@jax.custom_vjp
def clip_gradient(x):
    return x


def clip_forward(x):
    return x, x.shape


def clip_backward(shape, g):
    return (jnp.clip(g, -1, 1) if len(shape) > 0 else g,)


clip_gradient.defvjp(clip_forward, clip_backward)


@jax.jit
def clipped_loss(x, clip=None):
    y = x * 100 if clip is None else clip_gradient(x) * 100
    return jnp.sum(y)


def per_example(x, scale=None):
    if x.ndim != 1:
        raise ValueError("one example at a time")
    norm = jnp.linalg.norm(x)
    x = x / jnp.where(norm > 1, norm, 1.0)
    return x if scale is None else x * scale


def hard_tanh(x):
    if x > 1:
        return jnp.ones_like(x)
    return x if x > -1 else -jnp.ones_like(x)


def deep(x, depth=3, remat=False):
    def layer(v):
        return jnp.tanh(v) + v

    step = jax.checkpoint(layer) if remat else layer
    for _ in range(depth):
        x = step(x)
    return x.sum()


@partial(jax.jit, static_argnames=("rounds", "first_order"))
def adapt(w, tasks, rounds=2, first_order=False):
    """Model-agnostic meta-learning: the outer gradient runs through the inner steps."""
    total = jnp.zeros(())
    for x, y in tasks:
        fast = w
        for _ in range(rounds):
            grad = jax.grad(loss)(fast, x, y)
            if first_order:
                grad = jax.lax.stop_gradient(grad)
            fast = fast - 0.1 * grad
        total = total + loss(fast, x, y)
    return total / len(tasks) if len(tasks) > 1 else total


def hessian_vector(f, x, v, mode="forward"):
    if mode == "forward":
        return jax.jvp(jax.grad(f), (x,), (v,))[1]
    return jax.grad(lambda u: jnp.vdot(jax.grad(f)(u), v))(x)


def freeze(grads, names=(), scale=None):
    out = {}
    for name, grad in grads.items():
        frozen = any(name.startswith(prefix) for prefix in names)
        out[name] = jnp.zeros_like(grad) if frozen else grad
        if scale and not frozen:
            out[name] = out[name] * scale
    return out


def main():
    w, x, y = jnp.ones(3), jnp.arange(6.0).reshape(2, 3), jnp.ones(2)
    print(gradient_step(w, x, y))
    print(gradient_step(w, x, y, kind="absolute"))
    print(jax.grad(loss)(w, x, y, penalty=0.1))
    print(jacobian_norms(w))
    print(jacobian_norms(w, forward=True))
    print(pairwise(distance)(x))
    print(pairwise(partial(distance, order=1), symmetric=True)(x, x))
    print(jax.grad(clipped_loss)(w))
    print(jax.grad(clipped_loss)(w, clip=True))
    print(jax.grad(clip_gradient)(jnp.array(1.0)))
    print(jax.vmap(per_example)(x))
    print(jax.vmap(per_example, in_axes=(0, 0))(x, y))
    print(jax.jit(deep)(x))
    print(jax.grad(partial(deep, depth=2, remat=True))(x))
    print(adapt(w, [(x, y), (x, y)]))
    print(jax.grad(adapt)(w, [(x, y)], first_order=True))
    print(jax.jit(partial(hessian_vector, deep))(w, w))
    print(jax.jit(partial(hessian_vector, deep, mode="reverse"))(w, w))
    print(jax.jit(partial(freeze, names=("head",), scale=0.5))({"head.w": w, "body.w": w}))
    print(jax.jit(freeze)({"head.w": w}))
    print(jax.grad(hard_tanh)(0.5))
    print(jax.grad(hard_tanh)(-3.0))
    print(jax.jit(hard_tanh)(jnp.array(2.0)))


if __name__ == "__main__":
    main()
