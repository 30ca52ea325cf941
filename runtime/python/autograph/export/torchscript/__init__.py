"""TorchScript: source text that `torch.jit.script` compiles.

    module      the module around the code: attributes, writes to tensors from outside, the returned value
    code        the statements for the nodes of a graph
    operators   calls of torch's operators
    numbers     arithmetic with the results and exceptions of Python
    lists       which lists may be changed in place
"""

from .module import TorchScript

__all__ = ["TorchScript"]
