"""`for` and `while`: else clauses, targets, and the names bound after the loop."""

from environment import *


def sum_up_to(n):
    total = 0
    for i in range(n + 1):
        total += i
    return total


def countdown(n):
    seen = []
    while n > 0:
        seen.append(n)
        n -= 1
    return seen


def last_of(items):
    for item in items:
        pass
    return item


def target_survives(items):
    item = "before"
    for item in items:
        note("item", item)
    return item


def find(items, wanted):
    for index, item in enumerate(items):
        if item == wanted:
            break
    else:
        return "absent"
    return index


def while_else(n):
    while n > 0:
        n -= 2
        if n == 1:
            break
    else:
        return "even"
    return "odd"


def skip_odd(items):
    kept = []
    for item in items:
        if item % 2:
            continue
        kept.append(item)
    return kept


def break_in_both_branches(items):
    for item in items:
        if item > 2:
            reason = "big"
            break
        elif item < 0:
            reason = "negative"
            break
    else:
        reason = "none"
    return reason


def nested_breaks(rows):
    found = []
    for row in rows:
        for cell in row:
            if cell == 0:
                break
            if cell < 0:
                continue
            found.append(cell)
        else:
            found.append("whole")
            continue
        found.append("cut")
    return found


def inner_else_breaks_outer(rows):
    for row in rows:
        for cell in row:
            if cell:
                break
        else:
            break
    return row


def continue_in_while(n):
    odd = []
    while n:
        n -= 1
        if n % 2 == 0:
            continue
        odd.append(n)
    else:
        odd.append("done")
    return odd


def return_from_inner_loop(rows, wanted):
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            if cell == wanted:
                return r, c
    return None


def target_is_attribute(box, items):
    for box.x in items:
        note("x", box.x)
    return box


def target_is_item(table, items):
    for table["k"] in items:
        pass
    return table


def target_unpacks(pairs):
    out = {}
    for key, (first, *rest) in pairs:
        out[key] = first, rest
    return out


def target_shifts_indices(items):
    seen = [0, 0, 0]
    i = 0
    for i, seen[i] in enumerate(items):
        pass
    return seen, i


def list_changes_under_loop(items):
    for item in items:
        if len(items) < 6:
            items.append(item * 2)
    return items


def iterable_rebound(items):
    for item in items:
        items = [item]
    return items


def bound_set_once(n):
    passes = 0
    for i in range(n):
        n = 0
        passes += 1
    return passes, n


def loop_variable_changed(n):
    seen = []
    for i in range(n):
        i *= 10
        seen.append(i)
    return seen, i


def while_true(limit):
    n = 0
    while True:
        n += 1
        if n >= limit:
            break
    return n


def while_truth(flags):
    passes = 0
    while flags[passes]:
        passes += 1
    return passes


def test_raises_late(n):
    total = 0.0
    try:
        while 12 / n > 0:
            total += n
            n -= 1
    except ZeroDivisionError:
        note("total", total)
        raise
    return total


def generator_is_closed_by_nobody(items):
    source = (note("give", item) for item in items)
    for item in source:
        if item > 1:
            break
    return list(source)


def iterator_consumed_in_steps(items):
    source = iter(items)
    pairs = []
    for first in source:
        second = next(source, None)
        pairs.append((first, second))
    return pairs


def not_iterable(value):
    for _ in value:
        pass
    else:
        return "never"


def delete_in_loop(items):
    for item in items:
        kept = item
        if item == 2:
            del kept
    return kept


def delete_target(items):
    for item in items:
        del item
    return item


def else_after_return(items):
    for item in items:
        if item:
            return "returned"
    else:
        note("else")
    return "fell"


def zip_and_reverse(a, b):
    out = []
    for x, y in zip(a, reversed(b)):
        out += [(x, y)]
    return out


def three_deep(n):
    count = 0
    for a in range(n):
        for b in range(a, n):
            if a == b:
                continue
            for c in range(b, n):
                if c == b:
                    continue
                if a * a + b * b == c * c:
                    return a, b, c
                count += 1
    return count


def loops_with_walrus(chunks):
    source = iter(chunks)
    total = 0
    while (chunk := next(source, None)) is not None:
        total += len(chunk)
    return total, chunk


def stop_iteration_from_body(items):
    for item in items:
        if item == 2:
            raise StopIteration(item)
    return "end"


def break_in_finally(items):
    for item in items:
        try:
            if item == 1:
                raise Oops(item)
        finally:
            if item == 1:
                break
    return item


def continue_in_finally(items):
    seen = []
    for item in items:
        try:
            seen.append(1 // item)
        finally:
            continue
        seen.append("never")
    return seen


CALLS = [
    "sum_up_to(10)", "sum_up_to(-5)", "sum_up_to('no')",
    "countdown(4)", "countdown(0)",
    "last_of([1, 2])", "last_of([])", "target_survives([])", "target_survives('ab')",
    "find('abc', 'c')", "find('abc', 'z')", "find([], 1)",
    "while_else(4)", "while_else(5)", "while_else(0)",
    "skip_odd(range(6))", "skip_odd(['a'])",
    "break_in_both_branches([1, 3])", "break_in_both_branches([1, -3])", "break_in_both_branches([])",
    "nested_breaks([[1, 0, 2], [-1, 3], []])",
    "inner_else_breaks_outer([[1], [0], [2]])", "inner_else_breaks_outer([])",
    "continue_in_while(5)", "continue_in_while(0)",
    "return_from_inner_loop([[1, 2], [3, 4]], 3)", "return_from_inner_loop([[1, 2]], 9)",
    "target_is_attribute(Bag(), [1, 2])", "target_is_attribute(Probe('p'), [1, 2])",
    "target_is_item({}, 'ab')", "target_is_item(None, 'ab')", "target_is_item(None, '')",
    "target_unpacks([('a', [1, 2, 3]), ('b', 'x')])", "target_unpacks([('a', [])])",
    "target_shifts_indices([5, 6, 7])", "target_shifts_indices(range(5))",
    "list_changes_under_loop([1, 2])", "iterable_rebound([1, 2, 3])",
    "bound_set_once(3)", "loop_variable_changed(3)", "loop_variable_changed(0)",
    "while_true(3)", "while_true(-1)",
    "while_truth([Truth('a', True), Truth('b', False)])", "while_truth([Truth('a', True), Truth('b', None)])",
    "while_truth([1])", "test_raises_late(3)",
    "generator_is_closed_by_nobody([1, 2, 3])", "iterator_consumed_in_steps('abcde')",
    "not_iterable(3)", "not_iterable([])", "not_iterable(Probe('p'))",
    "delete_in_loop([1, 2])", "delete_in_loop([2, 1])", "delete_target([1])",
    "else_after_return([0, 1])", "else_after_return([0])",
    "zip_and_reverse('abc', 'xyz')", "three_deep(6)", "three_deep(3)",
    "loops_with_walrus(['a', 'bc'])", "stop_iteration_from_body([1, 2])", "stop_iteration_from_body([1])",
    "break_in_finally([0, 1, 2])", "break_in_finally([])", "continue_in_finally([0, 1, 2])",
]
