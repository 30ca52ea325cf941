"""Workarounds for operators that torch's exporter translates incorrectly. Needs onnxscript."""

import torch
from torch.onnx._internal.exporter import _core
from torch.onnx._internal.exporter._torchlib.ops import hop


def _while_loop(condition, *operands):
    """Removes the version from the calls of the loop condition. The exporter of torch 2.11 gives them the version of ONNX's
    operators instead of the version of the called function, so the function cannot be inlined."""
    found = hop.higher_order_while_loop(condition, *operands)
    for node in _core.current_tracer.nodes:
        if node.domain == condition.domain:
            node.version = None
    return found


TABLE = {torch.ops.higher_order.while_loop: _while_loop}
