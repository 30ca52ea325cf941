"""The graphs of one trace: the graph of the function, and the graph with its gradient."""

import functools

from .._runtime import Graph
from ..record.ops import SIZE
from ..record.types import INT, gradient_type
from .derivatives import derivative
from .lowering import Lowering, graph_name


def scalar_graph(staging, values, nodes):
    """Returns a graph that computes scalars of the trace with these nodes of the entry. Also returns the exceptions
    that the graph raises."""
    lowering = _entry(staging, nodes=nodes)
    lowering.graph.finish([lowering.operand(value) for value in values], [None] * len(values))
    return lowering.graph, lowering.exceptions


def sizes_graph(staging, origins, nodes):
    """Returns a graph that computes sizes and numbers of the trace with these nodes of the entry. Each origin is a
    staged integer, or a tensor and the index of a dimension. Omits origins that other nodes compute. Also returns the
    indexes of the origins that the graph computes, and the exceptions that it raises."""
    lowering = _entry(staging, nodes=nodes)
    known, results = [], []
    for index, origin in enumerate(origins):
        value, *dim = origin if isinstance(origin, tuple) else (origin,)
        if value.visible and value in lowering.values:
            operand = lowering.operand(value)
            results.append(lowering.graph.emit(SIZE, [operand, *dim], [INT])[0] if dim else operand)
            known.append(index)
    lowering.graph.finish(results, [None] * len(results))
    return lowering.graph, known, lowering.exceptions


def graph(staging, results, written, batches_loops=False):
    """Returns the graph of a trace, the exceptions that it raises (name -> class), and the indexes of the results that are
    computed from leaves that the function creates. `written` contains for each result: None if it is returned, otherwise the
    index of the parameter whose new value it is. With `batches_loops`, loops whose iterations are independent are batched."""
    lowering = _entry(staging, batches_loops=batches_loops)
    lowering.graph.finish([lowering.operand(result) for result in results], written)
    leaves = [lowering.values[leaf] for leaf in staging.made_leaves if leaf in lowering.values]
    flags = lowering.graph.computed_from(leaves) if leaves else ()
    return lowering.graph, lowering.exceptions, [index for index, flag in enumerate(flags) if flag]


def gradient_graph(staging, results, outputs, inputs, omits_prints):
    """Returns a graph that returns the results and the gradients of the inputs, given the gradients of the outputs. Also
    returns the exceptions that it raises, and for each input whether it has a gradient. If `omits_prints`, the graph does not
    print, because the forward graph has already printed."""
    lowering = _entry(staging, omits_prints, seeds=outputs, batches_loops=True)
    gradients = lowering.differentiate(lowering.operand(outputs), lowering.seeds, lowering.operand(inputs))
    lowered = [*map(lowering.operand, results), *(value for value in gradients if value is not None)]
    lowering.graph.finish(lowered, [None] * len(lowered))
    return lowering.graph, lowering.exceptions, [value is not None for value in gradients]


def derivative_graph(staging, operands, captures, steps):
    """Returns the graph of a derivative of the order `len(steps)`. Also returns the exceptions that it raises, the indexes of
    the operands that the first order differentiates, and for each input of the last order whether it has a gradient."""
    lowering = _entry(staging, omits_prints=True, batches_loops=True)
    types = [capture.param.type for capture in captures]
    params = [lowering.operand(capture.param) for capture in captures]
    results = [(lowering.operand(o), gradient_type(getattr(o, "type", None))) for o in operands]
    first = [index for index, (_, type) in enumerate(results) if type is not None]
    results = [results[index] for index in first]
    found = []
    for order, needed in enumerate(steps):
        names = [f"seed{order}.{index}" for index in range(len(results))]
        seeds = [lowering.graph.parameter(type, name, argument=name) for (_, type), name in zip(results, names)]
        inputs = [index for index, need in enumerate(needed) if need and gradient_type(types[index]) is not None]
        again = order + 1 < len(steps)
        gradients = lowering.differentiate([v for v, _ in results], seeds, [params[i] for i in inputs], None, again)
        present = [(index, value) for index, value in zip(inputs, gradients) if value is not None]
        found = [any(index == i for i, _ in present) for index in range(len(needed))]
        params, types = [*params, *seeds], [*types, *(type for _, type in results)]
        results = [(value, gradient_type(types[index])) for index, value in present]
    lowering.graph.finish([value for value, _ in results], [None] * len(results))
    return lowering.graph, lowering.exceptions, first, found


def _entry(staging, omits_prints=False, seeds=(), nodes=None, batches_loops=False):
    """Returns a lowering that has emitted the whole record, or only these nodes of the entry. Its graph has an additional
    parameter for the gradient of each of the `seeds`."""
    graph = Graph(graph_name(staging.name), batches_loops=batches_loops)
    lowering = Lowering(graph, functools.partial(derivative, staging))
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
    lowering.nodes(staging.record.entry.nodes if nodes is None else nodes)
    return lowering
