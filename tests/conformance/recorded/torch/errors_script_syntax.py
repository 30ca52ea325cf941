"""Python features that TorchScript does not support, and similar functions that it compiles."""
import math
from typing import Dict, List

import torch

DIALECT = "torch.jit.script"
CALLS = 0
TABLE: Dict[str, float] = {"a": 1.0}
LIMIT = 3


@torch.jit.script
def generator(x: torch.Tensor):
    for i in range(3):
        yield x * i


@torch.jit.script
def try_except(x: torch.Tensor):
    try:
        return x.sqrt()
    except RuntimeError:
        return x


@torch.jit.script
def raises(x: torch.Tensor):
    if x.dim() == 0:
        raise ValueError("a scalar")
    return x.sqrt()


@torch.jit.script
def star_arguments(*xs: torch.Tensor):
    return xs[0]


@torch.jit.script
def keyword_arguments(x: torch.Tensor, **options: float):
    return x


@torch.jit.script
def list_argument(xs: List[torch.Tensor]):
    return xs[0]


@torch.jit.script
def anonymous_function(x: torch.Tensor):
    double = lambda v: v * 2
    return double(x)


@torch.jit.script
def nested_function(x: torch.Tensor):
    def double(v: torch.Tensor):
        return v * 2

    return double(x)


@torch.jit.script
def global_statement(x: torch.Tensor):
    global CALLS
    CALLS += 1
    return x


@torch.jit.script
def global_table(x: torch.Tensor):
    return x * TABLE["a"]


@torch.jit.script
def global_number(x: torch.Tensor):
    return x * LIMIT


@torch.jit.script
def module_constant(x: torch.Tensor):
    return x * math.pi


@torch.jit.script
def with_no_grad(x: torch.Tensor):
    with torch.no_grad():
        y = x * 2
    return y


@torch.jit.script
def with_file(x: torch.Tensor):
    with open("/dev/null") as file:
        y = x * 2
    return y


@torch.jit.script
def set_literal(x: torch.Tensor):
    sizes = {1, 2}
    return x * len(sizes)


@torch.jit.script
def set_comprehension(x: torch.Tensor):
    return len({i % 2 for i in range(4)})


@torch.jit.script
def list_comprehension(x: torch.Tensor):
    return [i * 2 for i in range(4)]


@torch.jit.script
def comprehension_condition(x: torch.Tensor):
    return [i for i in range(4) if i % 2 == 0]


@torch.jit.script
def comprehension_nested(x: torch.Tensor):
    return [i + j for i in range(2) for j in range(2)]


@torch.jit.script
def generator_expression(x: torch.Tensor):
    return sum(i for i in range(4))


@torch.jit.script
def loop_else(x: torch.Tensor):
    for i in range(3):
        x = x * 2
    else:
        x = -x
    return x


@torch.jit.script
def delete_name(x: torch.Tensor):
    y = x * 2
    del x
    return y


@torch.jit.script
def delete_attribute(x: torch.Tensor):
    del x.grad
    return x


@torch.jit.script
def walrus(x: torch.Tensor):
    if (n := x.size(0)) > 2:
        return x * n
    return x


@torch.jit.script
def match_statement(x: torch.Tensor):
    match x.dim():
        case 1:
            return x
        case _:
            return -x


@torch.jit.script
def import_inside(x: torch.Tensor):
    import math
    return x * math.pi


@torch.jit.script
def starred_unpacking(x: torch.Tensor):
    first, *rest = (1, 2, 3)
    return x * first


@torch.jit.script
def starred_list(x: torch.Tensor):
    return [*[1, 2], 3]


@torch.jit.script
def chained_assignment(x: torch.Tensor):
    a = b = x
    return a + b


@torch.jit.script
def chained_compare(x: torch.Tensor):
    return x if 0 < x.size(0) < 10 else -x


@torch.jit.script
def f_string(x: torch.Tensor):
    return f"rank {x.dim()}"


@torch.jit.script
def f_string_format(x: torch.Tensor):
    return f"rank {x.dim():03d}"


@torch.jit.script
def percent_format(x: torch.Tensor):
    return "rank %d" % x.dim()


@torch.jit.script
def isinstance_of_tensor(x: torch.Tensor):
    return x if isinstance(x, torch.Tensor) else x * 2


@torch.jit.script
def type_of(x: torch.Tensor):
    return x if type(x) is torch.Tensor else -x


@torch.jit.script
def sorted_with_key(xs: List[int]):
    return sorted(xs, key=abs)


@torch.jit.script
def sorted_plain(xs: List[int]):
    return sorted(xs)


@torch.jit.script
def zip_and_enumerate(xs: List[int]):
    total = 0
    for i, (a, b) in enumerate(zip(xs, xs)):
        total += i * a * b
    return total


@torch.jit.script
def map_builtin(xs: List[int]):
    return list(map(abs, xs))


@torch.jit.script
def while_true(x: torch.Tensor):
    while True:
        x = x / 2
        if x.max() < 0.1:
            break
    return x


@torch.jit.script
def host_array(x: torch.Tensor):
    return x.numpy()


RULES = {
    "generator": "script-unsupported", "try_except": "script-unsupported", "raises": None,
    "star_arguments": "script-unsupported", "keyword_arguments": "script-unsupported", "list_argument": None,
    "anonymous_function": "script-unsupported", "nested_function": "script-unsupported",
    "global_statement": "script-unsupported", "global_table": "script-global", "global_number": "script-global",
    "module_constant": None, "with_no_grad": None, "with_file": "script-unsupported",
    "set_literal": "script-unsupported", "set_comprehension": "script-unsupported", "list_comprehension": None,
    "comprehension_condition": "script-unsupported", "comprehension_nested": "script-unsupported",
    "generator_expression": None, "loop_else": "script-unsupported", "delete_name": None,
    "delete_attribute": "script-unsupported", "walrus": "script-unsupported",
    "match_statement": "script-unsupported", "import_inside": "script-unsupported", "starred_unpacking": None,
    "starred_list": "script-unsupported", "chained_assignment": None, "chained_compare": None, "f_string": None,
    "f_string_format": "script-unsupported", "percent_format": None, "isinstance_of_tensor": None,
    "type_of": "script-unsupported", "sorted_with_key": "script-unsupported", "sorted_plain": None,
    "zip_and_enumerate": None, "map_builtin": "script-unsupported", "while_true": None,
    "host_array": "script-unsupported",
}


def main():
    x, xs = torch.tensor([1.0, 2.0, 3.0]), [3, 1, 2]
    print(generator(x))
    print(try_except(x))
    print(raises(x))
    print(star_arguments(x))
    print(keyword_arguments(x))
    print(list_argument([x]))
    print(anonymous_function(x))
    print(nested_function(x))
    print(global_statement(x))
    print(global_table(x))
    print(global_number(x))
    print(module_constant(x))
    print(with_no_grad(x))
    print(with_file(x))
    print(set_literal(x))
    print(set_comprehension(x))
    print(list_comprehension(x))
    print(comprehension_condition(x))
    print(comprehension_nested(x))
    print(generator_expression(x))
    print(loop_else(x))
    print(delete_name(x))
    print(delete_attribute(x))
    print(walrus(x))
    print(match_statement(x))
    print(import_inside(x))
    print(starred_unpacking(x))
    print(starred_list(x))
    print(chained_assignment(x))
    print(chained_compare(x))
    print(f_string(x))
    print(f_string_format(x))
    print(percent_format(x))
    print(isinstance_of_tensor(x))
    print(type_of(x))
    print(sorted_with_key(xs))
    print(sorted_plain(xs))
    print(zip_and_enumerate(xs))
    print(map_builtin(xs))
    print(while_true(x))
    print(host_array(x))


if __name__ == "__main__":
    main()
