"""A leaf has no gradient on paths on which a value is computed from the leaf but the loss does not depend on the leaf.
On these paths, weight decay and momentum do not change the leaf."""

import pytest
import torch

import autograph as ag
from oracle import t

CALLS = t(1, 2), t(-1, -2), t(3, -4), t(-3, 1), t(2, 2)


def expression(w, v, x):
    h = w * x
    return h.sum() if x.sum() > 0 else (v * x).sum()


def early_return(w, v, x):
    h = (w * x).exp()
    if not (x > 0).any():
        return x.sum() * v
    return (h * v).mean()


def nested(w, v, x):
    h, k = w * x, v * x
    if x.sum() > 0:
        if x[0] > 2:
            return h.sum()
        return (h * k).sum()
    return k.sum()


def inner_branch(w, v, x):
    h, total = w * x, (v * x).sum()
    if x.sum() > 0:
        total = total * 2
        if x[0] > 2:
            total = total + h.sum()
        elif x[1] > 1:
            return total
    else:
        total = total * 3
    return total + x.sum()


def masked_by_a_flag(w, v, x):
    total = (v * x).sum()
    penalty = (w**2).sum()
    if x[0] > 0:
        total = total + penalty
    if x[1] > 0:
        total = total + x.sum()
    return total


def in_a_loop(w, v, x):
    h, total, n = w * x, v.sum(), 0
    while n < x.sum():
        total = total * 0.5
        n += 1
    return total + h.sum() if x[0] > 1 else total


def both_branches(w, v, x):
    h = w * x
    return (h.sum() if x.sum() > 0 else h.mean()) * v


def with_an_inner_error(w, v, x):
    h, total = w * x, (v * x).sum()
    if x.sum() > -100:
        if x[0] > 1:
            total = total + h.sum()
    else:
        raise ValueError
    return total


def with_an_error(w, v, x):
    h = w * x
    if x.sum() > 100:
        raise ValueError
    return h.sum() * v


PROGRAMS = [
    expression, early_return, nested, inner_branch, masked_by_a_flag, in_a_loop, both_branches, with_an_inner_error, with_an_error
]  # fmt: skip


def train(wrap, loss, is_inside):
    w, v = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.5, 0.25))
    optimizer = torch.optim.SGD([w, v], lr=0.1, momentum=0.9, weight_decay=0.1)
    value = (lambda x: loss(w, v, x)) if is_inside else wrap(lambda x: loss(w, v, x))

    def step(x):
        optimizer.zero_grad()
        value(x).backward()
        optimizer.step()

    step = wrap(step) if is_inside else step
    found = []
    for x in CALLS:
        step(x.double())
        found.append((w.detach().clone(), v.detach().clone(), w.grad is None, v.grad is None))
    return found


@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.parametrize("loss", PROGRAMS)
def test_training(loss, is_inside):
    found, expected = train(ag.function, loss, is_inside), train(lambda f: f, loss, is_inside)
    assert [row[2:] for row in found] == [row[2:] for row in expected]
    torch.testing.assert_close([row[:2] for row in found], [row[:2] for row in expected])


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("loss", PROGRAMS)
def test_unused_inputs(loss):
    def gradients(x):
        found = torch.autograd.grad(loss(w, v, x).sum(), (w, v), allow_unused=True)
        return [torch.zeros(0) if g is None else g for g in found]

    w, v = torch.tensor(0.5, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    for first in range(len(CALLS)):
        staged = ag.function(gradients)
        for x in CALLS[first:]:
            torch.testing.assert_close(staged(x), gradients(x))


def test_unconditional_gradients_need_no_condition():
    w = torch.ones(2, requires_grad=True)
    for loss in (both_branches, with_an_error):
        graph = ag.function(lambda x, loss=loss: loss(w, w, x).sum().backward()).graph(t(1, 2))
        assert "scalar.and" not in graph and "scalar.not" not in graph, graph
