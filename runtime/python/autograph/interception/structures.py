"""Lists of converted code in torch's functions over nested containers: `tree_map(torch.relu, [x, y])`."""

from torch.utils import _pytree as pytree

from ..operators.values import List

_node_type = pytree._get_node_type


def node_type(value):
    """Returns the class whose instances torch flattens like this value. A list of converted code is a `list`. A list of the graph
    has no known items, so it is a leaf."""
    return list if type(value) is List and value.value is None else _node_type(value)
