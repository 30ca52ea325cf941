import tensorflow as tf
import copy
from typing import Generic, TypeVar, cast
from functools import partial
from itertools import chain
from collections import deque, defaultdict
T = TypeVar('T')
class Box(Generic[T]):
    def __init__(self, value: T):
        self.value = value
def g(a, b):
    return (a, b)
@tf.function
def f(y, a, b, options, self):
    x = y
    while y > 0:
        if y > 0:
            x = cast(tuple, (x, x))
        if y > 1:
            x = x + y
    return x
