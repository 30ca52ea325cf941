"""`@ag.function(compile="inductor")`: torch's Inductor compiles the straight-line parts of a graph.

    eligible     the operators that Inductor may compile
    regions      which nodes of a graph form a region
    rewriting    a graph in which each region is a call of Python
    compiled     a region, compiled for the tensors that reach it
    option       the option of `@ag.function`

Loops, conditions, lists, recursion and effects stay in the graph. Regions are found after the gradient has been computed and
the graph optimized, so regions of a backward pass are compiled too. Torch's Inductor is imported when the first region is
compiled.
"""
