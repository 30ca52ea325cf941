"""The ways of a value through the arguments and results of functions."""

ARGUMENTS = {
    "default_none": """
def h(y, m=None):
    if m is None:
        m = VALUE(y)
    return USE(m)

@staged
def f(x):
    return h(x)
""",
    "default_conditional": """
def h(y, m=None):
    m = VALUE(y) if m is None else m
    return USE(m)

@staged
def f(x):
    return h(x)
""",
    "or_default": """
def h(y, m=None):
    m = m or VALUE(y)
    return USE(m)

@staged
def f(x):
    return h(x)
""",
    "variadic": """
def h(*a):
    return USE(a[0])

@staged
def f(x):
    return h(VALUE(x))
""",
    "variadic_forwarded": """
def g(*a, **k):
    return h(*a, **k)
def h(y, z=1):
    return USE(y)

@staged
def f(x):
    return g(VALUE(x))
""",
    "keywords_forwarded": """
def g(**k):
    return h(**k)
def h(y=None, z=1):
    return USE(y)

@staged
def f(x):
    return g(y=VALUE(x))
""",
    "spread_dictionary": """
def h(y, z):
    return USE(y)

@staged
def f(x):
    d = {'y': VALUE(x), 'z': 2}
    return h(**d)
""",
    "annotated_optional": """
def h(a: Optional[float] = None):
    return USE(a)

@staged
def f(x):
    return h(VALUE(x))
""",
    "annotated_float": """
def h(a: float):
    return USE(a)

@staged
def f(x):
    return h(VALUE(x))
""",
    "result_annotated_float": """
def h(a) -> float:
    return VALUE(a)

@staged
def f(x):
    return USE(h(x))
""",
    "result_annotated_any": """
def h(a) -> Any:
    return VALUE(a)

@staged
def f(x):
    return USE(h(x))
""",
    "type_variable": """
T = TypeVar('T')
def h(a: T) -> T:
    return a

@staged
def f(x):
    return USE(h(VALUE(x)))
""",
    "item_of_result": """
def h(a):
    return VALUE(a), 1

@staged
def f(x):
    return USE(h(x)[0])
""",
    "dictionary_as_result": """
def h(a):
    return {'v': VALUE(a)}

@staged
def f(x):
    return USE(h(x)['v'])
""",
    "recursion": """
def rec(n, a):
    if n == 0:
        return VALUE(a)
    return rec(n - 1, a)

@staged
def f(x):
    return USE(rec(3, x))
""",
}
