"""Views of tensors from outside, in results and attributes: the caller and later calls see the memory of the tensor."""

import pytest
import torch
from oracle import t

import autograph as ag


def _assert_same(program):
    found, expected = program(ag.function), program(lambda f: f)
    torch.testing.assert_close(found, expected)


def test_a_view_of_an_argument_that_the_function_changes():
    def program(stage):
        @stage
        def double(x):
            x.mul_(2)
            return x[0], x.t(), x.view(-1)

        found = []
        for _ in range(3):
            x = torch.arange(6.0).reshape(2, 3)
            views = double(x)
            assert views[0].data_ptr() == x.data_ptr() and views[1].stride() == (1, 3)
            views[1].add_(1)
            found += [x, *views]
        return found

    _assert_same(program)


def test_a_cache_that_grows_in_a_buffer():
    def program(stage):
        cache, found = torch.zeros(4, 2), []

        @stage
        def append(x, length):
            cache[length : length + 1] = x
            return cache[: length + 1]

        for length in range(4):
            found.append(append(t(1, 2) + length, length))
        cache[0] = 9
        return found

    _assert_same(program)


def test_a_bound_that_is_known_when_the_graph_runs():
    def program(stage):
        @stage
        def fill(x, n):
            x[: int(n)] = 7
            return x[: int(n)]

        found = []
        for n in (1, 3, 2):
            x = torch.zeros(4)
            fill(x, torch.tensor(n)).add_(1)
            found.append(x)
        return found

    _assert_same(program)


def test_a_view_of_an_updated_parameter_has_its_history():
    def program(stage):
        weight = torch.nn.Parameter(t(1, 2, 3))
        optimizer, found = torch.optim.SGD([weight], 0.1), []

        @stage
        def step(x):
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()
            return weight[1:], weight.detach()

        for k in range(3):
            rows, memory = step(t(1, 2, 3) + k)
            weight.grad = None
            rows.sum().backward()
            memory[0] = 5
            found += [rows.detach().clone(), weight.grad, weight.detach().clone()]
        return found

    _assert_same(program)


@pytest.mark.parametrize("view", [lambda x: x[0], lambda x: x.view(-1), lambda x: x.t(), lambda x: x.expand(2, 3)])
def test_a_view_that_the_caller_changes_in_place(view):
    def program(stage):
        staged, found = stage(view), []
        for _ in range(3):
            leaf = torch.ones(2, 3, requires_grad=True)
            x = leaf * 2
            staged(x).mul_(3)
            found += torch.autograd.grad(x.sum(), leaf)
        return found

    _assert_same(program)


def test_a_view_that_a_function_stores():
    class Holder:
        pass

    def program(stage):
        holder = Holder()
        holder.x = torch.zeros(3)

        @stage
        def store(y):
            holder.x += y
            holder.rest = holder.x[1:]

        for k in range(3):
            store(torch.ones(3) * k)
            holder.rest.mul_(2)
        return holder.x, holder.rest

    _assert_same(program)
