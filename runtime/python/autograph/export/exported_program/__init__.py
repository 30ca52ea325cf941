"""Programs of `torch.export`: graphs of torch's operators with `cond`, `while_loop` and `scan`.

    module         the module that torch.export traces: attributes, writes to tensors from outside, the returned value
    program        computes the nodes of a graph while torch.export traces the module
    control_flow   conditions and loops as higher-order operators
    lists          lists and tuples
    structure      the tensors inside of values
    operators      calls of torch's operators
    numbers        arithmetic with the results and exceptions of Python
"""
