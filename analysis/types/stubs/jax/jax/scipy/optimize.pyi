# jax.scipy.optimize of JAX 0.10.
from typing import Any, Callable, NamedTuple

from jax._array import Array

class OptimizeResults(NamedTuple):
    x: Array
    success: Array
    status: Array
    fun: Array
    jac: Array
    hess_inv: Array
    nfev: Array
    njev: Array
    nit: Array

def minimize(fun: Callable[..., Any], x0: Any, *args: Any, **kwargs: Any) -> OptimizeResults: ...
