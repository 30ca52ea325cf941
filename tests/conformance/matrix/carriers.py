"""The carriers: the ways in which programs spread one fault over functions, classes and modules."""
from program import Carrier

JAX, TENSORFLOW, COMPILE, EXPORT, SCRIPT = "jax", "tensorflow", "torch_compile", "torch_export", "torchscript"
TORCH = (COMPILE, EXPORT, SCRIPT)
#: Frameworks that run any Python while they trace.
PYTHON = (JAX, TENSORFLOW, COMPILE, EXPORT)


def single(name, body, main="{main}\n", **options):
    """A carrier with one file."""
    return Carrier(name, {"main.py": "{imports}\n{setup}\n" + body.lstrip("\n") + "\n\n" + main}, **options)


REFINE = """
def refine(x):
    {block}
    return y
"""

CARRIERS = [
    single("plain", """
{root}
def step(x):
    {block}
    return y
"""),
    single("helper", REFINE + """

{root}
def step(x):
    return refine(x * 1.5) + 1.0
"""),
    single("two helpers", REFINE + """

def normalize(x):
    centered = x - 0.25
    return refine(centered)


{root}
def step(x):
    return normalize(x * 1.5) + 1.0
"""),
    Carrier("module of the package", {
        "layers.py": "{imports}\n{setup}\n" + REFINE,
        "main.py": """
{imports}
from layers import refine{names}


{root}
def step(x):
    return refine(x * 1.5) + 1.0


{main}
"""}),
    Carrier("module as a namespace", {
        "ops/__init__.py": "from .refinement import refine\n",
        "ops/refinement.py": "{imports}\n{setup}\n" + REFINE,
        "main.py": """
{imports}
import ops
from ops.refinement import refine{names}


{root}
def step(x):
    return ops.refine(x * 1.5) + 1.0


{main}
"""}),
    single("method", """
class Refiner:
    def __init__(self, gain):
        self.gain = gain

    def refine(self, x):
        {block}
        return y * self.gain


refiner = Refiner(2.0)


{root}
def step(x):
    return refiner.refine(x)
""", frameworks=PYTHON),
    single("callable object in a field", REFINE + """

class Pipeline:
    def __init__(self, transform, gain=2.0):
        self.transform = transform
        self.gain = gain

    def __call__(self, x):
        return self.transform(x) * self.gain


pipeline = Pipeline(refine)


{root}
def step(x):
    return pipeline(x)
""", frameworks=PYTHON),
    single("override and super", """
class Base:
    def apply(self, x):
        return self.transform(x) + 1.0

    def transform(self, x):
        return x * 2.0


class Refiner(Base):
    def transform(self, x):
        x = super().transform(x)
        {block}
        return y


refiner = Refiner()


{root}
def step(x):
    return refiner.apply(x)
""", frameworks=PYTHON),
    single("named tuple field", """
import typing


class Batch(typing.NamedTuple):
    values: typing.Any
    count: int


def refine(batch):
    x = batch.values
    {block}
    return y / batch.count


{root}
def step(x):
    return refine(Batch(x * 2.0, 4))
""", frameworks=PYTHON),
    single("dataclass field", """
import dataclasses


@dataclasses.dataclass
class State:
    values: {array}
    count: int = 4


def refine(state):
    x = state.values
    {block}
    return y / state.count


{root}
def step(x):
    state = State(values=x * 2.0)
    return refine(state)
""", frameworks=PYTHON),
    single("item of a dict", """
def refine(features):
    x = features["values"]
    {block}
    return y / features["count"]


{root}
def step(x):
    features = {"values": x * 2.0, "count": 4}
    return refine(features)
""", frameworks=PYTHON),
    single("item of a list", """
{root}
def step(x):
    stages = [x]
    stages.append(stages[-1] * 0.5)
    x = stages[-1]
    {block}
    return y
"""),
    single("unpacked result", """
def prepare(x, gain):
    return x * gain, gain + 1.0


{root}
def step(x):
    x, gain = prepare(x, 2.0)
    {block}
    return y * gain
""", frameworks=PYTHON),
    single("closure of a factory", """
def make_refiner(gain):
    def refine(x):
        {block}
        return y * gain

    return refine


refine = make_refiner(2.0)


{root}
def step(x):
    return refine(x)
""", frameworks=PYTHON),
    single("factory of the step", """
def make_step(gain):
    {root}
    def step(x):
        {block}
        return y * gain

    return step


step = make_step(2.0)
""", frameworks=PYTHON),
    single("partial", """
import functools


def refine_with(gain, x):
    {block}
    return y * gain


refine = functools.partial(refine_with, 2.0)


{root}
def step(x):
    return refine(x)
""", frameworks=PYTHON),
    single("decorator of the project", """
import functools


def named(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@named
def refine(x):
    {block}
    return y


{root}
def step(x):
    return refine(x * 1.5)
""", frameworks=PYTHON),
    single("lambda", REFINE + """

shifted = lambda x: refine(x - 0.25)


{root}
def step(x):
    return shifted(x)
""", frameworks=PYTHON),
    single("function as an argument", REFINE + """

def twice(function, x):
    return function(x) + function(x * 0.5)


{root}
def step(x):
    return twice(refine, x)
""", frameworks=PYTHON),
    single("comprehension", REFINE + """

{root}
def step(x):
    parts = [refine(part) for part in (x, x * 0.5)]
    return parts[0] + parts[1]
""", frameworks=PYTHON),
    single("list of functions", REFINE + """

def shift(x):
    return x - 0.25


STAGES = [shift, refine]


{root}
def step(x):
    for stage in STAGES:
        x = stage(x)
    return x
""", frameworks=PYTHON),
    single("registry", """
REGISTRY = {}


def register(name):
    def decorate(function):
        REGISTRY[name] = function
        return function

    return decorate


@register("refine")
def refine(x):
    {block}
    return y


transform = REGISTRY["refine"]


{root}
def step(x):
    return transform(x)
""", frameworks=PYTHON),
    single("init and update", """
import typing


class Transformation(typing.NamedTuple):
    init: typing.Callable
    update: typing.Callable


def refinement(gain):
    def init(x):
        return {"sum": x * 0.0}

    def update(x, state):
        {block}
        return y * gain, {"sum": state["sum"] + x}

    return Transformation(init, update)


transformation = refinement(2.0)


{root}
def step(x):
    state = transformation.init(x)
    x, state = transformation.update(x, state)
    return x + state["sum"]
""", frameworks=PYTHON),
    single("property", """
class Batch:
    def __init__(self, values):
        self.values = values

    @property
    def refined(self):
        x = self.values
        {block}
        return y


{root}
def step(x):
    batch = Batch(x * 2.0)
    return batch.refined + 1.0
""", frameworks=PYTHON),
    single("context manager", """
import contextlib


@contextlib.contextmanager
def section(name):
    yield name


{root}
def step(x):
    with section("refine"):
        {block}
    return y + 1.0
""", frameworks=PYTHON),
    single("default argument", REFINE + """

def apply(x, transform=refine):
    return transform(x) + 1.0


{root}
def step(x):
    return apply(x)
""", frameworks=PYTHON),
    single("star arguments", """
def refine(x, gain):
    {block}
    return y * gain


def call(function, *args, **kwargs):
    return function(*args, **kwargs)


{root}
def step(x):
    return call(refine, x, gain=2.0)
""", frameworks=PYTHON),
    single("nested function", """
{root}
def step(x):
    offset = x * 0.0

    def refine(x):
        {block}
        return y + offset

    return refine(x * 2.0)
""", frameworks=PYTHON),
    single("method of a local object", """
class Accumulator:
    def __init__(self, start):
        self.values = start

    def add(self, change):
        self.values = self.values + change

    def refined(self):
        x = self.values
        {block}
        return y


{root}
def step(x):
    accumulator = Accumulator(x)
    accumulator.add(x * 0.5)
    return accumulator.refined()
""", frameworks=PYTHON),
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
