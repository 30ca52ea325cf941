"""Methods, attributes, properties, inheritance, callable objects."""

import tensorflow as tf
from cases import Fresh, T, case


class Counter:
    step = 2

    def __init__(self):
        self.count = 0
        self.log = []

    def add(self, x):
        if x > 0:
            self.count = self.count + x * self.step
        return self.count

    def drain(self, n):
        while n > 0:
            self.count += 1
            n -= 1
        return self.count

    @property
    def doubled(self):
        return self.count * 2

    @staticmethod
    def clip(x):
        if x > 10:
            x = T(10)
        return x

    @classmethod
    def scaled(cls, x):
        if x > 0:
            return x * cls.step
        return x

    def __call__(self, x):
        if x > 0:
            x = x + 1
        return x

    def sum_to(self, n):
        self.count = 0
        for i in tf.range(n):
            self.count += i
        return self.count

    def note(self, text):
        self.log.append(text)
        return self


class Loud(Counter):
    step = 3

    def add(self, x):
        if x > 5:
            x = x * 100
        return super().add(x)

    @property
    def doubled(self):
        return super().doubled + 1


@case(T(3))
@case(T(-3))
def method(x):
    return Counter().add(x)


@case(T(3))
def attribute_in_loop(x):
    return Counter().drain(x)


@case(T(4))
def attribute_in_range(x):
    return Counter().sum_to(x)


@case(T(3))
def attribute_of_argument_free_object(x):
    c = Counter()
    if x > 0:
        c.count = x
    else:
        c.count = -x
    return c.count


@case(T(3))
@case(T(7))
def inherited(x):
    return Loud().add(x)


@case(T(7))
def super_property(x):
    c = Loud()
    c.count = x
    return c.doubled


@case(T(30))
@case(T(3))
def static_method(x):
    return Counter.clip(x), Counter().clip(x)


@case(T(3))
def class_method(x):
    return Counter.scaled(x), Loud.scaled(x)


@case(T(3))
def callable_object(x):
    c = Counter()
    return c(x)


@case(T(3))
def bound_method_as_value(x):
    f = Counter().add
    return f(x)


@case(T(3))
def unbound_method(x):
    return Counter.add(Counter(), x)


@case(T(3))
def chained_methods(x):
    return Counter().note("a").note("b").add(x)


@case(T(3))
def class_defined_inside(x):
    class Box:
        def __init__(self, value):
            self.value = value

        def grow(self, by):
            if by > 0:
                self.value = self.value + by
            return self

    return Box(x).grow(x).value


@case(T(3))
def nested_attributes(x):
    class Inner:
        n = T(1)

    class Outer:
        inner = Inner()

    o = Outer()
    if x > 0:
        o.inner.n = x
    return o.inner.n


@case(Fresh(Counter), T(5))
def object_argument(c, x):
    if x > 0:
        c.count = 7
    return c.add(T(1))


@case(Fresh(lambda: tf.Variable(1.0)), T(5.0))
@case(Fresh(lambda: tf.Variable(1.0)), T(-5.0))
def variable_assigned(v, x):
    if x > 0:
        v.assign_add(x)
    else:
        v.assign(0.0)
    return v.read_value()


@case(Fresh(lambda: tf.Variable(0)), T(4))
def variable_in_loop(v, n):
    for i in tf.range(n):
        v.assign_add(i)
    return v.read_value()


class Module(tf.Module):
    def __init__(self):
        self.weight = tf.Variable(2.0)

    @tf.function
    def __call__(self, x):
        if tf.reduce_sum(x) > 0:
            return x * self.weight
        return -x


@case(T([1.0, 2.0]))
@case(T([-1.0, -2.0]))
def tf_module(x):
    return MODULE(x)


MODULE = Module()


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def flip(self):
        if self.x > self.y:
            self.x, self.y = self.y, self.x
        return self


@case(T(5), T(2))
@case(T(2), T(5))
def slots(x, y):
    p = Point(x, y) + Point(1, 1)
    p = p.flip()
    return p.x, p.y


class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = children

    def total(self):
        result = self.value
        for child in self.children:
            result += child.total()
        if result > 100:
            result = T(100)
        return result


@case(T(5))
@case(T(50))
def tree_of_objects(x):
    return Node(x, [Node(x), Node(x, [Node(T(1))])]).total()


class Context:
    def __init__(self):
        self.inside = False

    def __enter__(self):
        self.inside = True
        return self

    def __exit__(self, *details):
        self.inside = False


@case(T(3))
def context_object(x):
    c = Context()
    with c as entered:
        if x > 0:
            x = x + (1 if entered.inside else 0)
    return x, c.inside


class Descriptor:
    def __get__(self, instance, owner):
        return 42


class Described:
    answer = Descriptor()

    def use(self, x):
        return x + self.answer if x > 0 else x


@case(T(3))
def descriptor(x):
    return Described().use(x)
