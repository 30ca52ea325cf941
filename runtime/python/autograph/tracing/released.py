"""Outputs of a trace whose history a `backward` in the function has released.

    loss.backward()
    optimizer.step()
    return loss         # requires a gradient, but a second `backward` is an error

A run keeps no values for the backward pass of such outputs."""

import torch

from ..record.nodes import Value
from ..record.ops import Gradient, operator_of
from ..record.queries import all_nodes, depend_on
from ..record.types import TensorType

_aten = torch.ops.aten

#: Operators whose derivative saves a tensor if an operand requires a gradient. A second `backward` through one is an error.
_SAVING = {
    _aten.addmm, _aten.baddbmm, _aten.bmm, _aten.mm, _aten.mv, _aten.dot,
    _aten.tanh, _aten.sigmoid, _aten.relu, _aten.gelu, _aten.silu, _aten.exp, _aten.log, _aten.sqrt, _aten.rsqrt,
    _aten.sin, _aten.cos, _aten.abs, _aten._softmax, _aten._log_softmax, _aten.softmax, _aten.log_softmax, _aten.logsumexp,
    _aten.mse_loss, _aten.smooth_l1_loss, _aten.huber_loss, _aten.binary_cross_entropy, _aten.nll_loss_forward,
    _aten.binary_cross_entropy_with_logits, _aten.native_layer_norm, _aten.native_batch_norm, _aten.convolution,
    _aten.pow, _aten.square, _aten.log1p, _aten.expm1, _aten.erf, _aten.softplus, _aten.leaky_relu, _aten.elu, _aten.clamp,
    _aten.linalg_vector_norm, _aten.prod, _aten.gather, _aten.embedding, _aten.index_select, _aten.masked_fill,
}  # fmt: skip

#: Operators of which this is true if both operands are tensors.
_SAVING_TENSORS = {_aten.mul, _aten.div}

_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)


def are_released(trace, outputs, needed):
    """Returns whether a backward pass through each of these outputs would be an error in eager torch, whatever inputs it is
    with respect to. `needed` contains a boolean for each input of the graph: whether it requires a gradient."""
    record, released = trace.staging.record, trace.staging.released
    if not released or any(isinstance(node.op, Gradient) and node.op.create_graph for node in all_nodes(record.entry)):
        return False
    saving = [node.outputs[0] for node in record.entry.nodes if _saves(node)]
    inputs = [capture.param for capture, need in zip(trace.captures, needed) if need]
    return all(_is_released(record, trace.operands[index], released, saving, inputs) for index in outputs)


def _is_released(record, output, released, saving, inputs):
    """Returns whether each path from the output to an input leads through a node that has saved a tensor and released
    it."""
    if not isinstance(output, Value) or not isinstance(output.type, TensorType):
        return False
    paths = [node for node, used in zip(saving, depend_on(record, saving, [output])) if used]
    used = [value for value, is_used in zip(inputs, depend_on(record, inputs, [output])) if is_used]
    for ends, starts in released:
        ended = [node for node, is_used in zip(paths, depend_on(record, paths, ends)) if is_used]
        if used and starts.issuperset(used) and ended and all(depend_on(record, used, ended)):
            return True
    return False


def _saves(node):
    operator = operator_of(node.op)
    if operator is None or not node.grad:
        return False
    packet = operator.overloadpacket
    if packet in _SAVING_TENSORS:
        return sum(isinstance(arg, Value) and isinstance(arg.type, TensorType) for arg in node.args) > 1
    return packet in _SAVING


def with_history(outputs, indexes, inputs):
    """Returns the outputs. Those at `indexes` have a history that has been released, which leads to the inputs."""
    outputs = list(outputs)
    with torch.enable_grad():
        found = with_released_history([outputs[index] for index in indexes], inputs)
    for index, output in zip(indexes, found):
        outputs[index] = output
    return outputs


def with_released_history(outputs, inputs):
    """Returns tensors with these values and with a history that has been released, which leads to the inputs."""
    return _APPLY(outputs, *inputs)


class Released(torch.autograd.Function):
    @staticmethod
    def forward(ctx, outputs, *inputs):
        return tuple([output.detach() for output in outputs])  # an output may be the same tensor as another one

    @staticmethod
    def backward(ctx, *seeds):
        raise RuntimeError(_MESSAGE)


#: `Released.apply` without the support of functorch.
_APPLY = super(torch.autograd.Function, Released).apply
