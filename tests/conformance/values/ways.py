"""The ways of a value: small programs in which a value reaches its use.

`VALUE(x)` computes a Tensor from a Tensor, and `USE(v)` is an operation that needs the value of a Tensor. `program.py`
replaces them by operations of a framework.
"""

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

CONTAINERS = {
    "list_append": """
@staged
def f(x):
    out = []
    for i in range(3):
        out.append(VALUE(x))
    return USE(out[0])
""",
    "list_last": """
@staged
def f(x):
    out = [0.0]
    out.append(VALUE(x))
    return USE(out[-1])
""",
    "comprehension": """
@staged
def f(x):
    out = [VALUE(x) for _ in range(3)]
    return USE(out[1])
""",
    "loop": """
@staged
def f(x):
    for v in [VALUE(x), VALUE(x)]:
        r = USE(v)
    return r
""",
    "enumerate": """
@staged
def f(x):
    for i, v in enumerate([VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "zip": """
@staged
def f(x):
    for a, v in zip([1, 2], [VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "dictionary": """
@staged
def f(x):
    d = {'a': VALUE(x), 'n': 3}
    return USE(d['a'])
""",
    "dictionary_item": """
@staged
def f(x):
    d = {}
    d['a'] = VALUE(x)
    return USE(d['a'])
""",
    "dict_items": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    for k, v in d.items():
        r = USE(v)
    return r
""",
    "dict_values": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    return [USE(v) for v in d.values()]
""",
    "dict_get": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    return USE(d.get('a', 0.0))
""",
    "dict_update": """
@staged
def f(x):
    d = {}
    d.update(a=VALUE(x))
    return USE(d['a'])
""",
    "dict_comp": """
@staged
def f(x):
    d = {k: VALUE(x) for k in 'ab'}
    return USE(d['a'])
""",
    "dict_call": """
@staged
def f(x):
    d = dict(a=VALUE(x))
    return USE(d['a'])
""",
    "keyword_parameters": """
def h(**kw):
    return USE(kw['a'])

@staged
def f(x):
    return h(a=VALUE(x))
""",
    "sum_generator": """
@staged
def f(x):
    return USE(sum(VALUE(x) for _ in range(3)))
""",
    "sum_list": """
@staged
def f(x):
    return USE(sum([VALUE(x), VALUE(x)]))
""",
    "deque": """
@staged
def f(x):
    q = collections.deque(maxlen=3)
    q.append(VALUE(x))
    return USE(q[0])
""",
    "defaultdict": """
@staged
def f(x):
    d = collections.defaultdict(list)
    d['a'].append(VALUE(x))
    return USE(d['a'][0])
""",
    "setdefault": """
@staged
def f(x):
    d = {}
    v = d.setdefault('a', VALUE(x))
    return USE(v)
""",
    "pop": """
@staged
def f(x):
    q = [VALUE(x)]
    return USE(q.pop())
""",
    "sorted_key": """
@staged
def f(x):
    q = sorted([(2, VALUE(x)), (1, VALUE(x))], key=lambda p: p[0])
    return USE(q[0][1])
""",
    "list_add": """
@staged
def f(x):
    q = [VALUE(x)] + [VALUE(x)]
    return USE(q[0])
""",
    "list_mul": """
@staged
def f(x):
    q = [VALUE(x)] * 3
    return USE(q[0])
""",
    "slice": """
@staged
def f(x):
    q = [VALUE(x), VALUE(x)][:1]
    return USE(q[0])
""",
    "reversed": """
@staged
def f(x):
    for v in reversed([VALUE(x)]):
        r = USE(v)
    return r
""",
    "chain": """
@staged
def f(x):
    for v in itertools.chain([VALUE(x)], [VALUE(x)]):
        r = USE(v)
    return r
""",
    "accumulate": """
@staged
def f(x):
    for v in itertools.accumulate([VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "transposed": """
@staged
def f(x):
    a, b = zip(*[(VALUE(x), 1), (VALUE(x), 2)])
    return USE(a[0])
""",
    "dictionary_copy": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    e = dict(d)
    return USE(e['a'])
""",
    "dict_merge": """
@staged
def f(x):
    d = {**{'a': VALUE(x)}, 'b': 1}
    return USE(d['a'])
""",
    "dict_or": """
@staged
def f(x):
    d = {'a': VALUE(x)} | {'b': 1}
    return USE(d['a'])
""",
    "filled_list": """
def fill(out, y):
    out.append(VALUE(y))

@staged
def f(x):
    out = []
    fill(out, x)
    return USE(out[0])
""",
    "filled_dictionary": """
def fill(out, y):
    out['a'] = VALUE(y)

@staged
def f(x):
    out = {}
    fill(out, x)
    return USE(out['a'])
""",
    "dictionary_as_state": """
def upd(s, y):
    s = dict(s)
    s['t'] = s['t'] + VALUE(y)
    return s

@staged
def f(x):
    s = {'t': 0.0, 'n': 0}
    for i in range(3):
        s = upd(s, x)
    return USE(s['t'])
""",
}

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

OBJECTS = {
    "named_tuple_object": """
class P(NamedTuple):
    a: object
    b: int

@staged
def f(x):
    p = P(VALUE(x), 1)
    return USE(p.a)
""",
    "named_tuple_any": """
class P(NamedTuple):
    a: Any
    b: int

@staged
def f(x):
    p = P(VALUE(x), 1)
    return USE(p.a)
""",
    "named_tuple_replaced": """
class P(NamedTuple):
    a: Any
    b: int

@staged
def f(x):
    p = P(0.0, 1)
    p = p._replace(a=VALUE(x))
    return USE(p.a)
""",
    "collections_named_tuple": """
P = collections.namedtuple('P', ['a', 'b'])

@staged
def f(x):
    p = P(VALUE(x), 1)
    return USE(p.a)
""",
    "dataclass_any": """
@dataclasses.dataclass
class P:
    a: Any
    b: int

@staged
def f(x):
    p = P(VALUE(x), 1)
    return USE(p.a)
""",
    "dataclass_float": """
@dataclasses.dataclass
class P:
    a: float
    b: int

@staged
def f(x):
    p = P(VALUE(x), 1)
    return USE(p.a)
""",
    "dataclass_method": """
@dataclasses.dataclass
class P:
    a: Any
    b: int
    def get(self):
        return USE(self.a)

@staged
def f(x):
    p = P(VALUE(x), 1)
    return p.get()
""",
    "dataclass_replace": """
@dataclasses.dataclass
class P:
    a: Any
    b: int

@staged
def f(x):
    p = dataclasses.replace(P(1.0, 1), a=VALUE(x))
    return USE(p.a)
""",
    "simple_namespace": """
@staged
def f(x):
    p = types.SimpleNamespace(a=VALUE(x))
    return USE(p.a)
""",
    "attribute": """
class P:
    pass

@staged
def f(x):
    p = P()
    p.a = VALUE(x)
    return USE(p.a)
""",
    "attribute_of_init": """
class P:
    def __init__(self, a):
        self.a = a
    def get(self):
        return USE(self.a)

@staged
def f(x):
    return P(VALUE(x)).get()
""",
    "attribute_of_method": """
class P:
    def __init__(self):
        self.a = 0.0
    def set(self, a):
        self.a = a
    def get(self):
        return USE(self.a)

@staged
def f(x):
    p = P()
    p.set(VALUE(x))
    return p.get()
""",
    "list_in_attribute": """
class P:
    def __init__(self):
        self.a = []
    def add(self, a):
        self.a.append(a)
    def get(self):
        return USE(self.a[-1])

@staged
def f(x):
    p = P()
    p.add(VALUE(x))
    return p.get()
""",
    "property": """
class P:
    def __init__(self, a):
        self._a = a
    @property
    def a(self):
        return VALUE(self._a)

@staged
def f(x):
    return USE(P(x).a)
""",
    "cached_property": """
class P:
    def __init__(self, a):
        self._a = a
    @functools.cached_property
    def a(self):
        return VALUE(self._a)

@staged
def f(x):
    return USE(P(x).a)
""",
    "own_iterator": """
class P:
    def __init__(self, a):
        self.a = a
    def __iter__(self):
        yield VALUE(self.a)

@staged
def f(x):
    for v in P(x):
        r = USE(v)
    return r
""",
    "own_item": """
class P:
    def __init__(self, a):
        self.a = a
    def __getitem__(self, i):
        return VALUE(self.a)

@staged
def f(x):
    return USE(P(x)[0])
""",
    "own_call": """
class P:
    def __call__(self, a):
        return VALUE(a)

@staged
def f(x):
    return USE(P()(x))
""",
    "own_getattr": """
class P:
    def __init__(self, a):
        self.a = a
    def __getattr__(self, n):
        return VALUE(self.a)

@staged
def f(x):
    return USE(P(x).other)
""",
    "own_operator": """
class P:
    def __init__(self, a):
        self.a = a
    def __add__(self, o):
        return VALUE(self.a)

@staged
def f(x):
    return USE(P(x) + 1)
""",
    "static_method": """
class P:
    @staticmethod
    def f(a):
        return VALUE(a)

@staged
def f(x):
    return USE(P.f(x))
""",
    "class_method": """
class P:
    def __init__(self, a):
        self.a = a
    @classmethod
    def make(cls, a):
        return cls(VALUE(a))

@staged
def f(x):
    return USE(P.make(x).a)
""",
    "method_of_derived": """
class A:
    def run(self, a):
        return USE(self.f(a))
class B(A):
    def f(self, a):
        return VALUE(a)

@staged
def f(x):
    return B().run(x)
""",
    "abstract_method": """
class A(abc.ABC):
    @abc.abstractmethod
    def f(self, a): ...
    def run(self, a):
        return USE(self.f(a))
class B(A):
    def f(self, a):
        return VALUE(a)

@staged
def f(x):
    return B().run(x)
""",
    "super_method": """
class A:
    def f(self, a):
        return VALUE(a)
class B(A):
    def f(self, a):
        return USE(super().f(a))

@staged
def f(x):
    return B().f(x)
""",
    "protocol": """
class Pr(Protocol):
    def f(self, a): ...
class B:
    def f(self, a):
        return VALUE(a)
def run(b: Pr, a):
    return USE(b.f(a))

@staged
def f(x):
    return run(B(), x)
""",
    "function_in_attribute": """
class P:
    def __init__(self, f):
        self.f = f
    def run(self, a):
        return USE(self.f(a))
def h(a):
    return VALUE(a)

@staged
def f(x):
    return P(h).run(x)
""",
    "function_in_dataclass": """
@dataclasses.dataclass
class P:
    f: Callable
    def run(self, a):
        return USE(self.f(a))
def h(a):
    return VALUE(a)

@staged
def f(x):
    return P(h).run(x)
""",
    "global_instance": """
class P:
    def run(self, a):
        return USE(VALUE(a))
p = P()

@staged
def f(x):
    return p.run(x)
""",
    "getattr_of_method": """
class P:
    def run(self, a):
        return VALUE(a)
p = P()

@staged
def f(x):
    return USE(getattr(p, 'run')(x))
""",
    "bound_method": """
class P:
    def run(self, a):
        return VALUE(a)
p = P()

@staged
def f(x):
    f = p.run
    return USE(f(x))
""",
    "enum_method": """
class K(enum.Enum):
    A = 1
    def run(self, a):
        return VALUE(a)

@staged
def f(x):
    return USE(K.A.run(x))
""",
    "object_as_result": """
class P:
    def __init__(self, a):
        self.a = a
def h(a):
    return P(VALUE(a))

@staged
def f(x):
    return USE(h(x).a)
""",
    "objects_in_list": """
class P:
    def __init__(self, a):
        self.a = a

@staged
def f(x):
    ps = [P(VALUE(x)) for _ in range(2)]
    return [USE(p.a) for p in ps]
""",
    "objects_in_dictionary": """
class P:
    def __init__(self, a):
        self.a = a

@staged
def f(x):
    ps = {'p': P(VALUE(x))}
    return USE(ps['p'].a)
""",
    "named_tuple_as_state": """
class S(NamedTuple):
    t: Any
    n: int
def upd(s, y):
    return S(s.t + VALUE(y), s.n + 1)

@staged
def f(x):
    s = S(0.0, 0)
    for i in range(3):
        s = upd(s, x)
    return USE(s.t)
""",
    "dataclass_as_state": """
@dataclasses.dataclass(frozen=True)
class S:
    t: Any
    n: int
    def upd(self, y):
        return dataclasses.replace(self, t=self.t + VALUE(y))

@staged
def f(x):
    s = S(0.0, 0)
    for i in range(3):
        s = s.upd(x)
    return USE(s.t)
""",
    "accumulator": """
class M:
    def __init__(self):
        self.t = 0.0
        self.n = 0
    def add(self, v):
        self.t += v
        self.n += 1
    def mean(self):
        return USE(self.t / self.n)

@staged
def f(x):
    m = M()
    for i in range(3):
        m.add(VALUE(x))
    return m.mean()
""",
    "attribute_of_parameter": """
class M:
    def __init__(self):
        self.t = 0.0
def fill(m, y):
    m.t = VALUE(y)

@staged
def f(x):
    m = M()
    fill(m, x)
    return USE(m.t)
""",
    "chained_methods": """
class M:
    def __init__(self, t):
        self.t = t
    def add(self, y):
        self.t = self.t + VALUE(y)
        return self

@staged
def f(x):
    return USE(M(0.0).add(x).add(x).t)
""",
}

WAYS = {**VARIABLES, **CONTAINERS, **ARGUMENTS, **FUNCTIONS, **OBJECTS}
