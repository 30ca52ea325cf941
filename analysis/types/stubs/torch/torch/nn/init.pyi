# torch.nn.init of PyTorch 2.11: each function fills its argument and returns it.
from typing import Any

from torch._ops import Op

constant_: Op
dirac_: Op
eye_: Op
kaiming_normal_: Op
kaiming_uniform_: Op
normal_: Op
ones_: Op
orthogonal_: Op
sparse_: Op
trunc_normal_: Op
uniform_: Op
xavier_normal_: Op
xavier_uniform_: Op
zeros_: Op

def calculate_gain(nonlinearity: Any, param: Any = ...) -> float: ...
def __getattr__(name: str) -> Op: ...
