# jax.scipy.stats of JAX 0.10: a distribution is a namespace of functions that return Arrays.
from typing import Any

from jax._array import Op

class _Distribution:
    def __getattr__(self, name: str) -> Op: ...

bernoulli: _Distribution
beta: _Distribution
betabinom: _Distribution
binom: _Distribution
cauchy: _Distribution
chi2: _Distribution
dirichlet: _Distribution
expon: _Distribution
gamma: _Distribution
gennorm: _Distribution
geom: _Distribution
gumbel_l: _Distribution
gumbel_r: _Distribution
laplace: _Distribution
logistic: _Distribution
multinomial: _Distribution
multivariate_normal: _Distribution
nbinom: _Distribution
norm: _Distribution
pareto: _Distribution
poisson: _Distribution
t: _Distribution
truncnorm: _Distribution
uniform: _Distribution
vonmises: _Distribution
wrapcauchy: _Distribution
rankdata: Op
sem: Op

def __getattr__(name: str) -> Any: ...
