"""Computes values of a trace for the arguments of the call, by running the graph that is recorded so far. Python needs these
values to decide conditions."""

from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..capture import permanent
from ..errors import Refuted
from ..record.ops import ASSERT
from ..record.queries import called_for_effects, has_random, without_effects
from . import graphs
from .generators import Generators
from .tracebacks import span_of_error


def computed(staging, flag, others=()):
    """Computes scalars of the trace for the arguments of this call, by running the graph that is recorded so far, without
    its effects. Returns the value of `flag`, followed by those of the others if all can be computed. Returns None if `flag`
    cannot be computed: inside a region, or if it depends on an effect. Random numbers are those that the run will draw."""
    entry = staging.record.entry
    if staging.record.region is not entry:
        return None
    is_random = has_random(entry)
    if is_random and (torch.cuda.is_available() or called_for_effects(entry) - staging.undone):  # an effect may seed them
        return None
    nodes = without_effects(entry, [flag, *others], staging.undone)
    if nodes is None and others:
        return computed(staging, flag)
    if nodes is None or isinstance(flag, bool):
        return None if nodes is None else [flag]
    generators = Generators(staging, is_random)
    before = generators.state()
    try:
        with _not_intercepted():  # also while the graph is built, which captures derivatives of operators
            return _ran(staging, *graphs.scalar_graph(staging, [flag, *others], nodes))
    except Exception as error:  # this code raises here, as the run will
        if isinstance(error, AssertionError) and str(error) in staging.assumptions:
            assumption = str(error), span_of_error(error)
            if assumption not in staging.refuted:
                raise Refuted(assumption, _observed(staging, nodes, str(error))) from None
        return None
    finally:
        generators.restore(before)


def _ran(staging, graph, exceptions):
    """Runs a graph for the arguments of this call. Returns its results."""
    plan = graph.compile(staging.callbacks, exceptions)
    with permanent.allowed():
        return plan.run([capture.tensor for capture in staging.captures_in_order()])


@contextmanager
def _not_intercepted():
    """In this block, operations of torch do not become part of the trace."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
        yield


def _observed(staging, nodes, message):
    """Returns the sizes and numbers of this call that the nodes before a failed check compute: name of the symbol -> integer."""
    before = next(n for n, node in enumerate(nodes) if node.op == ASSERT and node.args[1] == message)
    symbols = {symbol.name: origin for symbol, origin in staging.sizes.symbols.items()}
    with _not_intercepted():
        compiled, known, exceptions = graphs.sizes_graph(staging, symbols.values(), nodes[:before])
        found = _ran(staging, compiled, exceptions)
    names = list(symbols)
    return {names[index]: value for index, value in zip(known, found)}
