"""The ways of a value through a variable: bound again, unpacked, carried by a loop, captured by a closure."""

VARIABLES = {
    "direct": """
@staged
def f(x):
    v = VALUE(x)
    return USE(v)
""",
    "rebind": """
@staged
def f(x):
    x = VALUE(x)
    return USE(x)
""",
    "tuple_unpack": """
@staged
def f(x):
    a, b = VALUE(x), 1
    return USE(a)
""",
    "tuple_unpack_call": """
def two(y):
    return VALUE(y), 1

@staged
def f(x):
    a, b = two(x)
    return USE(a)
""",
    "rebind_unpack_call": """
def two(y, z):
    return VALUE(y), z

@staged
def f(x, y=1):
    x, y = two(x, y)
    return USE(x)
""",
    "augmented": """
@staged
def f(x):
    x -= VALUE(x)
    return USE(x)
""",
    "augmented_number": """
@staged
def f(x):
    t = 0.0
    for i in range(3):
        t += VALUE(x)
    return USE(t)
""",
    "swap": """
@staged
def f(x):
    a, b = VALUE(x), 0
    a, b = b, a
    return USE(b)
""",
    "starred": """
@staged
def f(x):
    first, *rest = [VALUE(x), VALUE(x), VALUE(x)]
    return USE(rest[0])
""",
    "nested_unpack": """
@staged
def f(x):
    (a, b), c = (VALUE(x), 1), 2
    return USE(a)
""",
    "walrus": """
@staged
def f(x):
    if (v := VALUE(x)) is not None:
        return USE(v)
    return x
""",
    "branch": """
@staged
def f(x):
    v = 0.0
    if len(x.shape) > 5:
        v = 1.0
    else:
        v = VALUE(x)
    return USE(v)
""",
    "conditional": """
@staged
def f(x):
    v = VALUE(x) if len(x.shape) > 0 else VALUE(x) * 2
    return USE(v)
""",
    "conditional_number": """
@staged
def f(x):
    v = VALUE(x) if len(x.shape) > 0 else 0.0
    return USE(v)
""",
    "try": """
@staged
def f(x):
    try:
        v = VALUE(x)
    except ValueError:
        raise
    return USE(v)
""",
    "match": """
@staged
def f(x):
    match (VALUE(x), 1):
        case (v, n):
            return USE(v)
""",
    "tuple_in_loop": """
@staged
def f(x):
    s = (0.0, 0)
    for i in range(3):
        s = (s[0] + VALUE(x), i)
    return USE(s[0])
""",
    "nonlocal": """
@staged
def f(x):
    v = 0.0
    def inner():
        nonlocal v
        v = VALUE(x)
    inner()
    return USE(v)
""",
    "closure": """
@staged
def f(x):
    v = VALUE(x)
    def inner():
        return USE(v)
    return inner()
""",
    "returned_closure": """
def make(v):
    def inner():
        return USE(v)
    return inner

@staged
def f(x):
    return make(VALUE(x))()
""",
    "arithmetic": """
@staged
def f(x):
    v = VALUE(x)
    w = -v * 2.0 + 1.0
    return USE(w)
""",
}
