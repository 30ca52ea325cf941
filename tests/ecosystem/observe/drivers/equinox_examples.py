"""Equinox as its documentation uses it: modules under `filter_jit`, `filter_vmap`, `filter_grad` and checkpointed loops."""
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

key = jr.PRNGKey(0)


def layers():
    image, signal, vector = jnp.ones((3, 8, 8)), jnp.ones((3, 8)), jnp.ones(4)
    yield eqx.nn.Linear(4, 2, key=key), (vector,)
    yield eqx.nn.Linear("scalar", 2, key=key), (jnp.ones(()),)
    yield eqx.nn.MLP(4, 2, 8, 2, key=key), (vector,)
    yield eqx.nn.MLP(4, "scalar", 8, 1, final_activation=jnp.tanh, use_final_bias=False, key=key), (vector,)
    yield eqx.nn.Conv2d(3, 4, 3, padding="SAME", key=key), (image,)
    yield eqx.nn.Conv1d(3, 4, 3, padding=1, padding_mode="REFLECT", key=key), (signal,)
    yield eqx.nn.ConvTranspose2d(3, 4, 3, key=key), (image,)
    yield eqx.nn.MaxPool2d(2, 2), (image,)
    yield eqx.nn.AvgPool1d(2, 2, use_ceil=True), (signal,)
    yield eqx.nn.AdaptiveAvgPool2d((2, 2)), (image,)
    yield eqx.nn.AdaptiveMaxPool1d(3), (signal,)
    yield eqx.nn.LayerNorm(4), (vector,)
    yield eqx.nn.RMSNorm(4), (vector,)
    yield eqx.nn.GroupNorm(3, 3), (image,)
    yield eqx.nn.GRUCell(4, 2, key=key), (vector, jnp.zeros(2))
    yield eqx.nn.LSTMCell(4, 2, key=key), (vector, (jnp.zeros(2), jnp.zeros(2)))
    yield eqx.nn.MultiheadAttention(2, 4, key=key), (jnp.ones((5, 4)),) * 3
    yield eqx.nn.Embedding(10, 4, key=key), (jnp.array(3),)
    yield eqx.nn.Identity(), (vector,)
    yield eqx.nn.Lambda(jax.nn.relu), (vector,)
    yield eqx.nn.PReLU(), (vector,)
    yield eqx.nn.RotaryPositionalEmbedding(4), (jnp.ones((5, 4)),)
    yield eqx.nn.Sequential([eqx.nn.Linear(4, 4, key=key), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(0.5, inference=True)]), (vector,)
    yield eqx.nn.WeightNorm(eqx.nn.Linear(4, 2, key=key)), (vector,)


def all_layers():
    for layer, arguments in layers():
        eqx.filter_jit(layer)(*arguments)
        jax.jit(layer)(*arguments)
        eqx.filter_grad(lambda layer: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(layer(*arguments))))(layer)


class Classifier(eqx.Module):
    layers: list
    bias: jax.Array
    activation: callable = eqx.field(static=True)

    def __init__(self, key):
        keys = jr.split(key, 2)
        self.layers = [eqx.nn.Linear(4, 8, key=keys[0]), eqx.nn.Linear(8, 3, key=keys[1])]
        self.bias = jnp.zeros(3)
        self.activation = jax.nn.relu

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x) + self.bias


@eqx.filter_value_and_grad
def loss(model, x, y):
    scores = jax.vmap(model)(x)
    return jnp.mean((scores - y) ** 2)


@eqx.filter_jit
def step(model, x, y):
    value, gradients = loss(model, x, y)
    updates = jax.tree.map(lambda g: None if g is None else -0.1 * g, gradients)
    return eqx.apply_updates(model, updates), value


def train():
    model = Classifier(key)
    x, y = jnp.ones((6, 4)), jnp.zeros((6, 3))
    for _ in range(2):
        model, value = step(model, x, y)
    frozen = eqx.tree_at(lambda tree: tree.bias, model, replace=jnp.ones(3))
    arrays, rest = eqx.partition(frozen, eqx.is_array)
    jax.jit(lambda arrays: eqx.combine(arrays, rest)(x[0]))(arrays)


def ensembles():
    @eqx.filter_vmap
    def make(key):
        return eqx.nn.MLP(4, 2, 8, 1, key=key)

    models = make(jr.split(key, 3))

    @eqx.filter_vmap(in_axes=(eqx.if_array(0), None))
    def evaluate(model, x):
        return model(x)

    evaluate(models, jnp.ones(4))


def states():
    model, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="ema")
    batched = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    out, state = eqx.filter_jit(batched)(jnp.ones((4, 3)), state)
    eqx.filter_jit(eqx.nn.inference_mode(model))(jnp.ones(3), state)
    spectral, state = eqx.nn.make_with_state(eqx.nn.SpectralNorm)(eqx.nn.Linear(4, 2, key=key), "weight", key=key)
    eqx.filter_jit(spectral)(jnp.ones(4), state)


def loops():
    def condition(value):
        return value[0] < 5

    def body(value):
        return value[0] + 1, value[1] * 2

    for kind in ("lax", "checkpointed", "bounded"):
        def total(x, kind=kind):
            return eqx.internal.while_loop(condition, body, (0, x), kind=kind, max_steps=8)[1]

        eqx.filter_jit(total)(1.0)
        if kind != "lax":
            eqx.filter_jit(eqx.filter_grad(total))(1.0)

    def accumulate(carry, x):
        return carry + x, carry

    for kind in ("lax", "checkpointed"):
        eqx.filter_jit(lambda xs: eqx.internal.scan(accumulate, 0.0, xs, kind=kind))(jnp.arange(4.0))


def transformations():
    def square(x):
        return x**2

    eqx.filter_jit(eqx.filter_jvp)(square, (2.0,), (1.0,))
    out, pull = eqx.filter_vjp(square, jnp.array(2.0))
    pull(out)
    eqx.filter_make_jaxpr(square)(jnp.array(1.0))
    eqx.filter_eval_shape(eqx.nn.Linear, 4, 2, key=key)
    closed = eqx.filter_closure_convert(square, jnp.array(1.0))
    eqx.filter_jit(closed)(jnp.array(2.0))
    eqx.filter_jit(eqx.filter_checkpoint(square))(jnp.array(1.0))

    @eqx.filter_custom_vjp
    def identity(x):
        return x

    @identity.def_fwd
    def forward(perturbed, x):
        return x, None

    @identity.def_bwd
    def backward(residuals, gradient, perturbed, x):
        return gradient * 2

    eqx.filter_jit(eqx.filter_grad(identity))(jnp.array(1.0))

    @eqx.filter_custom_jvp
    def clipped(x):
        return jnp.clip(x, 0, 1)

    @clipped.def_jvp
    def clipped_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return clipped(x), t

    eqx.filter_jit(eqx.filter_grad(clipped))(jnp.array(0.5))

    @eqx.filter_jit
    def checked(x):
        x = eqx.error_if(x, x < 0, "negative")
        x = eqx.branched_error_if(x, x > 10, (x > 20).astype(int), ["above 10", "above 20"])
        return jnp.sqrt(x)

    checked(jnp.array(4.0))
    eqx.filter_jit(eqx.debug.announce_transform)(jnp.array(1.0))


for example in (all_layers, train, ensembles, states, loops, transformations):
    try:
        example()
    except Exception as error:
        print(example.__name__, type(error).__name__, str(error)[:200], flush=True)
