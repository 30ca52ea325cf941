"""The graph of objects as JSON.

A node is a JSON object with the kind of the node. Its `items` are the parts of a sequence, and its `edges` are pairs of a name
or key and a part. A part is `{"node": 3}`, a JSON value, or a number that JSON does not have: `{"float": "nan"}`. Reading
validates the document: edges to missing nodes and values of other kinds are errors.
"""

import base64
import json
import math

from . import kinds
from .kinds import ARRAY, OPTIMIZER, MODULE, SEQUENCES, STATE, TENSOR
from .objects import OMITTED, Graph, Node, Omitted, Ref, joined
from .tensors import Stored

VERSION = 1

#: Larger integers are written as strings in hexadecimal, because some readers of JSON would round the numbers.
_LARGEST = 1 << 53


class Invalid(ValueError):
    """A document that is not a checkpoint."""


def encode(graph, entries):
    nodes = [_encode_node(node, entries) for node in graph.nodes]
    return json.dumps({"version": VERSION, "nodes": nodes}, allow_nan=False, separators=(",", ":"))


def _encode_node(node, entries):
    """Converts a node to JSON data."""
    found = {"kind": node.kind}
    if node.class_name and node.kind in (kinds.OBJECT, MODULE, OPTIMIZER, STATE):
        found["class"] = node.class_name
    if node.kind in SEQUENCES:
        found["items"] = [_encode(edge) for edge in node.edges.values()]
    elif node.edges:
        found["edges"] = [[_encode(key), _encode(edge)] for key, edge in node.edges.items()]
    if node.kind == TENSOR:
        entry = entries[node.id]
        found.update(tensor=entry.name, dtype=entry.dtype, shape=entry.shape, stride=entry.stride, device=node.device)
        if entry.offset is not None:
            found["offset"] = entry.offset
        if node.is_variable:
            found["variable"] = True
    if node.kind == ARRAY:
        found.update(tensor=entries[node.id], dtype=node.object.dtype.str, shape=node.object.shape)
        found["scalar"] = node.class_name != "numpy.ndarray"
    if node.kind == MODULE:
        found.update(tensors=node.tensors, modules=node.modules)
    if node.kind == OPTIMIZER:
        found.update(parameters=node.parameters, slots=node.slots)
    return found


def _encode(value):
    """Converts a plain value, or the reference to a node, to JSON data."""
    if isinstance(value, Ref):
        return {"node": value.id}
    if value is OMITTED:
        return {"omitted": True}
    if type(value) is float and not math.isfinite(value):
        return {"float": repr(value)}
    if type(value) is int and not -_LARGEST <= value <= _LARGEST:
        return {"int": hex(value)}
    if type(value) is complex:
        return {"complex": [_encode(value.real), _encode(value.imag)]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if type(value) is tuple:  # a key of a dictionary
        return {"tuple": [_encode(part) for part in value]}
    return value


def decode(text, array):
    """Returns the graph of a document. Its tensors have a `Stored` entry in place of a value. `array(name, dtype, shape,
    is_scalar)` returns a NumPy array."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"its objects are not valid JSON ({error})") from None
    if not isinstance(document, dict) or "version" not in document:
        raise Invalid("its objects have no version")
    if document["version"] != VERSION:
        raise Invalid(f"it has version {document['version']!r} of the format, and this package reads version {VERSION}")
    nodes = _expected(document.get("nodes"), list)
    if not nodes:
        raise Invalid("it has no root")
    graph = Graph()
    for id, data in enumerate(nodes):
        try:
            graph.nodes.append(_decode_node(id, data, len(nodes), array))
        except (Invalid, RecursionError) as error:
            raise Invalid(f"node {id}: {error}") from None
    for node in graph.nodes:
        for parameter, state in node.slots:
            if graph.nodes[parameter].kind != TENSOR or graph.nodes[state].kind != kinds.DICT:
                raise Invalid(f"node {node.id}: a state does not belong to a parameter")
    _name(graph)
    return graph.finish()


def _decode_node(id, data, count, array):
    """Reads a node from JSON data. Raises `Invalid` if the data has another form."""
    data = _expected(data, dict)
    kind = data.get("kind")
    if kind not in kinds.ALL:
        raise Invalid(f"{kind!r} is not a kind of object")
    node = Node(id, kind, "", None, _expected(data.get("class", ""), str))

    def part(value):
        return _decode(value, count)

    if kind in SEQUENCES:
        node.edges = dict(enumerate(part(value) for value in _expected(data.get("items"), list)))
    else:
        for pair in _expected(data.get("edges", []), list):
            key, value = _expected(pair, list, 2)
            key = part(key)
            if isinstance(key, (Ref, Omitted)) or kind != kinds.DICT and type(key) is not str:
                raise Invalid("the name of an edge is not a string")
            node.edges[key] = part(value)
    if kind == TENSOR:
        node.object = Stored(
            _expected(data.get("tensor"), str), _expected(data.get("dtype"), str), _numbers(data.get("shape")),
            _numbers(data.get("stride")), None if data.get("offset") is None else _numbers([data["offset"]])[0],
        )  # fmt: skip
        if len(node.object.shape) != len(node.object.stride):
            raise Invalid("the shape and the strides of a tensor have different lengths")
        node.is_variable = data.get("variable") is True
        node.device = _expected(data.get("device"), str)
    if kind == ARRAY:
        name, dtype = _expected(data.get("tensor"), str), _expected(data.get("dtype"), str)
        node.object = array(name, dtype, _numbers(data.get("shape")), data.get("scalar") is True)
    if kind == STATE and list(node.edges) != ["state"]:
        raise Invalid("an object has no state")
    if kind == MODULE:
        node.tensors, node.modules = _names(data.get("tensors")), _names(data.get("modules"))
    if kind == OPTIMIZER:
        for group in _expected(data.get("parameters"), list):
            ids = [None if id is None else _id(id, count) for id in _expected(group, list)]
            node.parameters.append(ids)
        for pair in _expected(data.get("slots"), list):
            node.slots.append(tuple(_id(id, count) for id in _expected(pair, list, 2)))
    return node


def _decode(value, count):
    """Reads a plain value or a reference from JSON data, for a graph of `count` nodes."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is not dict or len(value) != 1:
        raise Invalid(f"{_short(value)} is not a value")
    ((name, content),) = value.items()
    try:
        if name == "node":
            return Ref(_id(content, count))
        if name == "omitted":
            return OMITTED
        if name == "float":
            return float(_expected(content, str))
        if name == "int":
            return int(_expected(content, str), 16)
        if name == "complex":
            real, imaginary = (_decode(part, count) for part in _expected(content, list, 2))
            return complex(real, imaginary)
        if name == "bytes":
            return base64.b64decode(_expected(content, str), validate=True)
        if name == "tuple":
            parts = tuple(_decode(part, count) for part in _expected(content, list))
            if not any(isinstance(part, (Ref, Omitted)) for part in parts):
                return parts
    except (ValueError, TypeError) as error:
        if isinstance(error, Invalid):
            raise
    raise Invalid(f"{_short(value)} is not a value")


def _short(value):
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


def _expected(value, kind, length=None):
    if type(value) is not kind or length is not None and len(value) != length:
        raise Invalid(f"expected a {kind.__name__} instead of {_short(value)}")
    return value


def _id(value, count):
    if type(value) is not int or not 0 <= value < count:
        raise Invalid(f"there is no node {_short(value)}")
    return value


def _numbers(value):
    if any(type(number) is not int or not 0 <= number < 1 << 62 for number in _expected(value, list)):
        raise Invalid(f"expected sizes instead of {_short(value)}")
    return tuple(value)


def _names(value):
    return [_expected(name, str) for name in _expected(value, list)]


def _name(graph):
    """Sets the path of each node to the path on which a breadth-first search reaches it."""
    seen, order, late = {0}, [graph.nodes[0]], []
    for node in order:
        if node.kind == OPTIMIZER:
            late.append(node)
        for key, edge in node.edges.items():
            if isinstance(edge, Ref) and edge.id not in seen:
                seen.add(edge.id)
                child = graph.nodes[edge.id]
                child.path = joined(node, key)
                order.append(child)
        if node is order[-1]:
            _name_states(graph, late, seen, order)
    for node in graph.nodes:
        if node.id not in seen:
            raise Invalid(f"node {node.id} cannot be reached from the root")


def _name_states(graph, late, seen, order):
    """Sets the paths of parameters and states of optimizers. A search reaches these last."""
    for optimizer in late:
        for index, ids in enumerate(optimizer.parameters):
            for position, id in enumerate(ids):
                if id is not None and id not in seen:
                    _reach(graph, id, f"{optimizer.path}.param_groups[{index}].params[{position}]", seen, order)
        for parameter, state in optimizer.slots:
            if parameter not in seen:
                _reach(graph, parameter, f"{optimizer.path}.state", seen, order)
            if state not in seen:
                _reach(graph, state, f"{optimizer.path}.state[{graph.nodes[parameter].path}]", seen, order)
    late.clear()


def _reach(graph, id, path, seen, order):
    seen.add(id)
    graph.nodes[id].path = path
    order.append(graph.nodes[id])
