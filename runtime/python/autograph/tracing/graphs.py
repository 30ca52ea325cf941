"""The graphs that are made of one trace: the graph of the function, and the graph with its gradient."""

from .._runtime import Graph
from ..record.types import gradient_type
from .derivatives import derivative
from .lowering import Lowering, graph_name


def graph(staging, results, written):
    """The graph of a trace, and the exceptions that it raises by name. `written` has for each result the index of the
    parameter whose new value it is, or None if it is returned."""
    lowering = _entry(staging)
    lowering.graph.finish([lowering.operand(result) for result in results], written)
    return lowering.graph, lowering.exceptions


def gradient_graph(staging, results, outputs, inputs, omits_prints):
    """The graph whose results are followed by the gradients of the inputs, given those of the outputs; and for each
    input whether it has a gradient. `omits_prints` is for a graph that runs after the forward graph has printed."""
    lowering = _entry(staging, omits_prints, seeds=outputs)
    gradients = lowering.differentiate(lowering.operand(outputs), lowering.seeds, lowering.operand(inputs))
    lowered = [*map(lowering.operand, results), *(value for value in gradients if value is not None)]
    lowering.graph.finish(lowered, [None] * len(lowered))
    return lowering.graph, lowering.exceptions, [value is not None for value in gradients]


def _entry(staging, omits_prints=False, seeds=()):
    """A lowering that has emitted the whole record; the gradients of `seeds` are additional parameters."""
    graph = Graph(graph_name(staging.name))
    lowering = Lowering(graph, derivative)
    lowering.omits_prints = omits_prints
    for index, capture in enumerate(staging.captures_in_order()):
        param = capture.param
        origin = {"argument": param.name} if capture.path is not None else {"capture": index}
        lowering.values[param] = graph.parameter(param.type, param.name, **origin)
    lowering.seeds = [
        graph.parameter(gradient_type(output.type), f"seed{index}", argument=f"seed{index}")
        for index, output in enumerate(seeds)
    ]
    lowering.functions(staging.record.entry)
    lowering.nodes(staging.record.entry.nodes)
    return lowering
