"""Checkpoints. A checkpoint is a file with the graph of the objects that a program reaches from some roots. A restore
matches this graph with the objects of another run of the program.

    kinds          which Python values are state, and their edges
    objects        the graph of objects
    tensors        the tensors of a graph; tensors that share memory are stored once
    document       the graph as JSON
    files          the file: written atomically, validated when it is read
    matching       which object of the program gets which saved value
    creation       objects for saved values that the program does not have
    writing        the assignments: all or none
    restoring      one restore, which continues when modules get new parameters
    status         what did not match
    interchange    parts of a checkpoint as a `state_dict` of torch
    random_state   the global random number generators
"""
