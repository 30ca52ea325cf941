"""Shadow mode: eager Python runs beside a staged function, on copies, and everything that it does is compared.

    copies       copies of all Python state that a call can reach, put in place while eager Python runs
    tensors      copies of tensors that keep shared memory, hooks and gradients
    comparison   the first difference between two values, with its path
    gradients    the gradients of both results by all tensors that require one
    surroundings random number generators, and printed output
    lines        the line of the user that a difference belongs to
    check        one call in shadow mode
"""
