"""Checkpoints: the graph of the objects that a program reaches from some roots, as one file; and its matching with the
objects of another run of the program.

    kinds          which Python values are state, and their edges
    objects        the graph of objects
    tensors        the tensors of a graph; tensors that share memory are stored once
    document       the graph as JSON
    files          the file: written atomically, validated when it is read
    matching       which object of the program gets which saved value
    creation       saved values that the program does not have yet
    writing        the assignments: all or none
    restoring      a restore, which continues when modules get new parameters
    status         what did not match
    interchange    parts of a checkpoint as a `state_dict` of torch
    random_state   the global random number generators
"""
