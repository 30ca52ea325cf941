"""The ways of a value through functions as values, and generators."""

FUNCTIONS = {
    "lambda": """
@staged
def f(x):
    f = lambda y: USE(y)
    return f(VALUE(x))
""",
    "result_of_lambda": """
@staged
def f(x):
    f = lambda y: VALUE(y)
    return USE(f(x))
""",
    "partial": """
def h(k, y):
    return USE(y)

@staged
def f(x):
    return functools.partial(h, 2)(VALUE(x))
""",
    "partial_keyword": """
def h(y, k):
    return USE(y)

@staged
def f(x):
    f = functools.partial(h, k=2)
    return f(VALUE(x))
""",
    "partial_of_value": """
def h(y, k):
    return USE(y)

@staged
def f(x):
    f = functools.partial(h, VALUE(x))
    return f(k=1)
""",
    "reduce": """
def h(a, b):
    return a + VALUE(b)

@staged
def f(x):
    v = functools.reduce(h, [x, x])
    return USE(v)
""",
    "used_in_reduce": """
def h(a, b):
    return a + USE(VALUE(b))

@staged
def f(x):
    return functools.reduce(h, [x, x], 0.0)
""",
    "used_in_map": """
def h(a):
    return USE(VALUE(a))

@staged
def f(x):
    return list(map(h, [x, x]))
""",
    "mapped": """
def h(a):
    return VALUE(a)

@staged
def f(x):
    return [USE(v) for v in map(h, [x, x])]
""",
    "registry": """
R = {}
def reg(f):
    R[f.__name__] = f
    return f
@reg
def h(a):
    return USE(VALUE(a))

@staged
def f(x):
    return R['h'](x)
""",
    "list_of_functions": """
def h(a):
    return VALUE(a)
FS = [h]

@staged
def f(x):
    for f in FS:
        x = f(x)
    return USE(x)
""",
    "dictionary_of_functions": """
def h(a):
    return VALUE(a)
FS = {'h': h}

@staged
def f(x):
    return USE(FS['h'](x))
""",
    "decorator": """
def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k)
    return w
@deco
def h(a):
    return VALUE(a)

@staged
def f(x):
    return USE(h(x))
""",
    "used_in_decorated": """
def deco(f):
    def w(*a):
        return f(*a)
    return w
@deco
def h(a):
    return USE(a)

@staged
def f(x):
    return h(VALUE(x))
""",
    "function_as_argument": """
def app(f, a):
    return f(a)
def h(a):
    return VALUE(a)

@staged
def f(x):
    return USE(app(h, x))
""",
    "lambda_as_argument": """
def app(f, a):
    return f(a)

@staged
def f(x):
    return USE(app(lambda y: VALUE(y), x))
""",
    "composed": """
def comp(*fs):
    def r(a):
        for f in fs:
            a = f(a)
        return a
    return r
def h(a):
    return VALUE(a)

@staged
def f(x):
    return USE(comp(h, h)(x))
""",
    "annotated_callable": """
def run(f: Callable[[Any], Any], a):
    return USE(f(a))
def h(a):
    return VALUE(a)

@staged
def f(x):
    return run(h, x)
""",
    "generator": """
def gen(y):
    for i in range(2):
        yield VALUE(y)

@staged
def f(x):
    for v in gen(x):
        r = USE(v)
    return r
""",
    "generator_next": """
def gen(y):
    yield VALUE(y)

@staged
def f(x):
    return USE(next(gen(x)))
""",
    "generator_list": """
def gen(y):
    yield VALUE(y)

@staged
def f(x):
    return USE(list(gen(x))[0])
""",
    "context_manager": """
@contextlib.contextmanager
def scope(y):
    yield VALUE(y)

@staged
def f(x):
    with scope(x) as v:
        return USE(v)
""",
}
