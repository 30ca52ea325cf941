"""Each run reads random numbers and the time, as eager Python does."""

import random
import time

import numpy as np
import pytest
import torch

import autograph as ag
from oracle import assert_same_state, t

CALLS = (t(1, 1), t(4, 1), t(1, 1), t(3, 3))


def random_numbers():
    own, generator = random.Random(3), np.random.default_rng(0)

    def f(x):
        for _ in range(20):
            x = torch.sin(x) + random.random() + np.random.rand()
        if random.random() < 0.5:
            x = x + random.randint(1, 10)
        if x.sum() > 3:
            x = x + random.uniform(0, 1) + own.gauss(0, 1)
        return x * generator.random() + random.choice([1, 2, 3])

    return f, lambda: (random.random(), own.random())


def objects_chosen_at_random():
    def f(x):
        numbers = [1, 2, 3, 4]
        np.random.shuffle(numbers)
        return random.choice([torch.sin, torch.cos])(x) + numbers[0]

    return f


def generator_that_is_seeded():
    def f(x):
        random.seed(3)
        return x * random.random()

    return f


@pytest.mark.parametrize("make", [random_numbers, objects_chosen_at_random, generator_that_is_seeded])
def test_draws(make):
    assert_same_state(make, CALLS)


def test_gradients_with_random_numbers():
    """The backward pass repeats the forward pass with the same random numbers, and does not advance the generators."""

    def f(w, x):
        y = (w * x * random.random()).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g * g).sum() * np.random.rand()

    def run(function):
        random.seed(1)
        np.random.seed(1)
        w, x, found = t(1, 2).requires_grad_(), t(3, 4).requires_grad_(), []
        for _ in range(3):
            found += torch.autograd.grad(function(w, x), w)
        return found, random.random(), np.random.rand()

    torch.testing.assert_close(run(ag.function(f)), run(f))


def test_the_time():
    @ag.function
    def f(x):
        start = time.perf_counter()
        return x + 1, start

    (_, first), (_, second) = f(t(1)), f(t(1))
    assert first < second and len(f.traces) == 1



def test_random_numbers_and_other_draws_from_one_generator():
    """A graph cannot shuffle a list of Python, so Python runs the calls."""

    def make():
        def f(x):
            numbers = [1, 2, 3]
            random.shuffle(numbers)
            return x * random.random() + numbers[0]

        return f, random.random

    with pytest.warns(ag.FallbackWarning, match="from which the function also draws numbers"):
        assert_same_state(make, CALLS)


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2


def functions_chosen_by_a_random_number():
    torch.manual_seed(0)

    def double(x):
        return x * 2

    def f(x):
        noise = torch.rand(2)
        step = double if random.random() < 0.5 else torch.sin
        label = "many" if random.randint(1, 4) + noise.sum() > 3 else None
        return step(x) + noise * np.random.rand(), label is None

    return f, lambda: (random.random(), np.random.rand(), torch.rand(1))


def modules_chosen_by_a_random_number():
    layers = torch.nn.Identity(), Doubled()

    def f(x):
        layer = layers[0] if np.random.rand() < 0.3 else layers[1]
        if x.sum() > 3:
            x = x + random.random()
        return layer(x)

    return f, lambda: (random.random(), np.random.rand())


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("make", [functions_chosen_by_a_random_number, modules_chosen_by_a_random_number])
def test_choices_by_random_numbers_are_decided(make):
    """Generators do not advance while the trace computes a decision, nor in a run that contradicts the decision."""
    assert_same_state(make, CALLS * 3)


@pytest.mark.filterwarnings("ignore:a call of")
def test_an_object_drawn_below_a_condition_on_a_drawn_number():
    """An epsilon-greedy policy has such a condition."""

    def policy(x):
        names = []
        for _ in range(3):
            names.append(random.choice(["left", "right"]) if random.random() < 0.5 else "up")
        return names

    found = []
    for function in (policy, ag.function(policy)):
        random.seed(3)
        found.append([(function(t(1)), random.random()) for _ in range(8)])
    assert found[0] == found[1]


def test_a_key_that_a_branch_adds_beside_objects_drawn_from_the_generator():
    """Python runs calls that draw numbers and objects from one generator, whatever else a graph could not hold."""

    def run(stage):
        random.seed(3)
        counts = {}

        @stage
        def rounds(x):
            for name in random.sample(["a", "b", "c"], 2):
                if random.random() < 0.5:
                    continue
                counts[name] = counts.get(name, 0) + 1
            return x * len(counts)

        return [rounds(t(1, k)) for k in range(6)], counts, random.getstate()

    with pytest.warns(ag.FallbackWarning):
        found = run(ag.function)
    expected = run(lambda f: f)
    torch.testing.assert_close(found[0], expected[0])
    assert found[1:] == expected[1:]
