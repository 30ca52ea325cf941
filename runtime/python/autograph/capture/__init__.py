"""The state of an active trace: the values of tensors and numbers, views and in-place writes, sizes, Python objects, and
gradients.

Words with a particular meaning in this layer and the layers above it:

    from outside    of a tensor or object: it exists before the call, such as an argument or a weight
    capture         a parameter of the graph for a tensor or number from outside
    fake            a tensor with a type and sizes, but no data (`fakes.py`)
    place           where Python stores a value, such as a variable or an attribute (`places.py`)
    cell            a tensor, list or place whose state a region may change
    block           a function of converted code, for example the body of a branch or loop
    decide          a staged boolean or number that Python needs: compute it for the arguments of the call, by running
                    the graph that is recorded so far; continue the trace with this value, and check it in each run
"""
