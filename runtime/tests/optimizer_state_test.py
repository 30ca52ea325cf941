"""An optimizer has state for exactly the parameters that it has updated, as in eager torch."""

import warnings

import pytest
import torch

import autograph as ag
from oracle import t

OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "dampening": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, dampening=0.5),
    "plain": lambda p: torch.optim.SGD(p, 0.1),
    "Adam": lambda p: torch.optim.Adam(p, 0.1, amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.5),
}


def some_are_used(w, v, optimizer):
    def step(x):
        optimizer.zero_grad()
        loss = (v * x).sum()
        if x[0] > 1:
            loss = loss + (w * x).square().sum()
        loss.backward()
        optimizer.step()

    return step


def experts(w, v, optimizer):
    """One of the parameters has state in the first call, and the other parameter gets state later. The loss uses both
    parameters on some paths only."""

    def step(x):
        optimizer.zero_grad()
        loss = (x * x.clone().requires_grad_()).sum()
        if x[0] < 1:
            loss = loss + (v * x).sum()
        if x[1] > 3:
            loss = loss + (w * x).square().sum()
        loss.backward()
        optimizer.step()

    return step


def run(wrap, make, kind):
    w, v = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.5, 0.25))
    optimizer = OPTIMIZERS[kind]([w, v])
    step, found = wrap(make(w, v, optimizer)), []
    for x in (t(-1, 2), t(0.5, 1), t(2, 2), t(3, 1), t(-1, 1), t(2, 5), t(1, 2), t(0, 4)):
        step(x.double())
        states = [{name: torch.as_tensor(value).clone() for name, value in optimizer.state.get(p, {}).items()} for p in (w, v)]
        found.append((w.detach().clone(), v.detach().clone(), states))
    return found


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("make", [some_are_used, experts])
def test_state(make, kind):
    found, expected = run(ag.function, make, kind), run(lambda f: f, make, kind)
    assert [[sorted(s) for s in row[2]] for row in found] == [[sorted(s) for s in row[2]] for row in expected]
    torch.testing.assert_close(found, expected)


def test_branches_remain_in_the_graph_when_the_state_exists():
    w, v = torch.tensor(0.5, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    optimizer = OPTIMIZERS["Adam"]([w, v])
    step = ag.function(some_are_used(w, v, optimizer))
    for x in (t(2, 2), t(2, 3)):
        step(x)
    before = len(step.traces)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (t(0, 2), t(2, 2), t(0.5, 3)):
            step(x)
    assert len(step.traces) == before
