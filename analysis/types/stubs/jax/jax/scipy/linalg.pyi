# jax.scipy.linalg of JAX 0.10.
from typing import Any

from jax._array import Array, Op, Pair

block_diag: Op
cho_solve: Op
cholesky: Op
circulant: Op
companion: Op
convolution_matrix: Op
det: Op
dft: Op
expm: Op
fiedler: Op
fiedler_companion: Op
funm: Op
hadamard: Op
hankel: Op
helmert: Op
hilbert: Op
inv: Op
invhilbert: Op
invpascal: Op
leslie: Op
lu_solve: Op
pascal: Op
qr_multiply: Op
solve: Op
solve_sylvester: Op
solve_triangular: Op
sqrtm: Op
toeplitz: Op
lu_factor: Pair
polar: Pair
rsf2csf: Pair
schur: Pair

# The results depend on flags (`eigvals_only`, `mode`, `permute_l`, `compute_uv`).
def cho_factor(a: Any, *args: Any, **kwargs: Any) -> tuple[Array, bool]: ...
def eigh(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any: ...
def eigh_tridiagonal(d: Any, e: Any, *args: Any, **kwargs: Any) -> Any: ...
def expm_frechet(A: Any, E: Any, **kwargs: Any) -> Any: ...
def hessenberg(a: Any, **kwargs: Any) -> Any: ...
def lu(a: Any, *args: Any, **kwargs: Any) -> Any: ...
def qr(a: Any, *args: Any, **kwargs: Any) -> Any: ...
def svd(a: Any, *args: Any, **kwargs: Any) -> Any: ...
def __getattr__(name: str) -> Op: ...
