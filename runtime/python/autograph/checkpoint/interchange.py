"""Parts of a checkpoint in the form of torch's `state_dict`."""

from ..errors import CheckpointError
from .creation import Creator
from .kinds import DICT, GROUP, LIST, MODULE, OPTIMIZER, STATE, TENSOR
from .matching import Matches
from .objects import Ref


def state_dict(saved, name):
    """Returns the `state_dict()` of the saved module, optimizer or scheduler with this path."""
    graph = saved.graph
    node = next((node for node in graph.nodes if node.path == name and node.id), None)
    if node is None or node.kind not in (MODULE, OPTIMIZER, STATE):
        known = [node.path for node in graph.nodes if node.kind in (MODULE, OPTIMIZER, STATE)]
        raise CheckpointError(
            f"there is no module, optimizer or scheduler `{name}`\nhelp: pass one of {', '.join(known[:20])}"
        )
    creator = Creator(saved, Matches(), omitted=None)
    if node.kind == STATE:
        return creator.value(node.edges["state"])
    return _of_optimizer(graph, creator, node) if node.kind == OPTIMIZER else _of_module(graph, creator, node)


def _of_module(graph, creator, root):
    found, stack = {}, [(root, "")]
    while stack:
        node, prefix = stack.pop()
        for name in node.tensors:
            edge = node.edges.get(name)
            if isinstance(edge, Ref) and graph.nodes[edge.id].kind == TENSOR:
                found[prefix + name] = creator.value(edge)
        for name in reversed(node.modules):
            edge = node.edges.get(name)
            if isinstance(edge, Ref) and graph.nodes[edge.id].kind == MODULE:
                stack.append((graph.nodes[edge.id], f"{prefix}{name}."))
    return found


def _of_optimizer(graph, creator, node):
    """Returns the `state_dict()` of an optimizer. It numbers the parameters by their positions."""
    positions = {}
    for ids in node.parameters:
        for id in ids:
            positions.setdefault(id, len(positions))
    edge = node.edges.get("param_groups")
    groups = [graph.nodes[part.id] for part in graph.nodes[edge.id].edges.values()] if _is(graph, edge, LIST) else []
    owned = [(id, state) for id, state in node.slots if id in positions and graph.nodes[state].kind == DICT]
    return {
        "state": {positions[id]: creator.value(Ref(state)) for id, state in owned},
        "param_groups": [
            {**{key: creator.value(part) for key, part in group.edges.items()}, "params": [positions[id] for id in ids]}
            for group, ids in zip(groups, node.parameters)
            if group.kind == GROUP
        ],
    }


def _is(graph, edge, kind):
    return isinstance(edge, Ref) and graph.nodes[edge.id].kind == kind
