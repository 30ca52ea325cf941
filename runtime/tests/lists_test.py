"""Lists whose lengths or elements are staged have the same contents as in eager torch."""

import bisect
import heapq

import pytest
import torch
from torch.utils import _pytree as pytree

import autograph as ag
from oracle import assert_equal, assert_same, refusal, t


def test_list_in_loop():
    def f(x, n):
        rows = []
        for i in range(n):
            if x[i] > 0:
                rows.append(x[i] * i)
        return len(rows), torch.stack(rows)

    assert_same(f, (t(1, -2, 3), torch.tensor(3)), (t(-1, 2, 3), torch.tensor(2)))


def test_list_methods():
    def f(x, n):
        rows = [x, x + 1]
        for i in range(n):
            rows.append(x * i)
        last = rows.pop()
        rows.insert(0, x * 7)
        rows[1] = last
        total = x * 0
        for row in rows:
            total = total + row
        return total, rows[n], rows[-1], len(rows), rows[1:3]

    assert_same(f, (t(1, 2), torch.tensor(3)))


def test_nested_loops_with_list():
    def f(x, n, m):
        out = []
        for i in range(n):
            s = x[i]
            for j in range(m):
                s = s + j
                out.append(s)
        return torch.stack(out)

    assert_same(f, (t(1, 2, 3), torch.tensor(3), torch.tensor(2)))


def test_the_length_of_a_list_follows_from_its_loop():
    """Both branches append one tensor, so the result of `torch.cat` has a known size."""

    @ag.function
    def joined(x):
        items = [x]
        for i in range(20):
            if x.sum() > i:
                items.append(x * i)
            else:
                items.append(x + i)
        both = torch.cat(items)
        return both.view(21, 3) if both.shape[0] == 63 else both

    x = torch.ones(3)
    assert joined(x).shape == (21, 3)


def test_list_of_tuples():
    def f(x, n):
        rows = []
        for i in range(n):
            rows.append((x * i, {"k": i, "more": (x, 0.5)}))
        v, d = rows[n - 1]
        total = v + d["more"][0]
        for v, d in rows:
            total = total + v * d["k"]
        return rows, total

    assert_same(f, (t(1, 2), torch.tensor(3)))


def test_tensor_of_a_staged_list_of_numbers():
    def f(x, n):
        total, found = 0.0, []
        for i in range(n):
            total = float(x[i]) + 0.5 * total
            found.insert(0, total)
        return torch.tensor(found)

    assert_same(f, (t(1.0, 2.0, 3.0), torch.tensor(3)))


def test_one_list_under_two_names_in_a_loop():
    """`out + [b]` is a new list, with one element more than the list before the loop."""

    def f(a, b, n):
        out = [a * 1]
        for i in range(n):
            out.append(a)
            if len(out) > 2:
                b = b + out.pop() * 0.1
            if n % 2 == 0:
                out = out + [b]
                if len(out) > 2:
                    b = b + out.pop() * 0.1
            else:
                out.insert(0, a)
        return b, torch.stack(out)

    assert_same(f, (t(1, 2), t(3, 4), torch.tensor(3)), (t(1, 2), t(3, 4), torch.tensor(2)))


# Lists in the graph contain values, not references, so an in-place write to an element is an error.


def refused(f, *args):
    with pytest.raises(ag.StagingError, match="a list of the graph holds"):
        ag.function(f)(*args)


def test_changed_after_it_was_appended():
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[0])
        x += 1
        return torch.stack(out)

    refused(f, torch.zeros(2, 2), torch.tensor(2))


def test_changed_in_every_iteration():
    def f(x, n):
        out = []
        for i in range(n):
            x += 1
            out.append(x)
        return torch.stack(out)

    def printing(x, n):
        ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
        return f(x, n)

    refused(printing, t(1, 2), torch.tensor(2))
    assert_same(f, (t(1, 2), torch.tensor(2)), (t(1, 2), torch.tensor(3)))


def test_an_element_changed_in_place():
    def f(x, n):
        out = [x * i for i in range(3)]
        out[n].mul_(2)
        return out

    assert_same(f, (t(1, 2), torch.tensor(2)), (t(1, 2), torch.tensor(0)))  # the index is decided


def test_copies_may_be_appended():
    def f(x, n):
        out = []
        for i in range(n):
            x += 1
            out.append(x.clone())
        return torch.stack(out)

    assert_same(f, (t(1, 2), torch.tensor(2)))


def test_appended_or_changed():
    def f(x, flag):
        out = [x * 2]
        if flag:
            out.append(x)
        else:
            x += 1
        return torch.stack(out).sum()

    assert_same(f, (t(1, 2), torch.tensor(True)), (t(1, 2), torch.tensor(False)))


def test_order():
    def known(x):
        rows = [(x[0], x), (x[1], x * 2), (x[2], x * 3)]
        best = sorted(rows, key=lambda row: row[0], reverse=True)[:2]
        scores = [x[0], x[1], x[2]]
        scores.sort()
        return best, scores, sorted(scores, key=lambda score: -score), sorted({"b": 1, "a": 2})

    def unknown(x, n):
        found = []
        for i in range(n):
            found.append(x[i])
        ordered = sorted(found)
        found.sort(key=lambda score: score**2, reverse=True)
        by_square = torch.stack(found)
        found.reverse()
        return ordered, by_square, found

    assert_same(known, (t(3, -4, 2),))
    assert_same(unknown, (t(3, -4, 2), torch.tensor(3)), (t(3, -4, 2), torch.tensor(2)))


def _positive(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(i)
    return found


def test_list_of_the_graph_as_an_index():
    def f(x):
        found = _positive(x)
        flags = []
        for value in x:
            flags.append(bool(value > 1))
        return x[found], len(found), x[flags], x[[int(x.sum()) - 2, 0]]

    assert_same(f, (t(1, -1, 2),), (t(4, -1, -2),), (t(1, 1, 2),))


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_list_of_tensors_as_an_index_is_a_tuple():
    def f(x):
        return x.view(2, 2)[[x.argmax() // 2, x.argmin() % 2]]

    assert_same(f, (t(1, 5, 3, 0),), (t(6, 5, 3, 9),))


def test_list_of_tensors_as_an_index():
    def f(x):
        found = []
        while x.sum() > len(found):
            found.append(x.argmax())
        return x[found]

    assert "make one tensor of it: `x[torch.stack(items)]`" in refusal(f, t(1, 2))
    assert_same(lambda x: x[:, None][_positive(x), 0], (t(1, 2),), (t(2, 1),))


@pytest.mark.filterwarnings("ignore:a call of")
def test_tensor_of_an_empty_list_of_the_graph():
    """`torch.tensor([])` has another dtype than `torch.tensor([1])`, unless the dtype is given."""

    def f(x):
        return torch.tensor(_positive(x))

    def with_dtype(x):
        return torch.tensor(_positive(x), dtype=torch.float64)

    calls = (t(-1, -2),), (t(1, -1),), (t(-1, -2),), (t(1, 2),)
    for function in (f, with_dtype):
        for first in range(len(calls)):
            assert_same(function, *calls[first:], *calls[:first])


@pytest.mark.parametrize(
    "change",
    [lambda h: heapq.heappush(h, 0), heapq.heapify, lambda h: bisect.insort(h, 4), lambda h: list.append(h, 2), heapq.heappop],
)
def test_lists_that_code_in_c_changes_below_a_staged_condition(change):
    def f(x):
        items = [5, 3, 4]
        if x.sum() > 3:
            change(items)
        return items

    assert_same(f, (t(1, 1),), (t(2, 2),), (t(1, 1),))


def test_code_in_c_that_compares_numbers_that_have_become_inputs():
    """The comparison ends the trace inside `heappush`. The changes that `heappush` has made by then must be undone."""
    numbers = [1, 5, 2]

    @ag.function
    def f(x):
        for _ in range(20):
            heapq.heappush(numbers, 3)
            x = torch.tanh(x if (x > 0).any() else -x)
        return x

    for calls in range(1, 6):
        f(t(1, -1))
        assert len(numbers) == 3 + 20 * calls


def test_code_in_c_does_not_get_a_list_of_the_graph():
    def f(x):
        items, n = [], 0
        while n < x.sum():
            items.append(x.sum() * n)
            n += 1
        heapq.heappush(items, x.sum())
        return items

    assert "`heappush` needs the items of a list" in refusal(f, t(1, 1))


def test_truth_of_lists_of_the_graph():
    def f(x):
        items, n, k = [], 0, 0
        while n < x.sum():
            items.append(x * n)
            n += 1
        is_empty = not items
        while items and k < 2:
            x = x + items.pop()
            k += 1
        return x, is_empty, 1 if items else 2

    assert_same(f, (t(1, 1),), (t(0, 0),), (t(3, 3),))


def test_functions_over_nested_containers():
    def f(x):
        items = [x, x * 2]
        items.append(x + 1)
        nested = {"a": items, "b": (x, [x * 3])}
        flat, structure = pytree.tree_flatten(nested)
        doubled = pytree.tree_unflatten([v * 2 for v in flat], structure)
        doubled["a"].append(x)
        return pytree.tree_map(lambda v, w: v + w, nested, nested), doubled, len(flat)

    assert_same(f, (t(1, 2),), (t(3, 4),))


def test_gradients_of_lists_of_parameters():
    def f(weights, x):
        def loss(layers):
            for layer in layers[:-1]:
                x_ = torch.tanh(x @ layer["w"])
            return (x_ @ layers[-1]["w"]).sum()

        grads, value = torch.func.grad_and_value(loss)(weights)
        return pytree.tree_map(lambda w, g: w - 0.1 * g, weights, grads), value

    weights = [{"w": torch.eye(2)}, {"w": torch.ones(2, 2)}]
    assert_same(f, (weights, t(1, 2)), (weights, t(3, 4)))


def test_slices_of_a_list_of_the_graph_are_deleted():
    def grown(x):
        items, n = [], 0
        while n < x.sum():
            items.append(x * n)
            n += 1
        return items

    def tail(x):
        items = grown(x)
        del items[2:]
        return items, len(items)

    def head(x):
        items = grown(x)
        del items[: x.sum().int() - 1]
        items.append(x)
        return items

    def everything(x):
        items = grown(x)
        del items[:]
        items.append(x)
        return items

    def last(x):
        items = grown(x)
        if x[0] > 0:
            del items[-1:]
        return items

    for function in (tail, head, everything, last):
        assert_same(function, (t(1, 1),), (t(3, 2),), (t(0, 1),), (t(0, 3),))

    def middle(x):
        items = grown(x)
        del items[1:2]
        return items

    assert "this slice of a staged list cannot be deleted" in refusal(middle, t(1, 2))


def test_an_element_that_the_list_does_not_have_yet():
    """The body assigns `items[0]` on a path that is not taken, so the list has no such element before it."""

    def in_loop(n, x):
        items = []
        while n > 0:
            n = n - 1
            if len(items) > 2:
                items[0] = x
            x = x + 1
        return x, items

    def in_branch(n, x):
        items = []
        if n > 1:
            items[0] = x
        return x

    for function in (in_loop, in_branch):
        assert_same(function, (torch.tensor(0), t(1, 2)), (torch.tensor(3), t(1, 2)))


def test_lengths_of_lists_that_loops_of_known_length_fill():
    @ag.function
    def program(x):
        forward, back = [], []
        for t in range(20):
            x = torch.tanh(x + t)
            forward.append(x)
        for item in reversed(forward):
            x = x * item
            back.append(x)
        parts = back[1:-1], back[::2], back[5:], back[-3:30], back[::-3]
        return torch.stack(back[::-1]), torch.stack(back[::-1], -1), [torch.stack(part) for part in parts], len(back)

    x = torch.rand(3)
    assert_equal(program(x), program.python_function(x))
    results = str(program.graph(x)).split("->")[1].splitlines()[0]
    assert "?" not in results, results


def test_order_and_extremes_of_tuples_in_a_staged_list():
    def f(x, n):
        found, i = [], 0
        while i < n:
            found.append((x[i].item(), i))
            i += 1
        best, worst = max(found), min(found, key=lambda pair: pair[0])
        order = sorted(found, reverse=True)
        found.sort(key=lambda pair: -pair[1])
        return best, worst, order[0], found[0], sum(pair[1] for pair in found)

    assert_same(f, (t(1, -2, 3), torch.tensor(3)), (t(-1, 2, 3), torch.tensor(2)))
