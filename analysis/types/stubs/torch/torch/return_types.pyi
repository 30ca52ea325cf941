# torch.return_types of PyTorch 2.11: the named tuples of ops with several results.
from typing import NamedTuple

from torch._tensor import Tensor

class _values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor

class slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
