"""How code uses the variables and attributes that hold containers, and the items of these containers.

A list to which code only appends does not influence any result: `history["loss"].append(loss)`. The names in the code say
how it is used. The *path* of a use is a name and the keys of the items after it; a key that is not a constant is `ANY`:

    history["loss"].append(x)    appends at ("history", "loss")
    losses[i].extend(xs)         appends at ("losses", ANY)
    history["n"] += 1            reads at ("history", "n")
    print(history)               reads at ("history",)
"""

import dis
import functools
import types

#: A key that is only known when the code runs.
ANY = object()

#: The methods that add items to the end of a list.
_APPENDING = ("append", "extend")


#: Instruction -> how many values it takes from the stack, given its argument. It puts one value on the stack.
_POPPED = {
    "BINARY_OP": lambda _: 2,
    "COMPARE_OP": lambda _: 2,
    "BUILD_LIST": lambda count: count,
    "BUILD_TUPLE": lambda count: count,
    "BUILD_SET": lambda count: count,
    "BUILD_MAP": lambda count: 2 * count,
}

#: Functions that read an attribute or variable whose name is a string, and those that read all of them.
_BY_NAME, _OF_ALL = {"getattr", "attrgetter"}, {"vars", "locals", "globals", "__dict__", "eval", "exec"}

#: The path of a read of everything.
_EVERYTHING = ()


class _Path(tuple):
    """The path of a value on the stack."""

    __slots__ = ()


class _Method(tuple):
    """The method `setdefault` of the value at a path."""

    __slots__ = ()


@functools.lru_cache(maxsize=None)
def reading_paths(code):
    """Returns the paths that a code object and the code objects nested in it read, as tuples. Instructions that are not
    known count as reads of everything that is on the stack."""
    reads, stack = set(), []

    def read(values):
        reads.update(tuple(value) for value in values if isinstance(value, (_Path, _Method)))

    def pop(count):
        values = [stack.pop() for _ in range(min(count, len(stack)))]
        return values[::-1]

    def push(*values):
        stack.extend(values)

    for instruction in dis.get_instructions(code):
        name, argument = instruction.opname, instruction.argval
        if name in ("CACHE", "EXTENDED_ARG", "RESUME", "PRECALL", "NOP", "KW_NAMES"):
            continue
        if instruction.is_jump_target:  # the stack of the other predecessor is unknown
            read(stack)
            stack = [None] * len(stack)
        if name == "LOAD_CONST":
            push(("constant", argument))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            (owner,) = pop(1) or [None]
            is_method = name == "LOAD_METHOD" or bool(instruction.arg & 1) and "NULL" in instruction.argrepr
            if isinstance(owner, _Path) and argument in _APPENDING:
                push(None)
            elif isinstance(owner, _Path) and argument == "setdefault":
                push(_Method(owner))
            else:
                read([owner])
                push(_Path((argument,)))
            if is_method:
                push(None)
        elif name.startswith("LOAD_") and isinstance(argument, str) and name != "LOAD_CLOSURE":
            if name == "LOAD_GLOBAL" and "NULL" in instruction.argrepr:
                push(None)
            push(_Path((argument,)))
        elif name == "PUSH_NULL":
            push(None)
        elif name == "BINARY_SUBSCR":
            owner, key = ([None, None] + pop(2))[-2:]
            read([key])
            push(_Path((*owner, _key(key))) if isinstance(owner, _Path) else None)
        elif name == "STORE_SUBSCR":
            value, owner, key = ([None] * 3 + pop(3))[-3:]
            read([value, key])
            read([_Path((*owner, _key(key)))] if isinstance(owner, _Path) else [])
        elif name in ("COPY", "SWAP") and instruction.arg <= len(stack):
            if name == "COPY":
                push(stack[-instruction.arg])
            else:
                stack[-1], stack[-instruction.arg] = stack[-instruction.arg], stack[-1]
        elif name in _POPPED:
            read(pop(_POPPED[name](instruction.arg)))
            push(None)
        elif name == "CALL":
            callee, *rest = ([None, None] + pop(instruction.arg + 2))[-(instruction.arg + 2) :]
            methods = [value for value in (callee, *rest) if isinstance(value, _Method)]
            arguments = rest[-instruction.arg :] if instruction.arg else []
            read(value for value in (callee, *rest) if isinstance(value, _Path))
            push(_Path((*methods[0], _key(arguments[0]))) if methods and arguments else None)
        elif name == "POP_TOP":
            read(value for value in pop(1) if isinstance(value, _Method))
        else:
            read(stack)
            effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
            stack = [None] * max(0, len(stack) + effect)
    read(stack)
    names = set(code.co_names)
    reads |= {(text,) for text in code.co_consts if isinstance(text, str)} if _BY_NAME & names else set()
    reads |= {_EVERYTHING} if _OF_ALL & names else set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            reads |= reading_paths(constant)
    return frozenset(reads)


def _key(value):
    """Returns the key in a path for the value of an index on the stack."""
    return key(value[1]) if type(value) is tuple else ANY


def key(value):
    """Returns the key in a path for an index: itself if it is a string or counts from the start."""
    return value if isinstance(value, str) or isinstance(value, int) and value >= 0 else ANY


def may_read(path, container):
    """Returns whether a read at a path may read the items of a container at another path: if one of the two paths
    begins with the other."""
    return all(a is ANY or b is ANY or a == b for a, b in zip(path, container))
