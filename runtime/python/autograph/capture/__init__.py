"""The state of a trace that is being made: the values of tensors and numbers, views and writes in place, sizes, Python
objects, and `.grad`."""
