# jax.numpy.linalg of JAX 0.10.
from typing import Any, Literal, NamedTuple, overload

from jax._array import Array, Op

cholesky: Op
cond: Op
cross: Op
det: Op
diagonal: Op
eigvals: Op
eigvalsh: Op
inv: Op
matmul: Op
matrix_norm: Op
matrix_power: Op
matrix_rank: Op
matrix_transpose: Op
multi_dot: Op
norm: Op
outer: Op
pinv: Op
solve: Op
svdvals: Op
tensordot: Op
tensorinv: Op
tensorsolve: Op
trace: Op
vecdot: Op
vector_norm: Op

class _Eig(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array

class _SignLogDet(NamedTuple):
    sign: Array
    logabsdet: Array

class _QR(NamedTuple):
    Q: Array
    R: Array

class _SVD(NamedTuple):
    U: Array
    S: Array
    Vh: Array

def eig(a: Any) -> _Eig: ...
def eigh(a: Any, *args: Any, **kwargs: Any) -> _Eig: ...
def lstsq(a: Any, b: Any, *args: Any, **kwargs: Any) -> tuple[Array, Array, Array, Array]: ...
@overload
def qr(a: Any, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: Any, mode: Any = ...) -> _QR: ...
def slogdet(a: Any, **kwargs: Any) -> _SignLogDet: ...
@overload
def svd(a: Any, full_matrices: Any = ..., *, compute_uv: Literal[False], **kwargs: Any) -> Array: ...
@overload
def svd(a: Any, full_matrices: Any = ..., **kwargs: Any) -> _SVD: ...

def __getattr__(name: str) -> Op: ...
