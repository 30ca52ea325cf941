"""The option `compile="inductor"` of `@ag.function`."""

import os
import shutil
import sys

from ..._runtime import Graph
from ...errors import AutographError
from ...tracing.compilation import COMPILERS
from .compiled import CompiledRegion
from .rewriting import rewritten


class Inductor:
    """The compiler for the graphs of one staged function. `regions` contains the regions of all its graphs, in order of
    creation."""

    def __init__(self, name):
        self.name = name
        self.regions = []

    def plan(self, graph, callbacks, exceptions, strides):
        """Returns the plan of a graph in which compiled code replaces the regions. A region is compiled when it first runs."""
        optimized = graph.optimized()
        text, found = rewritten(optimized.sexpr(), len(callbacks))
        if not found:
            return graph.compile(callbacks, exceptions, strides=strides)
        _check_compiler()
        regions = [CompiledRegion(self.name, region) for region in found]
        self.regions += regions
        return Graph.from_sexpr(text).compile([*callbacks, *regions], exceptions, [], strides)


def _check_compiler():
    """Raises an error if the C++ compiler that Inductor would call does not exist."""
    candidates = [os.environ.get("CXX") or "g++"]
    config = sys.modules.get("torch._inductor.config")
    if config is not None:
        chosen = config.cpp.cxx
        candidates = [name for name in (chosen if isinstance(chosen, (list, tuple)) else [chosen]) if name]
    if candidates and not any(shutil.which(name) for name in candidates):
        named = " or ".join(f"`{name}`" for name in candidates)
        help = "install a C++ compiler, or set CXX to the path of one; or leave out `compile`"
        raise AutographError(f'`compile="inductor"` needs a C++ compiler, and {named} is not found\nhelp: {help}')


COMPILERS["inductor"] = Inductor
