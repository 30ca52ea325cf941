# flax.struct 0.12: dataclasses that are pytrees.
from dataclasses import field as field
from typing import Any, Callable, TypeVar, dataclass_transform, overload
from typing_extensions import Self

C = TypeVar("C")

@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(clz: type[C], /, **kwargs: Any) -> type[C]: ...
@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(**kwargs: Any) -> Callable[[type[C]], type[C]]: ...

@dataclass_transform(field_specifiers=(field,))
class PyTreeNode:
    def replace(self, **kwargs: Any) -> Self: ...
