"""Data structures, parsers, simulations."""

from environment import *


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def balanced(text):
    stack, pairs = Stack(), {")": "(", "]": "["}
    for c in text:
        if c in pairs.values():
            stack.push(c)
        elif c in pairs:
            if not len(stack) or stack.pop() != pairs[c]:
                return False
    return not len(stack)


class Node:
    def __init__(self, value, after=None):
        self.value = value
        self.after = after


def linked(items):
    head = None
    for item in reversed(items):
        head = Node(item, head)
    return head


def reverse_linked(items):
    node, before = linked(items), None
    while node is not None:
        node.after, before, node = before, node, node.after
    out = []
    while before:
        out.append(before.value)
        before = before.after
    return out


class SearchTree:
    def __init__(self):
        self.root = None
        self.size = 0

    def add(self, key):
        if self.root is None:
            self.root = [key, None, None]
            self.size += 1
            return True
        here = self.root
        while True:
            if key == here[0]:
                return False
            side = 1 if key < here[0] else 2
            if here[side] is None:
                here[side] = [key, None, None]
                self.size += 1
                return True
            here = here[side]

    def __contains__(self, key):
        here = self.root
        while here is not None and here[0] != key:
            here = here[1] if key < here[0] else here[2]
        return here is not None

    def __iter__(self):
        def walk(node):
            if node:
                yield from walk(node[1])
                yield node[0]
                yield from walk(node[2])

        return walk(self.root)

    def height(self):
        def height(node):
            return 0 if node is None else 1 + max(height(node[1]), height(node[2]))

        return height(self.root)


def tree_of(keys):
    tree = SearchTree()
    added = [tree.add(key) for key in keys]
    return added, list(tree), tree.size, tree.height(), 3 in tree, 99 in tree


class RecentlyUsed:
    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = {}

    def get(self, key, make):
        if key in self.entries:
            value = self.entries.pop(key)
        else:
            value = make(key)
            if len(self.entries) >= self.capacity:
                for oldest in self.entries:
                    break
                del self.entries[oldest]
        self.entries[key] = value
        return value


def cached(keys):
    cache = RecentlyUsed(2)
    return [cache.get(key, lambda k: note("make", k) * 2) for key in keys], list(cache.entries)


class DisjointSets:
    def __init__(self, n):
        self.parent = list(range(n))

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        self.parent[max(a, b)] = min(a, b)
        return True


def components(n, edges):
    sets = DisjointSets(n)
    joined = sum(sets.union(a, b) for a, b in edges)
    return joined, len({sets.find(x) for x in range(n)})


class Trie:
    def __init__(self):
        self.root = {}

    def add(self, word):
        node = self.root
        for c in word:
            node = node.setdefault(c, {})
        node["end"] = True

    def complete(self, prefix):
        node = self.root
        for c in prefix:
            if c not in node:
                return []
            node = node[c]
        out = []

        def collect(node, text):
            for c, child in sorted(node.items()):
                if c == "end":
                    out.append(text)
                    continue
                collect(child, text + c)

        collect(node, prefix)
        return out


def completions(words, prefix):
    trie = Trie()
    for word in words:
        trie.add(word)
    return trie.complete(prefix)


def breadth_first(graph, start, goal):
    queue, came_from = [start], {start: None}
    while queue:
        here = queue.pop(0)
        if here == goal:
            break
        for neighbour in graph.get(here, ()):
            if neighbour in came_from:
                continue
            came_from[neighbour] = here
            queue.append(neighbour)
    else:
        return None
    path = []
    while here is not None:
        path.append(here)
        here = came_from[here]
    return path[::-1]


def dijkstra(graph, start):
    distance, done = {start: 0}, set()
    while True:
        nearest = None
        for node, d in distance.items():
            if node not in done and (nearest is None or d < distance[nearest]):
                nearest = node
        if nearest is None:
            return distance
        done.add(nearest)
        for neighbour, weight in graph[nearest].items():
            if (through := distance[nearest] + weight) < distance.get(neighbour, float("inf")):
                distance[neighbour] = through


def topological(graph):
    order, state = [], {}

    def visit(node):
        if state.get(node) == "done":
            return
        if state.get(node) == "open":
            raise ValueError(f"cycle at {node}")
        state[node] = "open"
        for dependency in graph.get(node, []):
            visit(dependency)
        state[node] = "done"
        order.append(node)

    for node in graph:
        visit(node)
    return order


def islands(rows):
    grid = [list(row) for row in rows]

    def sink(r, c):
        if not (0 <= r < len(grid) and 0 <= c < len(grid[0])) or grid[r][c] != "#":
            return 0
        grid[r][c] = "."
        return 1 + sink(r + 1, c) + sink(r - 1, c) + sink(r, c + 1) + sink(r, c - 1)

    sizes = []
    for r in range(len(grid)):
        for c in range(len(grid[0])):
            if (size := sink(r, c)):
                sizes.append(size)
    return sizes


def tokens(text):
    out, i = [], 0
    while i < len(text):
        c = text[i]
        if c.isspace():
            i += 1
            continue
        if c.isdigit():
            j = i
            while j < len(text) and (text[j].isdigit() or text[j] == "."):
                j += 1
            out.append(float(text[i:j]) if "." in text[i:j] else int(text[i:j]))
            i = j
        elif c in "+-*/()":
            out.append(c)
            i += 1
        else:
            raise SyntaxError(f"unexpected {c!r} at {i}")
    return out


def calculate(text):
    source = tokens(text)

    def peek():
        return source[0] if source else None

    def factor():
        token = source.pop(0) if source else None
        if token == "(":
            value = total()
            if peek() != ")":
                raise SyntaxError("missing )")
            source.pop(0)
            return value
        if token == "-":
            return -factor()
        if isinstance(token, (int, float)):
            return token
        raise SyntaxError(f"unexpected {token!r}")

    def product():
        value = factor()
        while peek() in ("*", "/"):
            if source.pop(0) == "*":
                value *= factor()
            else:
                value /= factor()
        return value

    def total():
        value = product()
        while (operator := peek()) and operator in "+-":
            source.pop(0)
            right = product()
            value = value + right if operator == "+" else value - right
        return value

    value = total()
    if source:
        raise SyntaxError(f"left over: {source}")
    return value


def reverse_polish(text):
    stack = []
    for token in text.split():
        match token:
            case "+" | "-" | "*":
                b, a = stack.pop(), stack.pop()
                stack.append(a + b if token == "+" else a - b if token == "-" else a * b)
            case "dup":
                stack.append(stack[-1])
            case _:
                try:
                    stack.append(int(token))
                except ValueError:
                    return f"bad token {token}"
    return stack


def read_json(text):
    position = 0

    def skip():
        nonlocal position
        while position < len(text) and text[position] in " \n":
            position += 1

    def expect(c):
        nonlocal position
        skip()
        if position >= len(text) or text[position] != c:
            raise ValueError(f"expected {c} at {position}")
        position += 1

    def value():
        nonlocal position
        skip()
        if position >= len(text):
            raise ValueError("end of text")
        c = text[position]
        if c == "[":
            position += 1
            out = []
            skip()
            while text[position] != "]":
                out.append(value())
                skip()
                if text[position] == ",":
                    position += 1
                elif text[position] != "]":
                    raise ValueError("no comma")
            position += 1
            return out
        if c == '"':
            end = text.index('"', position + 1)
            word, position = text[position + 1 : end], end + 1
            return word
        for name, constant in (("true", True), ("false", False), ("null", None)):
            if text.startswith(name, position):
                position += len(name)
                return constant
        start = position
        while position < len(text) and (text[position].isdigit() or text[position] == "-"):
            position += 1
        if start == position:
            raise ValueError(f"unexpected {c}")
        return int(text[start:position])

    result = value()
    skip()
    if position != len(text):
        raise ValueError("trailing text")
    return result


def read_settings(text):
    section, out = None, {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition(";")[0].strip()
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            section = out.setdefault(line[1:-1], {})
        elif "=" in line and section is not None:
            key, _, value = line.partition("=")
            section[key.strip()] = value.strip()
        else:
            raise ValueError(f"line {number}: {line}")
    return out


def machine(program):
    registers, at, steps = {"a": 0, "b": 0}, 0, 0
    while 0 <= at < len(program):
        steps += 1
        if steps > 100:
            return "endless", registers
        name, *operands = program[at].split()
        if name == "set":
            registers[operands[0]] = int(operands[1])
        elif name == "add":
            registers[operands[0]] += registers.get(operands[1]) or int(operands[1])
        elif name == "jnz" and registers[operands[0]]:
            at += int(operands[1])
            continue
        elif name == "halt":
            break
        at += 1
    return steps, registers


def life(rows, generations):
    cells = {(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "#"}
    for _ in range(generations):
        counts = {}
        for r, c in cells:
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    if dr or dc:
                        counts[r + dr, c + dc] = counts.get((r + dr, c + dc), 0) + 1
        cells = {cell for cell, n in counts.items() if n == 3 or n == 2 and cell in cells}
        if not cells:
            return "died"
    return sorted(cells)


def bank_queue(arrivals, service):
    free_at, waits = 0, []
    for arrival in arrivals:
        start = arrival if arrival > free_at else free_at
        waits.append(start - arrival)
        free_at = start + service
        if waits[-1] > 10:
            note("angry", arrival)
            break
    else:
        note("all served")
    return waits


def vending(coins, price=25):
    state, paid = "idle", 0
    for coin in coins:
        match state, coin:
            case "idle" | "paying", int(value) if value > 0:
                paid += value
                state = "paying" if paid < price else "ready"
            case "ready", "push":
                change, paid, state = paid - price, 0, "idle"
                note("sold", change)
            case _, "cancel":
                note("returned", paid)
                paid, state = 0, "idle"
            case _:
                return "confused", state, coin
    return state, paid


def elevator(calls, floors=5):
    floor, direction, stops = 0, 1, []
    pending = set(calls)
    while pending:
        if floor in pending:
            pending.discard(floor)
            stops.append(floor)
        if not any(f > floor for f in pending) and direction > 0:
            direction = -1
        elif direction < 0 and not any(f < floor for f in pending):
            direction = 1
        floor += direction
        if not 0 <= floor < floors:
            if pending:
                raise Oops("unreachable", sorted(pending))
            break
    return stops


def tic_tac_toe(board):
    lines = [board[0:3], board[3:6], board[6:9], board[0::3], board[1::3], board[2::3], board[0::4], board[2:7:2]]
    for line in lines:
        if line[0] != "." and line == line[0] * 3:
            return line[0]
    return None if "." in board else "draw"


def inventory(events):
    stock, refused = {}, []
    for kind, name, *amount in events:
        n = amount[0] if amount else 1
        if kind == "in":
            stock[name] = stock.get(name, 0) + n
        elif kind == "out" and stock.get(name, 0) >= n:
            stock[name] -= n
            if not stock[name]:
                del stock[name]
        else:
            refused.append((name, n))
    return stock, refused


def gradient_descent(rate, steps):
    x, path = 4.0, []
    for step in range(steps):
        slope = 2 * (x - 1)
        if abs(slope) < 1e-3:
            break
        x -= rate * slope
        if x != x or abs(x) > 1e3:
            return "diverged", step
        if step % 10 == 0:
            path.append(round(x, 3))
    return round(x, 3), path


CALLS = [
    "balanced('([])')", "balanced('(]')", "balanced(')')", "reverse_linked([1, 2, 3])", "reverse_linked([])",
    "tree_of([5, 3, 8, 3])", "tree_of([])", "cached([1, 2, 1, 3, 2])", "components(5, [(0, 1), (1, 0), (3, 4)])",
    "completions(['tea', 'ten', 'to'], 'te')", "completions(['a'], 'b')",
    "breadth_first({1: [2, 3], 2: [4], 3: [4]}, 1, 4)", "breadth_first({1: [2]}, 1, 9)",
    "dijkstra({'a': {'b': 1, 'c': 5}, 'b': {'c': 2}, 'c': {}}, 'a')", "topological({'a': ['b'], 'b': ['c']})",
    "topological({'a': ['b'], 'b': ['a']})", "islands(['##.', '..#'])", "tokens('1 + 2.5*(3)')", "tokens('1 $ 2')",
    "calculate('2 * (3 + 4) - -1')", "calculate('1 / 0')", "calculate('(1')", "calculate('1 2')", "calculate('')",
    "reverse_polish('2 dup * 3 +')", "reverse_polish('1 x')", "reverse_polish('+')",
    "read_json('[1, \"a\", [true, null], -2]')", "read_json('[1')", "read_json('[1 2]')", "read_json('')", "read_json('1 x')",
    "read_settings('[a]\\nx = 1 ; note\\n\\n[b]')", "read_settings('x = 1')",
    "machine(['set a 3', 'add b a', 'add a -1', 'jnz a -2', 'halt'])", "machine(['set a 1', 'jnz a 0'])",
    "life(['.#.', '.#.', '.#.'], 3)", "life(['#'], 1)", "bank_queue([0, 1, 2], 3)", "bank_queue([0, 0, 0, 0], 6)",
    "vending([10, 20, 'push', 5, 'cancel'])", "vending(['push'])", "vending([10, 10, 10, 10])", "elevator([3, 1])",
    "elevator([9])", "tic_tac_toe('xxxoo....')", "tic_tac_toe('xoxoxoxox')", "tic_tac_toe('xoxxoooxx')",
    "tic_tac_toe('.........')", "inventory([('in', 'a', 3), ('out', 'a'), ('out', 'b'), ('out', 'a', 2)])",
    "gradient_descent(0.1, 50)", "gradient_descent(1.5, 50)",
]
