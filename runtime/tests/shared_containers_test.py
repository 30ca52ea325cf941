"""Lists and dictionaries that are the same object in two variables on some paths only: `if x.sum() > 2: a = b`."""

import types
import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_same, assert_same_state, refusal, t

CALLS = (t(0, 1),), (t(2, 1),), (t(4, 1),), (t(0, 0),)


def changed_after(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    b.append(x)
    return a, b


def other_changed_after(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    a[0] = x * 3
    return a, b


def expression(x):
    a = [x * 2]
    b = a if x.sum() > 2 else [x]
    b.append(x)
    return a, b


def dictionary(x):
    a, b = {"k": x}, {"k": x * 2}
    if x.sum() > 2:
        b = a
    else:
        b = {"k": x * 4}
    a["k"] = x * 3
    return a, b


def both(x):
    a, b = [x, x + 1], None
    if x.sum() > 2:
        a.append(x * 2)
        b = a
    else:
        b = a
    b.append(x)
    return a, b, a is b


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", [changed_after, other_changed_after, expression, dictionary, both])
def test_a_container_that_is_changed(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def not_changed(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    return a, b


def best(x):
    found, score = [x], torch.zeros(())
    for n in range(20):
        current = [x * n]
        current.append(x)
        if x.sum() * n % 7 > score:
            found, score = current, x.sum() * n % 7
    return found, score


def extended(x):
    a = [x]
    if x.sum() > 2:
        a = a + [x]
    a.append(x * 2)
    return a


@pytest.mark.parametrize("function", [not_changed, best, extended])
def test_a_container_that_the_graph_merges(function):
    """One graph serves all calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1


def test_a_change_that_cannot_be_decided_is_refused():
    def f(x):
        a, b = [x], [x * 2]
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            b = a
        b.append(x)
        return a, b

    message = refusal(f, t(3, 4))
    assert "on some paths only" in message and "copy the list where it is assigned" in message


@pytest.mark.filterwarnings("ignore:a call of")
def test_a_list_that_two_attributes_share_is_replaced_in_a_loop():
    class State:
        pass

    def make():
        state = State()
        state.items = state.same = [1.0, 2.0]

        def f(x):
            n = 0
            while n < x.sum():
                state.items.reverse()
                if n > 1:
                    state.items = [3.0, x.sum().item()]
                n += 1
            return x

        return f, lambda: (state.items is state.same, list(state.items), list(state.same))

    for call in CALLS:
        assert_same_state(make, [call[0]])


class Shared:
    """Attributes of which two pairs hold the same container."""

    def __init__(self):
        self.items = self.same = [1.0, 2.0]
        self.counts, self.other, self.log = {"n": 1.0}, {"n": 2.0}, []

    def trim(self):
        self.items = self.items[-1:]

    def share(self):
        self.same = self.items

    def state(self):
        holders = [self.items, self.same, *(v for v in self.log)]
        is_same = [[a is b for b in holders] for a in holders]
        return is_same, self.counts is self.other, *map(list, holders), dict(self.counts), dict(self.other)


def replaced_by_a_method(s, x):
    if x.sum() > 3:
        s.trim()
    s.items.append(x.sum().item())


def shared_by_a_method(s, x):
    s.items = s.items[:]
    if x.sum() > 3:
        s.share()


def shared_in_a_loop(s, x):
    s.items, n = s.items[:], 0
    while n < x.sum():
        s.same = s.items
        n += 1


def shared_by_a_method_in_a_loop(s, x):
    s.items, n = s.items[:], 0
    while n < x.sum():
        s.share()
        n += 1


def new_in_two_attributes(s, x):
    if x.sum() > 3:
        s.items = s.same = [1.0]
    else:
        s.items = [2.0]


def dictionary_in_a_loop(s, x):
    n = 0
    while n < x.sum():
        s.counts = s.other
        n += 1
    s.counts["n"] += 1


def inside_another_list(s, x):
    if x.sum() > 3:
        s.log = [s.items]
    else:
        s.log = [[0.0]]
    s.items[0] += 1


def inside_another_list_in_a_loop(s, x):
    n = 0
    while n < x.sum():
        s.log = [s.items]
        n += 1
    s.items[0] += 1


def replaced_where_numbers_are_inputs(s, x):
    if x.sum() > 3:
        s.items = [max(s.items), 2.0]
    else:
        s.items[:1] = [s.items[-1] + 1]


@pytest.mark.filterwarnings("ignore:a call of", "ignore:.*is traced for the 6th time")
@pytest.mark.parametrize(
    "function",
    [replaced_by_a_method, shared_by_a_method, shared_in_a_loop, shared_by_a_method_in_a_loop, new_in_two_attributes,
     dictionary_in_a_loop, inside_another_list, inside_another_list_in_a_loop, replaced_where_numbers_are_inputs],
)  # fmt: skip
def test_containers_in_attributes_stay_shared_after_the_call(function):
    def program(stage):
        shared, found = Shared(), []
        step = stage(function)
        for n in (0.5, 1.5, 3, 1, 4):
            step(shared, t(n, n))
            found.append(shared.state())
            shared.items.append(9.0)
            shared.other["z"] = 1.0
        return found

    assert program(ag.function) == program(lambda f: f)


def new_in_two_variables(x):
    a, b = [x], [x]
    if x.sum() > 3:
        a = [x * 2]
        b = a
    a.append(x)
    return len(a), len(b)


def held_by_another_variable(x):
    a = [x]
    b = a
    if x.sum() > 3:
        a = a + [x]
    a.append(x)
    return len(a), len(b)


def assigned_in_a_loop(x):
    a, b, n = [x], [x * 2], 0
    while n < x.sum():
        b.append(x)
        b = a
        n += 1
    b.append(x)
    return len(a), len(b)


def new_in_a_loop(x):
    a, b, n = [x], [x * 2], 0
    while n < x.sum():
        a = [x, x]
        b = a
        n += 1
    b.append(x)
    return len(a), len(b)


def many_iterations(x):
    a = [x]
    for _ in range(20):
        x = x * 1.1
        b = a
    b.append(x)
    return len(a), x


def dictionaries(x):
    d = e = {"k": x}
    if x.sum() > 3:
        d = {"k": x * 2}
        e = d
    d["k"] = x * 5
    return e["k"]


def dictionaries_in_a_loop(x):
    d, e, n = {"k": x}, {"k": x}, 0
    while n < x.sum():
        d = {"k": x * 2}
        e = d
        n += 1
    d["k"] = x * 5
    return e["k"]


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [new_in_two_variables, held_by_another_variable, assigned_in_a_loop, new_in_a_loop, many_iterations, dictionaries,
     dictionaries_in_a_loop],
)  # fmt: skip
def test_containers_in_variables_stay_shared(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def test_an_attribute_that_cannot_be_decided_is_refused():
    shared = Shared()

    def f(x):
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            shared.items = [3.0]
        return x

    message = refusal(f, t(3, 4))
    assert "`shared.items` is the list of another variable or attribute on some paths only" in message


def grown_in_a_loop(x):
    out, n = [], 0
    while n < x.sum():
        out = out + [x]
        if n > 1:
            out.append(x)
        n += 1
    return out


def previous_row(x):
    previous = [x] * 2
    for i in range(20):
        current = [x * i, previous[0] + previous[1]]
        previous = current
    return torch.stack(previous)


@pytest.mark.parametrize("function", [grown_in_a_loop, previous_row])
def test_lists_of_loops_that_nothing_shares(function):
    """One graph serves all calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1


def one_of_two_tensors(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        b = a
    b += 1
    return a, b


def original_is_changed(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        b = a
    a[0] = 7
    return a, b


def row_of_another_tensor(x):
    a, b = torch.outer(x, x), x * 2
    if x.sum() > 3:
        b = a[0]
    b.mul_(2)
    return a, b


def argument_on_one_path(x):
    if x.sum() > 3:
        x = x * 2
    x += 1
    return x


def new_tensor_in_two_variables(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        a = b = x * 3
    b += 1
    return a, b


def tensor_in_a_loop(x):
    a, b, n = x * 1, x * 2, 0
    while n < x.sum():
        b = a
        n += 1
    b += 1
    return a, b


def changed_in_the_next_iteration(x):
    a, b, n = x * 1, x * 2, 0
    while n < x.sum():
        b += 1
        b = a
        n += 1
    return a, b


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [one_of_two_tensors, original_is_changed, row_of_another_tensor, argument_on_one_path, new_tensor_in_two_variables,
     tensor_in_a_loop, changed_in_the_next_iteration],
)  # fmt: skip
def test_tensors_in_variables_stay_shared(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def test_a_change_of_a_tensor_that_cannot_be_decided_is_refused():
    def f(x):
        a, b = x * 1, x * 2
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            b = a
        b += 1
        return a, b

    message = refusal(f, t(3, 4))
    assert "on some paths only" in message and "`a = b.clone()`" in message


def changed_where_nothing_else_holds_it(x):
    y = torch.zeros_like(x)
    if x.sum() > 2:
        y = y + x
    y[0] = 5
    return y


def changed_after_elif(x):
    y, items = torch.zeros_like(x), [x]
    if x.sum() > 2:
        y, items = y + x, [x * 2]
    elif x.sum() > 0:
        for _ in range(20):
            y = y * 2 + x
            if y.sum() > 3:
                items = [y * 2]
    y[0] = 5
    items.append(x)
    return y, items


@pytest.mark.parametrize("function", [changed_where_nothing_else_holds_it, changed_after_elif])
def test_a_tensor_that_nothing_shares_is_merged(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1


def stored_in_each_iteration(x):
    u, table = x * 2, {"n": x}
    for _ in range(20):
        u += 1
        table["u"] = u
    return u, table


def stored_again(x):
    u, table = x * 2, {}
    table["u"] = u
    while u.sum() < 10:
        u += 1
        table["u"] = u
    return u, table


def rotated(x):
    p, q, r = [x], [x * 2], [x * 3]
    n = 0
    while n < x.sum():
        p, q, r = q, r, p
        n += 1
    p.append(x)
    return p, q, r


def moved_by_attributes(x):
    box = types.SimpleNamespace(a=[x], b=[x * 2])
    n = 0
    while n < x.sum():
        box.a, box.b = box.b, box.a
        n += 1
    box.a.append(x)
    return box.a, box.b


def inner_loop(x):
    u, v = x * 2, x * 3
    for i in range(20):
        for _ in range(int(x.sum())):
            u = v
        x = x + 0
    u += 1
    return u, v


def inner_branch(x):
    p, q = [x], [x * 2]
    if x.sum() > 0:
        if x.sum() > 2:
            p = q
        x = x * 2
    p.append(x)
    return p, q


def from_a_list(x):
    items, u = [x * 2, x * 3], x * 4
    for i in range(20):
        if x.sum() * i > 20:
            u = items[0]
    u += 1
    return items, u


def compared(x):
    p, q = [x], [x * 2]
    r = p if x.sum() > 2 else q
    u = x * 2
    v = u if x.sum() > 0 else x * 3
    d, e = {"n": x}, {"n": x * 2}
    if x.sum() > 2:
        e = d
    return x * ((r is p) + 2 * (v is not u) + 4 * (d is e)), r is None


MOVES = [compared, stored_in_each_iteration, stored_again, rotated, moved_by_attributes, inner_loop, inner_branch, from_a_list]


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", MOVES)
def test_moves(function):
    """The results are equal, or the call is refused at its line. There are never two containers in place of one."""
    for first in range(len(CALLS)):
        try:
            assert_same(function, *CALLS[first:])
        except ag.StagingError as error:
            assert "on some paths only" in str(error) and "line" in str(error)


TREE = {}


def test_a_branch_that_moves_objects_from_outside_keeps_their_identity():
    """If an object is changed after the calls, all names for the object show the change."""

    def swapped(x, k):
        if int(k) > 2:
            TREE["left"], TREE["right"] = TREE["right"], TREE["left"]
        return x * 2

    for make in (lambda n: {"v": n}, lambda n: [n]):
        left, right = make(1.0), make(2.0)
        TREE.update(left=left, right=right)
        staged = ag.function(swapped)
        for k in (3, 3, 1, 3):
            expected = (TREE["right"], TREE["left"]) if k > 2 else (TREE["left"], TREE["right"])
            staged(torch.ones(1), torch.tensor(k))
            assert (TREE["left"], TREE["right"]) == expected and TREE["left"] is expected[0] and TREE["right"] is expected[1]


def _list_of_elif(x, n):
    items = [x]
    pair = items, 1
    if x.sum() > 0:
        items = [x * 2]
    elif n > 0:
        items = [x * 3]
    items.append(x)
    return items, pair


def _tensor_of_elif(x, n):
    y = x * 1
    first = y
    if x.sum() > 0:
        y = y * 2
    elif n > 2:
        y = y * 3
    elif n > 0:
        y = y * 4
    y += 1
    return y, first


def _list_of_a_loop_in_a_branch(x, n):
    items = [x]
    pair = items, 1
    if x.sum() > 0:
        items = [x * 2]
    else:
        while n > 0:
            n = n - 1
            items = [x * n]
    items.append(x)
    return items, pair


def _attribute_of_a_loop_in_a_branch(x, n):
    box = Holder()
    box.items = [x]
    history = [box.items]
    if x.sum() < 0:
        while n > 0:
            n = n - 1
            box.items = [x * n]
    box.items.append(x)
    return box.items, history


class Holder:
    pass


def _item_of_a_new_list(x, n):
    y, best = torch.zeros_like(x), [x]
    if x.sum() > 0:
        y = x + 1
        if n > 1:
            best = [y]
    y[0] = 5
    return y, best


def _item_of_a_new_list_in_a_loop(x, n):
    y, best = torch.zeros_like(x), [x]
    for k in range(20):
        y = y * 0.5 + x
        if k > n:
            best = [y]
    y[0] = 5
    return y, best


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [
        _list_of_elif, _tensor_of_elif, _list_of_a_loop_in_a_branch, _attribute_of_a_loop_in_a_branch, _item_of_a_new_list,
        _item_of_a_new_list_in_a_loop,
    ],
)  # fmt: skip
def test_an_inner_condition_or_loop_keeps_the_object(function):
    calls = [(t(x), torch.tensor(n)) for x in (1, -1) for n in (0, 3, 1)]
    for first in range(len(calls)):
        assert_same(function, *calls[first:], *calls[:first])
