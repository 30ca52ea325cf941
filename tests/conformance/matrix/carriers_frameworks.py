"""The carriers that frameworks offer: ways to name a root, transformations, and modules."""
from program import COMPILE, JAX, REFINE, SCRIPT, TENSORFLOW, TORCH, single

CARRIERS = [
    single("root by a call", """
def run_step(x):
    {block}
    return y


step = {root_call}(run_step)
""", frameworks=(JAX, TENSORFLOW, COMPILE, SCRIPT), untraced=False),
    single("root in the constructor", """
class Trainer:
    def __init__(self, gain):
        self.gain = gain
        self.step = {root_call}(self._step)

    def _step(self, x):
        return self._refine(x) * self.gain

    def _refine(self, x):
        {block}
        return y


step = Trainer(2.0).step
""", frameworks=(JAX, TENSORFLOW, COMPILE), untraced=False),
    single("conditional root", REFINE + """

class Config:
    compiled: bool = True


def build(config):
    def run_step(x):
        return refine(x) + 1.0

    if config.compiled:
        run_step = {root_call}(run_step)
    return run_step


step = build(Config())
""", frameworks=(JAX, TENSORFLOW, COMPILE), untraced=False),
    single("decorator that traces", """
def compiled(function):
    return {root_call}(function)


@compiled
def step(x):
    {block}
    return y
""", frameworks=(JAX, TENSORFLOW, COMPILE), untraced=False),
    single("root in a method", """
class Trainer:
    def __init__(self, gain):
        self.gain = gain

    def loss(self, x):
        {block}
        return y * self.gain

    def build(self):
        return {root_call}(lambda x: self.loss(x) + 1.0)


step = Trainer(2.0).build()
""", frameworks=(JAX, TENSORFLOW, COMPILE), untraced=False),
    single("vmap", """
import functools


def refine(x, gain):
    {block}
    return y * gain


batched = jax.vmap(functools.partial(refine, gain=2.0))


{root}
def step(x):
    return batched(jnp.stack([x, x * 0.5]))
""", frameworks=(JAX,)),
    single("body of scan", """
def body(carry, x):
    {block}
    return carry, y


{root}
def step(x):
    carry, results = lax.scan(body, 0.0, jnp.stack([x, x * 0.5]))
    return results
""", frameworks=(JAX,)),
    single("loss with gradient", """
def loss(params, target):
    x = params["w"] - target
    {block}
    return jnp.sum(jnp.square(y))


{root}
def step(x):
    value, gradients = jax.value_and_grad(loss)({"w": x}, x * 0.5)
    return jax.tree.map(lambda p, g: p - 0.1 * g, x, gradients["w"])
""", frameworks=(JAX,)),
    single("flax module", """
import flax.linen as nn


class Refiner(nn.Module):
    gain: float = 2.0

    @nn.compact
    def __call__(self, x):
        {block}
        return y * self.gain


class Model(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
        self.refiner = Refiner()

    def __call__(self, x):
        return self.refiner(self.dense(x))


model = Model()
params = model.init(jax.random.key(0), jnp.ones(4)) if False else {"params": {"dense": {"kernel": jnp.eye(4), "bias": jnp.zeros(4)}}}


{root}
def step(x):
    return model.apply(params, x)
""", frameworks=(JAX,)),
    single("equinox module", """
import equinox as eqx


class Refiner(eqx.Module):
    gain: jax.Array

    def __call__(self, x):
        {block}
        return y * self.gain


class Model(eqx.Module):
    refiner: Refiner

    def __init__(self):
        self.refiner = Refiner(jnp.ones(4))

    def __call__(self, x):
        return self.refiner(x * 2.0)


model = Model()


@eqx.filter_jit
def run_step(model, x):
    return model(x)


def step(x):
    return run_step(model, x)
""", frameworks=(JAX,), untraced=False),
    single("Keras layer", """
class Refiner(keras.layers.Layer):
    def call(self, x):
        {block}
        return y


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.refiner = Refiner()

    def call(self, x):
        return self.refiner(x * 1.5)


model = Model()


{root}
def step(x):
    return model(x)
""", frameworks=(TENSORFLOW,), untraced=False),
    single("train_step", """
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(4, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        inputs, targets = data
        x = self.compute_error(inputs, targets)
        return {"loss": tf.reduce_sum(x)}

    def compute_error(self, inputs, targets):
        x = self(inputs)[0] - targets[0]
        {block}
        return y


model = Model()
model.compile(optimizer="sgd")


def step(x):
    history = model.fit(x[None], x[None] * 2.0, batch_size=1, verbose=0)
    return history.history["loss"]
""", frameworks=(TENSORFLOW,), untraced=False),
    single("Dataset.map", REFINE + """

def step(x):
    dataset = tf.data.Dataset.from_tensors(x).map(refine)
    return list(dataset)
""", frameworks=(TENSORFLOW,), untraced=False),
    single("tf.Module", """
class Refiner(tf.Module):
    def __init__(self, gain):
        super().__init__()
        self.gain = tf.Variable(gain)

    {root}
    def __call__(self, x):
        return self._refine(x) * self.gain

    def _refine(self, x):
        {block}
        return y


refiner = Refiner(2.0)


def step(x):
    return refiner(x)
""", frameworks=(TENSORFLOW,), untraced=False),
    single("gradient tape", """
weights = tf.Variable(tf.ones(4))


def loss(targets):
    x = weights - targets
    {block}
    return tf.reduce_sum(tf.square(tf.cast(y, tf.float32)))


{root}
def step(x):
    with tf.GradientTape() as tape:
        value = loss(x)
    gradients = tape.gradient(value, [weights])
    weights.assign_sub(0.1 * gradients[0])
    return value
""", frameworks=(TENSORFLOW,)),
    single("strategy", REFINE + """

strategy = tf.distribute.get_strategy()


{root}
def step(x):
    return strategy.run(refine, args=(x,))
""", frameworks=(TENSORFLOW,)),
    single("torch module", """
class Refiner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = 2.0

    def forward(self, x):
        {block}
        return y * self.gain


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.refiner = Refiner()

    def forward(self, x):
        return self.refiner(self.linear(x) * 0.0 + x)


step = {root_call}(Model())
""", frameworks=TORCH, untraced=False, is_module=True),
    single("torch Sequential", """
class Refiner(torch.nn.Module):
    def forward(self, x):
        {block}
        return y


step = {root_call}(torch.nn.Sequential(torch.nn.ReLU(), Refiner()))
""", frameworks=TORCH, untraced=False, is_module=True),
    single("torch ModuleList", """
class Refiner(torch.nn.Module):
    def forward(self, x):
        {block}
        return y


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Refiner() for _ in range(2)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


step = {root_call}(Model())
""", frameworks=TORCH, untraced=False, is_module=True),
    single("torch module method", """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def refine(self, x):
        {block}
        return y

    def forward(self, x):
        return self.refine(self.linear(x) * 0.0 + x)


step = {root_call}(Model())
""", frameworks=TORCH, untraced=False, is_module=True),
    single("Module.compile", """
class Refiner(torch.nn.Module):
    def forward(self, x):
        {block}
        return y


model = torch.nn.Sequential(torch.nn.ReLU(), Refiner())
model.compile(fullgraph=True)


def step(x):
    return model(x)
""", frameworks=(COMPILE,), untraced=False),
    single("loss function", REFINE + """

class Trainer:
    def __init__(self, criterion):
        self.linear = torch.nn.Linear(4, 4)
        self.criterion = criterion

    {root}
    def step(self, x):
        return self.criterion(self.linear(x) * 0.0 + x)


step = Trainer(refine).step
""", frameworks=(COMPILE,)),
]
