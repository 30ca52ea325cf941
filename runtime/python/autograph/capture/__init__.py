"""The state of an active trace: the values of tensors and numbers, views and in-place writes, sizes, Python objects, and
gradients."""
