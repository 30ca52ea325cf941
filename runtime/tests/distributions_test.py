"""`torch.distributions` in staged code: samples, densities and invalid parameters."""

import pytest
import torch
from torch import distributions as D

import autograph as ag
from oracle import t


def assert_same(program, *arguments):
    """Asserts that a program has the same results, or raises the same error, staged and eager. Returns the result or the
    message."""
    results = []
    for run in (program, ag.function(program)):
        torch.manual_seed(0)
        try:
            results.append(run(*arguments))
        except ValueError as error:
            results.append(str(error))
    if isinstance(results[0], str):
        assert results[1] == results[0]
    else:
        torch.testing.assert_close(results[1], results[0], equal_nan=True)
    return results[0]


def sample_and_density(make, x):
    """Returns a sample of a distribution, the density of the sample, and the mean."""
    d = make(x)
    s = d.sample()
    return s, d.log_prob(s), d.mean


@pytest.mark.parametrize(
    "make",
    [
        lambda x: D.Categorical(logits=x),
        lambda x: D.Normal(x, x.exp()),
        lambda x: D.Bernoulli(torch.sigmoid(x)),
        lambda x: D.MultivariateNormal(x, torch.eye(2)),
        lambda x: D.Gamma(x, x),
        lambda x: D.Dirichlet(x),
        lambda x: D.Binomial(5, logits=x),
        lambda x: D.Independent(D.Laplace(x, x), 1),
        lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, x)),
    ],
)
def test_samples(make):
    assert_same(sample_and_density, make, t(1.0, 2.0))


def test_in_a_staged_loop():
    def walk(x, n):
        for _ in range(n):
            x = x + D.Normal(x.mean(), 1.0).rsample((2,))
            if D.Bernoulli(0.3).sample() > 0:
                x = x * 0.5
        return x

    assert_same(walk, t(1.0, 2.0), torch.tensor(7))


def test_invalid_parameters_raise_when_the_graph_runs():
    def density(scale, x):
        return D.Normal(0.0, scale).log_prob(x)

    assert_same(density, t(1.0, 2.0), t(0.5, 0.5))
    message = assert_same(density, t(1.0, -2.0), t(0.5, 0.5))
    assert "Expected parameter scale (Tensor of shape (2,))" in message
    assert "Expected value argument" in assert_same(density, t(1.0, 2.0), t(torch.nan, 0.5))


def test_constructors_are_staged():
    class Signed:
        def __init__(self, x):
            if x.sum() > 0:
                self.value = x
            else:
                self.value = -x

    def f(x):
        return Signed(x).value * 2

    for x in (t(1.0, 2.0), t(-1.0, -2.0)):
        assert_same(f, x)
