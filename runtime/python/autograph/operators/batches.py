"""The batches of the `vmap` transforms in which staged code runs.

Inside `vmap`, a tensor stands for one element of a batch. Torch keeps the tensor of all elements in a wrapper, which has
the *level* of its `vmap`: 1 for the outermost one."""

import torch

_functorch = torch._C._functorch


class Batches:
    """The batches of all `vmap` transforms that are active."""

    def __init__(self):
        #: The level and the size of each batch, outermost first.
        self.levels = [
            (interpreter.level(), _functorch.CVmapInterpreterPtr(interpreter).batchSize())
            for interpreter in _functorch.get_interpreter_stack() or ()
        ]

    def stacked(self, tensor):
        """Returns the tensor of all elements, whose first dimensions are the batches. A tensor that does not depend on the
        element is repeated."""
        for level, size in reversed(self.levels):
            tensor = _functorch._remove_batch_dim(tensor, level, size, 0)
        return tensor

    def elements(self, tensor):
        """Returns the tensor that stands for one element of a tensor of all elements."""
        for level, _ in self.levels:
            tensor = _functorch._add_batch_dim(tensor, 0, level)
        return tensor
