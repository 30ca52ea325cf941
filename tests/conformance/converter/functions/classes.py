"""Classes: methods, properties, inheritance, bodies with control flow, private names."""

import functools

from environment import *


class Account:
    """Money with a history."""

    rate = 2

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.__log = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.__log.append(amount)
        return self

    def withdraw(self, amount):
        if amount > self.balance:
            return False
        self.balance -= amount
        self.__log.append(-amount)
        return True

    @property
    def history(self):
        return list(self.__log)

    @property
    def doubled(self):
        if self.balance:
            return self.balance * 2
        return None

    @doubled.setter
    def doubled(self, value):
        if value % 2:
            raise ValueError("odd")
        self.balance = value // 2

    @classmethod
    def of(cls, *owners):
        made = []
        for owner in owners:
            made.append(cls(owner))
        return made

    @staticmethod
    def check(amount):
        while amount > 10:
            amount -= 10
        return amount


class Savings(Account):
    def deposit(self, amount):
        if amount > 100:
            note("bonus")
            amount += 1
        return super().deposit(amount)

    def year(self):
        for _ in range(self.rate):
            super().deposit(1)
        return self.balance


def deposits(amounts, kind=Account):
    account = kind("me")
    for amount in amounts:
        account.deposit(amount)
    return account, account.history


def withdraws(amounts):
    account = Account("me", 10)
    return [account.withdraw(amount) for amount in amounts], account.balance


def uses_property(value):
    account = Account("me", 3)
    before = account.doubled
    account.doubled = value
    account.doubled += 2
    return before, account.balance


class Diamond:
    def who(self):
        return ["Diamond"]


class Left(Diamond):
    def who(self):
        if True:
            return ["Left"] + super().who()


class Right(Diamond):
    def who(self):
        return ["Right", *super(Right, self).who()]


class Bottom(Left, Right):
    def who(self):
        names = ["Bottom"]
        for name in super().who():
            names.append(name)
        return names


def method_resolution():
    return Bottom().who()


class WithFlowInBody:
    powers = []
    for n in range(4):
        if n == 2:
            continue
        powers.append(2**n)
    else:
        finished = True
    largest = max(powers) if powers else None
    table = {p: i for i, p in enumerate(powers)}

    def get(self):
        return self.powers, self.n, self.finished, self.largest, self.table


def body_with_flow():
    return WithFlowInBody().get()


def local_class(flag):
    size = 3

    class Local:
        size = size if flag else 0

        def __init__(self):
            self.items = [flag] * size

        def __len__(self):
            if self.items:
                return len(self.items)
            return 0

    return len(Local())


def class_in_loop(names):
    made = []
    for name in names:
        class Item:
            label = name

            def read(self):
                return name, self.label

        made.append(Item())
    return [item.read() for item in made]


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __bool__(self):
        return bool(self.x or self.y)

    def __getitem__(self, index):
        if index == 0:
            return self.x
        elif index == 1:
            return self.y
        raise IndexError(index)

    def __repr__(self):
        return f"Vector({self.x}, {self.y})"


def vectors(pairs):
    total = Vector(0, 0)
    for x, y in pairs:
        total = total + Vector(x, y)
    if not total:
        return "nothing"
    return repr(total), [*total], total[0], total == Vector(1, 1)


def vector_errors(other):
    try:
        return Vector(1, 2)[other]
    except IndexError as error:
        return Vector(1, 2) + error.args[0]


class Chain:
    def __init__(self):
        self.steps = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def step(*args):
            self.steps.append((name, *args))
            return self

        return step


def chained_calls():
    return Chain().open("a").read().close(1, 2).steps


def missing_attribute():
    return Chain()._hidden


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


def own_iterator(n):
    total = 0
    for value in Countdown(n):
        if value == 1:
            break
        total += value
    return total


class Celsius:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name, 0)

    def __set__(self, instance, value):
        if value < -273:
            raise ValueError(value)
        setattr(instance, self.name, value)


class Room:
    heat = Celsius()

    def warm(self, by):
        while self.heat < by:
            self.heat += 7
        return self.heat


def descriptor(by):
    return Room().warm(by), isinstance(Room.heat, Celsius)


def descriptor_refuses():
    Room().heat = -300


class Registry(type):
    known = []

    def __new__(mcls, name, bases, namespace, tag=None):
        cls = super().__new__(mcls, name, bases, namespace)
        if tag:
            mcls.known.append((name, tag))
        return cls


def metaclass(tag):
    class Tagged(metaclass=Registry, tag=tag):
        pass

    return type(Tagged).__name__, Registry.known[-1:]


class Private:
    __count = 0

    def bump(self):
        self.__count += 1
        if self.__count > 1:
            self.__secret = __name__
        return self.__count, hasattr(self, "_Private__secret")

    def nested(self):
        def read():
            return self.__count

        return [read() for _ in range(2)]

    def local(self):
        __value = 1
        if __value:
            __value += 1
        return __value


def private_names():
    p = Private()
    return p.bump(), p.bump(), p.nested(), p.local(), sorted(vars(p))


class Callable:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        if self.calls > 2:
            return "too often"
        return self.function(*args, **kwargs)


@Callable
def thrice(x, *, scale=1):
    return x * scale


def decorated_calls():
    return thrice(1), thrice(2, scale=3), thrice(4), thrice.__name__


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        first = function(*args, **kwargs)
        if first is None:
            return None
        return first, function(*args, **kwargs)

    return wrapper


def with_argument(times):
    def decorate(function):
        def repeated(*args):
            return [function(*args) for _ in range(times)]

        return repeated

    return decorate


@twice
@with_argument(2)
def greet(name):
    """Greets."""
    return f"hello {name}" if name else None


class Temperature:
    @twice
    def read(self, n):
        self.n = getattr(self, "n", 0) + n
        return self.n

    @functools.cached_property
    def cached(self):
        note("computed")
        return 42

    @functools.singledispatchmethod
    def kind(self, value):
        return "other"

    @kind.register
    def _(self, value: int):
        return "int" if value else "zero"

    @kind.register(list)
    def _(self, value):
        for item in value:
            return self.kind(item), "in a list"


def decorated_methods():
    t = Temperature()
    return t.read(1), t.cached, t.cached, t.kind(1), t.kind(0), t.kind("a"), t.kind([3])


class Composite:
    def __init__(self):
        self.state = {"a": 1}
        self.inner = Bag(x=[0, 0])

    def update(self, flag):
        if flag:
            self.state["a"] += 1
            self.inner.x[0] -= 1
            self.fresh = True
        else:
            self.inner.x[1] = self.state
            del self.state["a"]
        return vars(self)


def composite(flag):
    return Composite().update(flag)


def sets_attribute_conditionally(flag):
    box = Bag()
    if flag:
        box.value = 1
    return box.value


def class_level_super():
    class Base:
        def __init_subclass__(cls, **options):
            super().__init_subclass__()
            cls.options = options or None

    class Derived(Base, color="red"):
        pass

    return Derived.options


def comparison_chain_of_objects():
    class Loud:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            note(f"{self.v} < {other.v}")
            return Truth(f"{self.v}<{other.v}", self.v < other.v)

    a, b, c = Loud(1), Loud(3), Loud(2)
    return a < b < c


CALLS = [
    "deposits([1, 2])", "deposits([5, -1])", "deposits([101], Savings)", "withdraws([4, 7, 6])",
    "uses_property(8)", "uses_property(7)", "[a.owner for a in Account.of('x', 'y')]", "Account.check(35)",
    "Savings('me').year()", "method_resolution()", "body_with_flow()", "local_class(True)", "local_class(False)",
    "class_in_loop('ab')", "vectors([(1, 0), (0, 1)])", "vectors([])", "vector_errors(1)", "vector_errors(7)",
    "chained_calls()", "missing_attribute()", "own_iterator(5)", "own_iterator(0)", "descriptor(10)",
    "descriptor_refuses()", "metaclass('t')", "metaclass(None)", "private_names()", "decorated_calls()",
    "greet('you')", "greet('')", "greet.__doc__", "decorated_methods()", "composite(True)", "composite(False)",
    "sets_attribute_conditionally(True)", "sets_attribute_conditionally(False)", "class_level_super()",
    "comparison_chain_of_objects()", "Account.__doc__",
]
