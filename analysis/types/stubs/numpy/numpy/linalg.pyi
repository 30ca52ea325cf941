# numpy.linalg of NumPy 2.4.
from typing import Any

from numpy import ndarray
from numpy._array import Op

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

class LinAlgError(ValueError): ...

# `qr` and `svd` with their default flags.
def eig(a: Any) -> tuple[ndarray[Any, Any], ndarray[Any, Any]]: ...
def eigh(a: Any, UPLO: Any = ...) -> tuple[ndarray[Any, Any], ndarray[Any, Any]]: ...
def lstsq(a: Any, b: Any, rcond: Any = ...) -> tuple[ndarray[Any, Any], ndarray[Any, Any], int, ndarray[Any, Any]]: ...
def qr(a: Any, mode: Any = ...) -> tuple[ndarray[Any, Any], ndarray[Any, Any]]: ...
def slogdet(a: Any) -> tuple[ndarray[Any, Any], ndarray[Any, Any]]: ...
def svd(a: Any, *args: Any, **kwargs: Any) -> tuple[ndarray[Any, Any], ndarray[Any, Any], ndarray[Any, Any]]: ...
