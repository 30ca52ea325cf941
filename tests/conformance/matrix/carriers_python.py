"""The carriers that Python itself offers: functions, classes, containers, modules."""
from program import PYTHON, REFINE, Carrier, single

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
]
