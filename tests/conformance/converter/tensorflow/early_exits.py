"""`break`, `continue` and early `return`."""

import tensorflow as tf
from cases import T, case


@case(T(3))
@case(T(-3))
def early_return(x):
    if x > 0:
        return x
    y = -x
    return y


@case(T(3))
@case(T(-3))
def return_in_both(x):
    if x > 0:
        return x * 2
    else:
        return x * 3


@case(T(3))
@case(T(0))
@case(T(-3))
def guard_chain(x):
    if x > 0:
        return T(1)
    if x < 0:
        return T(-1)
    return T(0)


@case(T(3))
@case(T(13))
@case(T(-3))
def nested_returns(x):
    if x > 0:
        if x > 10:
            return x - 10
        else:
            return x
    return -x


@case(True, T(1))
@case(False, T(1))
def python_return(flag, x):
    if flag:
        return x
    return x + 1


@case(False, T(1))
@case(True, T(1))
def implicit_none(flag, x):
    if flag:
        return x


@case(T(10))
def break_in_range(n):
    s = 0
    for i in tf.range(n):
        if i == 4:
            break
        s += i
    return s


@case(T(10))
def continue_in_range(n):
    s = 0
    for i in tf.range(n):
        if i % 3 == 0:
            continue
        s += i
    return s


@case(T(10))
def break_and_continue(n):
    s = 0
    for i in tf.range(n):
        if i % 2 == 0:
            continue
        if i == 7:
            break
        s += i
    return s


@case(T(20))
def break_in_while(n):
    i = 0
    while i < n:
        i += 1
        if i * i > 50:
            break
    return i


@case(T(20))
def continue_in_while(n):
    s = 0
    while n > 0:
        n -= 1
        if n % 2 == 0:
            continue
        s += n
    return s


@case(T(5), T(5))
def inner_break(n, m):
    s = 0
    for i in tf.range(n):
        for j in tf.range(m):
            if j == i:
                break
            s += 1
    return s


@case(T(5), T(5))
def inner_continue(n, m):
    s = 0
    for i in tf.range(n):
        for j in tf.range(m):
            if (i + j) % 2 == 0:
                continue
            s += j
    return s


@case(T(5), T(5))
def break_of_both(n, m):
    s = 0
    for i in tf.range(n):
        if i == 3:
            break
        for j in tf.range(m):
            if j == 2:
                break
            s += i * j
    return s


@case([1, 2, 3, 4], 3)
@case([1, 2, 3, 4], 9)
def python_break(items, stop):
    seen = []
    for item in items:
        if item == stop:
            break
        seen.append(item)
    return seen


@case([1, 2, 3, 4])
def python_continue(items):
    seen = []
    for item in items:
        if item % 2:
            continue
        seen.append(item)
    return seen


@case([1, 2, 3, 4], 3)
@case([1, 2, 3, 4], 9)
def python_return_in_loop(items, wanted):
    for i, item in enumerate(items):
        if item == wanted:
            return i
    return -1


@case(T(1))
def python_while_true(x):
    n = 0
    while True:
        n += 1
        if n > 3:
            break
        x = x * 2
    return x


@case(T(30))
def staged_while_true(limit):
    x = T(1)
    while T(True):
        x = x * 2
        if x > limit:
            break
    return x


@case(T(10))
def statements_after_conditional_continue(n):
    a = 0
    b = 0
    for i in tf.range(n):
        a += 1
        if i > 5:
            if i < 8:
                continue
            b += 10
        b += 1
    return a, b


@case(T(10))
def break_in_else(n):
    s = 0
    for i in tf.range(n):
        if i != 4:
            s += i
        else:
            break
    return s


@case(T(10))
def unconditional_break(n):
    s = 0
    for i in tf.range(n):
        s += i + 1
        break
    return s


@case(T(2))
@case(T(200))
def return_after_loop_guard(x):
    if x > 100:
        return x
    while x < 100:
        x = x * x
    return x


@case(T(4))
def code_after_return(x):
    return x
    x = x + 1
    return x


@case(T(4), 2)
@case(T(4), 0)
def return_from_python_loop_staged_value(x, n):
    for _ in range(n):
        x = x * 2
        if x.dtype == tf.int32:
            return x
    return x - 1


@case(T(3))
@case(T(-3))
def return_tuple(x):
    if x > 0:
        return x, x + 1
    return x - 1, x


@case(T(3))
@case(T(-3))
def elif_returns(x):
    if x > 100:
        return 1
    elif x > 0:
        return 2
    else:
        return 3


@case(T([4, 8, 15, 16]))
def break_over_tensor(v):
    position = 0
    for x in v:
        if x == 15:
            break
        position += 1
    return position
