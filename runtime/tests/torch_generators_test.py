"""The graph draws from each `torch.Generator` of the program, and seeds it, when it runs."""

import random
import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_same_state, t

CALLS = (t(1, 1), t(-4, 1), t(1, 1), t(3, 3))


def drawn_and_seeded():
    """Each generator is only drawn from, or only seeded, on some paths."""
    torch.manual_seed(0)
    generator, seeded = torch.Generator().manual_seed(3), torch.Generator().manual_seed(4)

    def f(x):
        if x.sum() > 3:
            seeded.manual_seed(7)
        for _ in range(3):
            if torch.rand((), generator=generator) < 0.5:
                x = x + torch.randn(2, generator=generator) + torch.rand(2)
        return x

    return f, lambda: [torch.rand(2, generator=g) for g in (generator, seeded)]


def drawn_by_operators():
    generator = torch.Generator().manual_seed(3)

    def f(x):
        y = torch.empty(len(x), 3).uniform_(-1, 1, generator=generator)
        y.normal_(generator=generator)
        noise = -torch.empty_like(y).exponential_(generator=generator).log()
        picked = torch.multinomial(torch.softmax(y, -1), 2, generator=generator)
        coin = torch.bernoulli(torch.sigmoid(x), generator=generator)
        return noise, picked, coin, torch.randperm(4, generator=generator), torch.randint(9, (2,), generator=generator)

    return f, generator.get_state


def state_that_is_read_and_set():
    generator = torch.Generator().manual_seed(3)

    def f(x):
        state = generator.get_state()
        first = torch.rand(2, generator=generator)
        generator.set_state(state)
        return x + first, torch.rand(2, generator=generator), generator.initial_seed()

    return f, generator.get_state


def drawn_until_a_sum():
    generator = torch.Generator().manual_seed(3)

    def f(x):
        n = 0
        while x.sum() < 5:
            x = x + torch.rand(2, generator=generator)
            n += 1
        return x, n

    return f, generator.get_state


def replaced_between_calls():
    class Sampler:
        def __init__(self):
            self.generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
            self.generator = self.generators[0]

    sampler = Sampler()

    def f(x):
        sampler.generators.reverse()
        sampler.generator = sampler.generators[0]
        return x + torch.rand(2, generator=sampler.generator)

    return f, lambda: [generator.get_state() for generator in sampler.generators]


def the_default_generator():
    torch.manual_seed(0)

    def f(x):
        return torch.rand(2, generator=torch.default_generator) + torch.rand(2) * x

    return f, torch.get_rng_state


@pytest.mark.parametrize(
    "make",
    [
        drawn_and_seeded,
        drawn_by_operators,
        state_that_is_read_and_set,
        drawn_until_a_sum,
        replaced_between_calls,
        the_default_generator,
    ],
)
def test_draws(make):
    assert_same_state(make, CALLS)


def test_a_generator_among_the_arguments():
    def f(x, seed, generator):
        if generator is not None:
            generator.manual_seed(seed)
        return x + torch.randn(2, generator=generator)

    def run(function):
        torch.manual_seed(0)
        first, second = torch.Generator(), torch.Generator()
        calls = [(1, first), (2, second), (3, first), (4, None), (1, second)]
        return [function(t(1), seed, generator) for seed, generator in calls], first.initial_seed()

    torch.testing.assert_close(run(ag.function(f)), run(f))


def test_gradients():
    """The derivative draws the same numbers again, and does not advance the generator."""

    def run(stage):
        generator, w = torch.Generator().manual_seed(3), t(1, 2).requires_grad_()
        f = stage(lambda x: (w * w * torch.randn(2, generator=generator) * x).sum())
        for x in CALLS:
            f(x).backward()
        return w.grad, generator.get_state()

    torch.testing.assert_close(run(ag.function), run(lambda f: f))


def test_a_failed_run_restores_the_generator():
    def run(stage):
        generator = torch.Generator().manual_seed(3)

        def f(x):
            y = x + torch.rand(2, generator=generator)
            if x.sum() > 3:
                raise ValueError("large")
            return y

        f, found = stage(f), []
        for x in CALLS:
            try:
                found.append(f(x))
            except ValueError:
                generator.manual_seed(3)  # a failed run leaves no change, eager Python has drawn
        return found

    torch.testing.assert_close(run(ag.function), run(lambda f: f))


def test_what_is_refused():
    generator = torch.Generator()

    @ag.function
    def seeded_at_random(x):
        generator.seed()
        return x

    with pytest.raises(ag.StagingError, match="64 bits without a sign"):
        seeded_at_random(t(1))


@pytest.mark.parametrize("is_shared", [True, False])
def test_python_runs_calls_with_generators_of_the_function_or_of_a_library(is_shared):
    """A trace that ends at such a draw has changed nothing."""

    def run(stage):
        generator = torch.Generator().manual_seed(5)
        w, seen, places = torch.zeros(2, requires_grad=True), [], iter(range(100))
        optimizer = torch.optim.SGD([w], 0.1)

        @stage
        def epoch(x, rate):
            seen.append(next(places))
            noise = torch.rand(2, generator=torch.Generator().manual_seed(3))
            own = torch.randint(9, (), generator=generator) + random.random()
            data = torch.utils.data.TensorDataset(x, x.sum(1))
            for batch, y in torch.utils.data.DataLoader(data, 2, shuffle=True, generator=generator if is_shared else None):
                loss = ((batch + noise) @ w - y).pow(2).mean() * rate
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.append(loss.item())
            return w.detach().clone(), own

        torch.manual_seed(1)
        random.seed(1)
        found = [epoch(torch.arange(10.0 + 2 * (k % 2)).view(-1, 2) / 10, 1 + k % 3) for k in range(6)]
        return found, seen, generator.get_state(), torch.get_rng_state(), random.getstate()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run(ag.function)
    assert any("that the staged function creates" in str(warning.message) for warning in caught)
    torch.testing.assert_close(found, run(lambda f: f), rtol=0, atol=0)
