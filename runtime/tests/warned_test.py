"""`warnings.warn` in staged functions: each run warns, at the line of the user's code."""

import contextlib
import warnings

import pytest

import autograph as ag
from oracle import t


def helper(x):
    warnings.warn("in the caller", stacklevel=2)
    if x.sum() > 3:
        warnings.warn(f"large: {x.sum().item():.1f}", RuntimeWarning)
    return x


def f(x):
    for _ in range(2):
        x = helper(x) + 1
    return x


@pytest.mark.parametrize("options", [{}, {"fallback": "eager"}])
def test_each_run_warns(options):
    found = []
    for function in (f, ag.function(f, **options)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = [function(t(k, 1)) for k in (1, 5, 2)]
        found.append([(w.filename, w.lineno, w.category, str(w.message)) for w in caught])
        assert all(result.shape == (2,) for result in results)
    assert found[1] == found[0] and len(found[0]) == 10


def test_the_usual_filter_shows_a_warning_once():
    staged = ag.function(f)
    with pytest.warns(UserWarning) as caught, warnings.catch_warnings():
        warnings.simplefilter("default")
        staged(t(0, 0)), staged(t(0, 1))
    assert len(caught) <= 1


def test_filters_that_the_function_sets():
    def quiet(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("not shown")
        return x + 1

    staged = ag.function(quiet)
    with warnings.catch_warnings(record=True) as caught, contextlib.suppress(UserWarning):
        warnings.simplefilter("always")
        staged(t(1)), staged(t(2))
    assert not caught
