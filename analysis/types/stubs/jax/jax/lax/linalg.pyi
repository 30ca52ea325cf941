# jax.lax.linalg of JAX 0.10.
from jax._array import Op, Pair, Triple

cholesky: Op
eigh: Pair
householder_product: Op
lu: Triple
qr: Pair
svd: Triple
triangular_solve: Op
tridiagonal_solve: Op
