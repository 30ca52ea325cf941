"""Shadow mode: eager Python runs beside a staged function, on copies, and the effects of both are compared.

    copies       copies of all Python state that a call can reach; eager Python uses them instead of the originals
    tensors      copies of tensors that keep shared memory, hooks and gradients
    comparison   the first difference between two values, with its path
    gradients    the gradients of both results with respect to all tensors that require one
    surroundings random number generators, and printed output
    lines        the line of the user's code that causes a difference
    check        one call in shadow mode
"""
