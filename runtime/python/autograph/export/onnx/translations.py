"""Operators whose translation in torch's exporter has a fault. Needs onnxscript."""

import torch
from torch.onnx._internal.exporter import _core
from torch.onnx._internal.exporter._torchlib.ops import hop


def _while_loop(condition, *operands):
    """The exporter of torch 2.11 gives the call of the condition the version of ONNX's operators in place of that of its
    function, so that functions cannot be inlined."""
    found = hop.higher_order_while_loop(condition, *operands)
    for node in _core.current_tracer.nodes:
        if node.domain == condition.domain:
            node.version = None
    return found


TABLE = {torch.ops.higher_order.while_loop: _while_loop}
