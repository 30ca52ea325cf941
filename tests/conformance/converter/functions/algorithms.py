"""Arithmetic and well-known algorithms."""

from environment import *


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def extended_gcd(a, b):
    if b == 0:
        return a, 1, 0
    g, x, y = extended_gcd(b, a % b)
    return g, y, x - a // b * y


def is_prime(n):
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    d = 3
    while d * d <= n:
        if n % d == 0:
            return False
        d += 2
    return True


def sieve(n):
    prime = [True] * (n + 1)
    for p in range(2, n + 1):
        if not prime[p]:
            continue
        for multiple in range(p * p, n + 1, p):
            prime[multiple] = False
    return [p for p in range(2, n + 1) if prime[p]]


def factors(n):
    found, p = [], 2
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
        if p * p > n:
            if n > 1:
                found.append(n)
            break
    return found


def power(base, exponent, modulus=None):
    result = 1
    while exponent:
        if exponent & 1:
            result *= base
            if modulus is not None:
                result %= modulus
        base = base * base if modulus is None else base * base % modulus
        exponent >>= 1
    return result


def newton_sqrt(x, tolerance=1e-9):
    if x < 0:
        raise ValueError("negative")
    guess = x or 1.0
    for step in range(100):
        better = (guess + x / guess) / 2
        if abs(better - guess) < tolerance:
            break
        guess = better
    else:
        return None
    return round(better, 6), step


def bisect_root(f, low, high):
    if f(low) * f(high) > 0:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return round(low, 4)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def digits(n, base=10):
    if n == 0:
        return [0]
    out, sign = [], n < 0
    n = abs(n)
    while n:
        n, digit = divmod(n, base)
        out.append(digit)
    if sign:
        out.append("-")
    return out[::-1]


def pascal(n):
    row = [1]
    rows = []
    for _ in range(n):
        rows.append(row)
        row = [a + b for a, b in zip([0, *row], [*row, 0])]
    return rows


def mean_and_deviation(items):
    n = mean = m2 = 0
    for x in items:
        n += 1
        delta = x - mean
        mean += delta / n
        m2 += delta * (x - mean)
    if n < 2:
        return mean, None
    return mean, m2 / (n - 1)


def median(items):
    ordered = sorted(items)
    n = len(ordered)
    if not n:
        raise ValueError("no data")
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def matrix_product(a, b):
    if len(a[0]) != len(b):
        raise ValueError("shapes")
    out = [[0] * len(b[0]) for _ in a]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                out[i][j] += a[i][k] * b[k][j]
    return out


def determinant(m):
    m = [row[:] for row in m]
    sign = 1
    for i in range(len(m)):
        if m[i][i] == 0:
            for j in range(i + 1, len(m)):
                if m[j][i] != 0:
                    m[i], m[j] = m[j], m[i]
                    sign = -sign
                    break
            else:
                return 0
        for j in range(i + 1, len(m)):
            ratio = m[j][i] / m[i][i]
            for k in range(i, len(m)):
                m[j][k] -= ratio * m[i][k]
    product = sign
    for i in range(len(m)):
        product *= m[i][i]
    return product


def bubble_sort(items):
    items = list(items)
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(items) - 1):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
                swapped = True
    return items


def insertion_sort(items):
    for i in range(1, len(items)):
        j = i
        while j > 0 and items[j - 1] > items[j]:
            items[j - 1], items[j] = items[j], items[j - 1]
            j -= 1
    return items


def quicksort(items):
    if len(items) <= 1:
        return items
    pivot, *rest = items
    return quicksort([x for x in rest if x < pivot]) + [pivot] + quicksort([x for x in rest if not x < pivot])


def merge_sort(items):
    if len(items) < 2:
        return list(items)
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    while left and right:
        merged.append((left if left[0] <= right[0] else right).pop(0))
    return merged + left + right


def heap_sort(items):
    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and items[child] < items[child + 1]:
                child += 1
            if items[root] >= items[child]:
                return
            items[root], items[child] = items[child], items[root]
            root = child

    n = len(items)
    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for end in range(n - 1, 0, -1):
        items[0], items[end] = items[end], items[0]
        sift(0, end)
    return items


def binary_search(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        elif items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return ~low


def quickselect(items, k):
    while True:
        pivot = items[len(items) // 2]
        below = [x for x in items if x < pivot]
        equal = [x for x in items if x == pivot]
        if k < len(below):
            items = below
        elif k < len(below) + len(equal):
            return pivot
        else:
            k -= len(below) + len(equal)
            items = [x for x in items if x > pivot]


def largest_sum(items):
    best = here = items[0]
    for x in items[1:]:
        here = x if here < 0 else here + x
        best = here if here > best else best
    return best


def coin_change(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


def longest_common(a, b):
    if not a or not b:
        return ""
    if a[0] == b[0]:
        return a[0] + longest_common(a[1:], b[1:])
    return max(longest_common(a[1:], b), longest_common(a, b[1:]), key=len)


def longest_rising(items):
    if not items:
        return 0
    lengths = []
    for i, x in enumerate(items):
        best = 0
        for j in range(i):
            if items[j] < x and lengths[j] > best:
                best = lengths[j]
        lengths.append(best + 1)
    return max(lengths)


def queens(n):
    solutions = 0
    columns, rising, falling = set(), set(), set()

    def place(row):
        nonlocal solutions
        if row == n:
            solutions += 1
            return
        for column in range(n):
            if column in columns or row + column in rising or row - column in falling:
                continue
            columns.add(column), rising.add(row + column), falling.add(row - column)
            place(row + 1)
            columns.remove(column), rising.remove(row + column), falling.remove(row - column)

    place(0)
    return solutions


def hanoi(n, source="a", target="c", spare="b"):
    if n == 0:
        return []
    return [*hanoi(n - 1, source, spare, target), (source, target), *hanoi(n - 1, spare, target, source)]


def subsets(items):
    out = [[]]
    for item in items:
        out += [subset + [item] for subset in out]
    return out


def two_sum(items, target):
    seen = {}
    for i, x in enumerate(items):
        if (other := target - x) in seen:
            return seen[other], i
        seen[x] = i


def bits(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def gray_code(n):
    return [i ^ (i >> 1) for i in range(1 << n)]


def random_numbers(seed, n):
    state, out = seed, []
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2**31
        out.append(state % 100)
    return out


def estimate_pi(n):
    total = 0.0
    for k in range(n):
        term = 1 / (2 * k + 1)
        if k % 2:
            total -= term
        else:
            total += term
    return round(4 * total, 3)


def perfect_numbers(limit):
    found = []
    for n in range(2, limit):
        total = 1
        for d in range(2, n):
            if d * d > n:
                break
            if n % d == 0:
                total += d
                if d != n // d:
                    total += n // d
        if total == n:
            found.append(n)
    return found


CALLS = [
    "gcd(48, 18)", "gcd(5, 0)", "gcd(5.5, 'a')", "extended_gcd(240, 46)", "[n for n in range(20) if is_prime(n)]",
    "sieve(20)", "sieve(1)", "factors(360)", "factors(97)", "factors(1)", "power(3, 13)", "power(3, 13, 7)",
    "newton_sqrt(2.0)", "newton_sqrt(0)", "newton_sqrt(-1)", "bisect_root(lambda x: x * x - 2, 0, 2)",
    "bisect_root(lambda x: 1, 0, 1)", "collatz(27)", "digits(255, 16)", "digits(-12)", "digits(0)", "pascal(5)",
    "mean_and_deviation([1, 2, 3, 4])", "mean_and_deviation([5])", "mean_and_deviation([])", "median([3, 1, 2])",
    "median([4, 1, 2, 3])", "median([])", "matrix_product([[1, 2]], [[3], [4]])", "matrix_product([[1]], [[1], [2]])",
    "determinant([[2, 1], [1, 3]])", "determinant([[0, 1], [1, 0]])", "determinant([[0, 0], [0, 1]])",
    "bubble_sort([3, 1, 2])", "bubble_sort([1, 'a'])", "insertion_sort([3, 1, 2])", "quicksort([3, 1, 2, 3])",
    "merge_sort([3, 1, 2, 1])", "heap_sort([5, 2, 8, 1, 9, 3])", "binary_search([1, 3, 5], 5)", "binary_search([1, 3, 5], 4)",
    "quickselect([5, 1, 4, 2], 2)", "largest_sum([-2, 1, -3, 4, -1, 2])", "largest_sum([])", "coin_change([1, 2, 5], 10)",
    "knapsack([1, 3, 4], [15, 50, 60], 4)", "longest_common('abcbd', 'bdcb')", "longest_rising([3, 1, 2, 5, 4])",
    "queens(5)", "hanoi(3)", "subsets([1, 2, 3])", "two_sum([2, 7, 11], 9)", "two_sum([1], 5)", "bits(255)", "gray_code(3)",
    "random_numbers(1, 5)", "estimate_pi(100)", "perfect_numbers(500)",
]
