"""The ways of a value through attributes, fields and methods."""

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
