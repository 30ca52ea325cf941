"""Lists and dictionaries as arguments have the same contents after a run as after eager execution."""

import pytest
import torch

import autograph as ag
from oracle import assert_same, t


def test_a_list_that_grows():
    def f(xs, n):
        for i in range(n):
            xs.append(xs[-1] * 2)
        return len(xs)

    assert_same(f, ([t(1)], torch.tensor(3)), ([t(1)], torch.tensor(0)))


def test_items_in_one_branch():
    def f(xs, x):
        if x.sum() > 0:
            xs[0] = xs[0] + 1
        else:
            del xs[1]
        return x

    assert_same(f, ([t(1), t(3)], t(1)), ([t(1), t(3)], t(-1)))


def test_a_dictionary():
    def f(d, n):
        for i in range(n):
            d["a"] = d["a"] * 2
        if n > 2:
            d["b"] = d["a"] + 1
        else:
            d["b"] = d["a"]
        d["c"] = 5
        return d

    assert_same(f, ({"a": t(1), "b": t(2)}, torch.tensor(3)), ({"b": t(1), "a": t(2)}, torch.tensor(1)))


def test_nested_containers():
    def f(state, x):
        h, cs = state
        cs[0]["m"] = cs[0]["m"] + x
        cs.append(h)
        return cs, state

    assert_same(f, ((t(1), [{"m": t(2)}]), t(1, 2)))


def test_a_returned_argument_is_the_same_object():
    @ag.function
    def f(xs, x):
        xs.append(x)
        return xs, xs + [x]

    xs = [t(1)]
    same, other = f(xs, t(2))
    assert same is xs and len(xs) == 2 and len(other) == 3


def test_changes_before_an_exception_remain():
    @ag.function
    def f(xs, x):
        xs.append(x)
        if x.sum() > 0:
            raise ValueError("too large")
        return x

    xs = [t(1)]
    with pytest.raises(ValueError, match="too large"):
        f(xs, t(2))
    assert len(xs) == 2
    f(xs, t(-2))
    assert len(xs) == 3


def test_items_that_a_branch_does_not_change_stay_the_same_objects():
    weight = torch.ones(3, requires_grad=True)
    group = {"params": [weight], "lr": 0.5, "history": []}
    pairs = [weight, t(1)]

    @ag.function
    def f(x):
        y = (x * weight).sum()
        if torch.isnan(y):
            return None
        group["lr"] = group["lr"] * 0.5
        pairs[1] = pairs[1] + y.detach()
        return y

    params, history = group["params"], group["history"]
    for count in (1, 2, 3):
        f(t(1, 2, 3)).backward()
        assert group["params"] is params and params[0] is weight and group["history"] is history and pairs[0] is weight
        torch.testing.assert_close(weight.grad, t(1, 2, 3) * count)
        assert group["lr"] == 0.5 * 0.5**count and pairs[1].item() == 1 + 6 * count
    assert f(t(1, 2, float("nan"))) is None and group["lr"] == 0.5**4


def test_items_that_a_loop_does_not_change_stay_the_same_objects():
    weight = torch.ones(3, requires_grad=True)
    state = {"weights": [weight], "total": t(0), "last": weight}

    @ag.function
    def f(n):
        i = 0
        while i < n:
            state["total"] = state["total"] + state["weights"][0].detach().sum()
            if state["total"] > 8:
                state["last"] = state["last"] * 2
            i = i + 1
        return state["total"]

    weights = state["weights"]
    f(torch.tensor(4))
    assert state["weights"] is weights and weights[0] is weight
    assert state["total"].item() == 12 and torch.equal(state["last"], weight * 4)


def test_a_scheduler_below_a_staged_condition():
    def trained(stage):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))

        @stage
        def step(x):
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            if torch.isnan(loss):
                return None
            loss.backward()
            optimizer.step()
            scheduler.step()
            return loss.detach()

        xs = [torch.ones(2, 3), torch.ones(2, 3) * 2, torch.full((2, 3), float("nan")), torch.ones(2, 3)]
        losses = [step(x) for x in xs]
        assert all(a is b for a, b in zip(optimizer.param_groups[0]["params"], model.parameters()))
        return losses, optimizer.param_groups[0]["lr"], [p.detach() for p in model.parameters()]

    torch.testing.assert_close(trained(ag.function), trained(lambda f: f))


def test_a_list_that_grows_below_a_condition_needs_one_trace():
    def program(stage):
        history, losses = [], []
        weight = torch.ones(3, requires_grad=True)

        @stage
        def step(x):
            loss = (x * weight).sum()
            if torch.isnan(loss):
                return None
            history.append({"loss": loss.detach(), "rate": 0.1})
            if loss > 3:
                losses.append(loss.item())
            return loss.detach()

        found, kept = [], []
        for k in (1, 2, float("nan"), 0.5, 1, 3):
            found.append(step(torch.full((3,), float(k))))
            assert all(a is b for a, b in zip(kept, history))
            kept = list(history)
        return found, history, losses, step

    with pytest.warns(ag.FallbackWarning):
        *found, staged = program(ag.function)
    torch.testing.assert_close(found, list(program(lambda f: f)[:-1]))
    assert len(staged.traces) == 1 and sum(staged.fallbacks.values()) == 3


def test_a_list_that_is_read_below_a_condition():
    history = [t(1)]

    @ag.function
    def step(x):
        if x.sum() > 3:
            history.append(history[-1] * 2)
        return x + len(history)

    assert [step(t(k)).item() for k in (1, 4, 5, 2)] == [2, 6, 8, 5]
    assert [x.item() for x in history] == [1, 2, 4]
