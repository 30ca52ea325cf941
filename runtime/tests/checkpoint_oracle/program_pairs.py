"""Random pairs of programs for the matching of checkpoints: one that saves, and a changed one that restores.

A program is a list of nodes `[kind, edges]`; the first node is the root. The kinds are `object`, `list`, `dict` and
`variable`. An edge is `[name, index of a node]`. The list `late` contains edges `[index of the owner, name, index of a
node]`, which are added after the restore. A name always refers to nodes of the same kind: TensorFlow also matches nodes
of different kinds, but does not report the variables that therefore get no value."""

import random

MAX_NODES = 12


def case(seed):
    """Returns the saved program, the restoring program, and the edges that it adds later."""
    rng = random.Random(seed)
    saved = _program(rng)
    changed, late = _changed(rng, saved)
    return saved, changed, late


def _program(rng):
    """Returns the nodes of a random program."""
    nodes = [["object", []]]
    for _ in range(rng.randint(3, MAX_NODES)):
        kind = rng.choice(["object", "object", "variable", "variable", "variable", "list", "dict"])
        nodes.append([kind, []])
        _connect(rng, nodes, len(nodes) - 1)
    for _ in range(rng.randint(0, 3)):  # shared nodes, and cycles
        target = rng.randrange(1, len(nodes))
        if nodes[target][0] in ("object", "variable"):
            _connect(rng, nodes, target, only_objects=True)
    return nodes


def _connect(rng, nodes, target, only_objects=False):
    """Adds an edge to the node `target` from a random owner. Only objects are part of cycles."""
    owners = [i for i, (kind, _) in enumerate(nodes) if kind != "variable" and i != target]
    owners = [i for i in owners if nodes[i][0] == "object" or not only_objects and i < target]
    owners = [i for i in owners if nodes[i][0] == "object" or _fits(nodes[i], nodes[target][0])]
    owner = rng.choice(owners)
    kind, edges = nodes[owner]
    name = str(len(edges)) if kind == "list" else _name(rng, nodes[target][0])
    if name not in dict(edges):
        edges.append([name, target])


def _fits(node, kind):
    """Returns whether a node of `kind` may be the next element of a container. In lists, the kinds alternate."""
    container, edges = node
    return kind in ("object", "variable") and (container == "dict" or kind == ("object", "variable")[len(edges) % 2])


def _name(rng, kind):
    return f"{kind[0]}{rng.randint(0, 5)}"


def _changed(rng, saved):
    """Makes random changes. Returns the nodes of the changed program, and the edges that it adds after the restore."""
    nodes = [[kind, [list(edge) for edge in edges]] for kind, edges in saved]
    late = []
    for _ in range(rng.randint(1, 3)):
        owners = [i for i, (kind, edges) in enumerate(nodes) if edges and kind in ("object", "dict")]
        change = rng.choice(["rename", "remove", "add", "add", "unshare", "late", "shorten"])
        if change == "add":
            nodes.append([rng.choice(["variable", "object"]), []])
            _connect(rng, nodes, len(nodes) - 1)
        elif change == "shorten":
            lists = [edges for kind, edges in nodes if kind == "list" and edges]
            if lists:
                rng.choice(lists).pop()
        elif owners:
            owner = rng.choice(owners)
            edges = nodes[owner][1]
            edge = rng.choice(edges)
            if change == "rename":
                name = _name(rng, nodes[edge[1]][0])
                if name not in dict(edges):
                    edge[0] = name
            elif change == "remove":
                edges.remove(edge)
            elif change == "unshare" and nodes[edge[1]][0] == "variable":
                nodes.append(["variable", []])
                edge[1] = len(nodes) - 1
            elif change == "late" and nodes[owner][0] == "object" and nodes[edge[1]][0] in ("variable", "object"):
                edges.remove(edge)
                late.append([owner, *edge])
    return nodes, late


def build(nodes, make, initial):
    """Returns the objects of a program, by the index of their node. `make(kind, content)` creates one; `content` is the
    number of a variable, or the elements of a list or dictionary. Attributes of objects are set at the end."""
    made = {}
    for index, (kind, _) in enumerate(nodes):
        if kind == "variable":
            made[index] = make("variable", initial + index)
        elif kind == "object":
            made[index] = make("object", None)
    for index, (kind, edges) in enumerate(nodes):
        if kind == "list":
            made[index] = make("list", [made[target] for _, target in edges])
        elif kind == "dict":
            made[index] = make("dict", {name: made[target] for name, target in edges})
    for index, (kind, edges) in enumerate(nodes):
        if kind == "object" and index:
            for name, target in edges:
                setattr(made[index], name, made[target])
    return made


def roots(nodes, made):
    return {name: made[target] for name, target in nodes[0][1]}
