"""A region of a graph, compiled by Inductor for the dtypes, sizes and strides of the tensors that reach it.

Dimensions that the graph does not know stay symbolic: a compiled variant is valid for all sizes that satisfy the guards of
Inductor. If a region cannot be compiled, or its code raises an exception, the last result of the call is False, and the
graph runs the nodes of the region itself.
"""

import operator
import threading

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ...tracing.tracebacks import warn
from ..graph import Value
from .eligible import overload

#: The maximum number of compiled variants of a region. For inputs that fit none of them, the graph runs the nodes.
MAX_VARIANTS = 8

_COMPILING = threading.RLock()


class CompiledRegion:
    """A function from the inputs of a region to its results, followed by a boolean: whether the results were computed.

    `lines` are the files and lines of its operators, and `operators` are their names. `refusals` are the reasons why
    the region was not compiled for some inputs."""

    def __init__(self, function, region):
        self.function, self.lines = function, region.lines
        self.operators = [node.op for node in region.nodes]
        self.refusals = []
        self._region = region
        self._not_computed = (*(torch.empty(0) for _ in region.results), False)
        self._exact = {}  # dtypes, devices, sizes and strides of the inputs -> the compiled code, or None
        self._variants = []  # (a function that returns whether the code is valid for inputs, the compiled code)

    @property
    def variants(self):
        """The number of compiled variants."""
        return len(self._variants)

    def __call__(self, *inputs):
        key = tuple([(t.dtype, t.device, t.size(), t.stride()) for t in inputs])
        try:
            compiled = self._exact[key]
        except KeyError:
            compiled = self._exact[key] = self._found_or_compiled(inputs)
        if compiled is None:
            return self._not_computed
        try:
            with torch.no_grad(), torch._C._DisableAutocast():
                return (*compiled(*inputs), True)
        except Exception:  # the nodes of the graph then raise it, with its source line
            return self._not_computed

    def _found_or_compiled(self, inputs):
        if not self._pays(inputs):
            return None
        with _COMPILING:
            if len(self._exact) > 1000:  # the cache grows with each new size; the variants stay
                self._exact.clear()
            for is_valid, compiled in self._variants:
                if is_valid(inputs):
                    return compiled
            if len(self._variants) >= MAX_VARIANTS:
                self._refuse(f"it has already been compiled for {MAX_VARIANTS} kinds of tensors")
                return None
            try:
                found = _compiled(self._region, inputs)
            except Exception as error:
                self._refuse(_first_line(error))
                return None
            self._variants.append(found)
            return found[1]

    def _pays(self, inputs):
        """Returns whether compiled code is expected to be faster for the sizes of these inputs."""
        pairs = [(n, size) for value, t in zip(self._region.inputs, inputs) for n, size in zip(value.type.shape, t.size())]
        unknown = [size for known, size in pairs if not isinstance(known, int)]
        return self._region.is_profitable(max(unknown, default=1))

    def _refuse(self, reason):
        if reason not in self.refusals:
            self.refusals.append(reason)
            place = "".join(f'\n  File "{file}", line {line}' for file, line in self.lines[:1])
            warn(f"Inductor does not compile a part of `{self.function}`, which runs without it: {reason}{place}")


def _compiled(region, inputs):
    """Compiles a region. Returns a function that returns whether the code is valid for given inputs, and the compiled
    code."""
    from torch._dynamo.source import LocalSource
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes)
    unknown = [[not isinstance(size, int) for size in value.type.shape] for value in region.inputs]
    has_unknown = any(any(dimensions) for dimensions in unknown)
    with _disable_current_modes(), torch.no_grad(), torch._C._DisableAutocast(), torch.random.fork_rng(devices=[]):
        fakes = []
        for index, (tensor, dimensions) in enumerate(zip(inputs, unknown)):
            if not any(dimensions):  # with a source, torch would read the value of a tensor without dimensions
                fakes.append(mode.from_tensor(tensor, static_shapes=True))
                continue
            dynamic = [DimDynamic.DYNAMIC if is_unknown else DimDynamic.STATIC for is_unknown in dimensions]
            context = StatelessSymbolicContext(dynamic_sizes=dynamic)
            fakes.append(mode.from_tensor(tensor, symbolic_context=context, source=LocalSource(f"t{index}")))
        # With unknown sizes, torch's caches lose the conditions under which the code is valid.
        caches = {"fx_graph_cache": False} if has_unknown else {}
        with (
            torch._guards.tracing(torch._guards.TracingContext(mode)),
            torch._functorch.config.patch(enable_autograd_cache=not has_unknown),
            config.patch(emulate_precision_casts=True, **caches),
        ):
            compiled = compile_fx(_module(region), fakes)
        conditions = shapes.produce_guards_expression(fakes, ignore_static=False)
    return _validity(shapes, conditions, inputs, unknown), compiled


def _validity(shapes, conditions, inputs, unknown):
    expected = [_kind(tensor, dimensions) for tensor, dimensions in zip(inputs, unknown)]

    def is_valid(others):
        if [_kind(tensor, dimensions) for tensor, dimensions in zip(others, unknown)] != expected:
            return False
        return conditions is None or shapes.evaluate_guards_expression(conditions, others)

    return is_valid


def _kind(tensor, unknown):
    """Returns the properties of an input that must equal those of the input for which the code was compiled."""
    sizes = tuple(None if is_unknown else size for size, is_unknown in zip(tensor.size(), unknown))
    strides = None if any(unknown) else tensor.stride()
    return tensor.dtype, tensor.device, sizes, strides


def _module(region):
    """Returns the region as a module of torch.fx."""
    graph = torch.fx.Graph()
    names = {value: graph.placeholder(f"a{index}") for index, value in enumerate(region.inputs)}

    def argument(operand):
        if isinstance(operand, Value):
            return names[operand]
        return list(map(argument, operand)) if isinstance(operand, list) else operand

    for node in region.nodes:
        called = overload(node.op)
        parameters = called._schema.arguments
        arguments = list(map(argument, node.operands))
        keywords = {p.name: given for p, given in zip(parameters, arguments) if p.kwarg_only}
        positional = [given for p, given in zip(parameters, arguments) if not p.kwarg_only]
        found = graph.call_function(called, tuple(positional), keywords)
        if len(node.outputs) == 1:
            names[node.outputs[0]] = found
        else:
            for index, output in enumerate(node.outputs):
                names[output] = graph.call_function(operator.getitem, (found, index))
    graph.output(tuple(names[result] for result in region.results))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _first_line(error):
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
