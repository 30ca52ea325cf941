"""Code that the TorchScript compiler rejects, and similar functions that it compiles."""
from typing import Dict, List, Optional, Tuple, Union

import torch

DIALECT = "torch.jit.script"


@torch.jit.script
def bound_in_one_branch(x: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
    return y


@torch.jit.script
def bound_before_branch(x: torch.Tensor):
    y = x
    if x.sum() > 0:
        y = x * 2
    return y


@torch.jit.script
def bound_or_raised(x: torch.Tensor):
    if x.dim() == 1:
        y = x * 2
    else:
        raise ValueError("one row wanted")
    return y


@torch.jit.script
def bound_in_loop(x: torch.Tensor):
    for i in range(3):
        last = x * i
    return last


@torch.jit.script
def bound_before_loop(x: torch.Tensor):
    last = x
    for i in range(3):
        last = x * i
    return last


@torch.jit.script
def branch_types(x: torch.Tensor):
    if x.sum() > 0:
        y = 1
    else:
        y = 2.0
    return x * y


@torch.jit.script
def branch_types_alike(x: torch.Tensor):
    if x.sum() > 0:
        y = 1.0
    else:
        y = 2.0
    return x * y


@torch.jit.script
def loop_type_changes(x: torch.Tensor):
    total = 0
    for i in range(3):
        total = total + 0.5
    return x * total


@torch.jit.script
def loop_type_kept(x: torch.Tensor):
    total = 0.0
    for i in range(3):
        total = total + 0.5
    return x * total


@torch.jit.script
def return_types(x: torch.Tensor):
    if x.sum() > 0:
        return x
    return 1


@torch.jit.script
def return_annotated(x: torch.Tensor) -> int:
    return x.sum()


@torch.jit.script
def return_converted(x: torch.Tensor) -> int:
    return int(x.sum())


@torch.jit.script
def return_in_one_branch(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x


@torch.jit.script
def return_early(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x
    return -x


@torch.jit.script
def returns_none_or_tensor(x: torch.Tensor):
    if x.sum() > 0:
        return x
    return None


@torch.jit.script
def ternary_types(x: torch.Tensor):
    return x * (1 if x.sum() > 0 else "one")


@torch.jit.script
def ternary_alike(x: torch.Tensor):
    return x * (1.0 if x.sum() > 0 else 2.0)


@torch.jit.script
def optional_unrefined(x: torch.Tensor, bias: Optional[torch.Tensor] = None):
    return x + bias


@torch.jit.script
def optional_refined(x: torch.Tensor, bias: Optional[torch.Tensor] = None):
    return x if bias is None else x + bias


@torch.jit.script
def none_then_tensor(x: torch.Tensor):
    best = None
    for row in x:
        best = row
    return best


@torch.jit.script
def none_then_tensor_annotated(x: torch.Tensor):
    best: Optional[torch.Tensor] = None
    for row in x:
        best = row
    return best


@torch.jit.script
def default_none(x: torch.Tensor, scale: float = None):
    return x * scale


@torch.jit.script
def untyped_number(x, n):
    return x.reshape(n)


@torch.jit.script
def untyped_in_range(x, n):
    for i in range(n):
        x = x * 2
    return x


@torch.jit.script
def typed_in_range(x: torch.Tensor, n: int):
    for i in range(n):
        x = x * 2
    return x


@torch.jit.script
def mixed_list(x: torch.Tensor):
    return x * [1, 2.0, "three"][0]


@torch.jit.script
def empty_list_of_numbers(x: torch.Tensor):
    sizes = []
    sizes.append(x.size(0))
    return sizes


@torch.jit.script
def empty_list_annotated(x: torch.Tensor):
    sizes: List[int] = []
    sizes.append(x.size(0))
    return sizes


@torch.jit.script
def tuple_indexed_by_variable(x: torch.Tensor, i: int):
    pair = (x, 1)
    return pair[i]


@torch.jit.script
def dictionary_of_mixed(x: torch.Tensor):
    return {"value": x, "size": x.size(0)}


@torch.jit.script
def dictionary_of_tensors(x: torch.Tensor) -> Dict[str, torch.Tensor]:
    return {"value": x, "twice": x * 2}


@torch.jit.script
def vector_condition(x: torch.Tensor):
    if x > 0:
        x = -x
    return x


@torch.jit.script
def tensor_condition_and(x: torch.Tensor):
    return x if bool(x[0] > 0) and bool(x[1] > 0) else -x


@torch.jit.script
def union_narrowed(x: Union[int, torch.Tensor]) -> int:
    if isinstance(x, int):
        return x
    return int(x.sum())


@torch.jit.script
def union_used(x: Union[int, List[int]]) -> int:
    return x + 1


@torch.jit.script
def swapped(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    low, high = x.min(), x.max()
    if low + high > 0:
        low, high = high, low
    return low, high


RULES = {
    "bound_in_one_branch": "script-undefined", "bound_before_branch": None, "bound_or_raised": None,
    "bound_in_loop": "script-undefined", "bound_before_loop": None, "branch_types": "script-branch-type",
    "branch_types_alike": None, "loop_type_changes": "script-loop-type", "loop_type_kept": None,
    "return_types": "script-return-type", "return_annotated": "script-return-type", "return_converted": None,
    "return_in_one_branch": "script-return-type", "return_early": None, "returns_none_or_tensor": None,
    "ternary_types": "script-branch-type", "ternary_alike": None, "optional_unrefined": "script-none",
    "optional_refined": None, "none_then_tensor": "script-none", "none_then_tensor_annotated": None,
    "default_none": "script-none", "untyped_number": "script-untyped", "untyped_in_range": "script-untyped",
    "typed_in_range": None, "mixed_list": "script-container-type", "empty_list_of_numbers": "script-container-type",
    "empty_list_annotated": None, "tuple_indexed_by_variable": "script-container-type", "dictionary_of_mixed": None,
    "dictionary_of_tensors": None, "vector_condition": "script-branch-rank", "tensor_condition_and": None,
    "union_narrowed": None, "union_used": "script-union", "swapped": None,
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    print(bound_in_one_branch(x))
    print(bound_before_branch(x))
    print(bound_or_raised(x))
    print(bound_in_loop(x))
    print(bound_before_loop(x))
    print(branch_types(x))
    print(branch_types_alike(x))
    print(loop_type_changes(x))
    print(loop_type_kept(x))
    print(return_types(x))
    print(return_annotated(x))
    print(return_converted(x))
    print(return_in_one_branch(x))
    print(return_early(x))
    print(returns_none_or_tensor(x))
    print(ternary_types(x))
    print(ternary_alike(x))
    print(optional_unrefined(x, x))
    print(optional_refined(x, x))
    print(none_then_tensor(x))
    print(none_then_tensor_annotated(x))
    print(default_none(x, 2.0))
    print(untyped_number(x, 3))
    print(untyped_in_range(x, 3))
    print(typed_in_range(x, 3))
    print(mixed_list(x))
    print(empty_list_of_numbers(x))
    print(empty_list_annotated(x))
    print(tuple_indexed_by_variable(x, 0))
    print(dictionary_of_mixed(x))
    print(dictionary_of_tensors(x))
    print(vector_condition(x))
    print(tensor_condition_and(x))
    print(union_narrowed(x))
    print(union_used(3))
    print(swapped(x))


if __name__ == "__main__":
    main()
