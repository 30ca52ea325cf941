# jax.random of JAX 0.10. A key is an Array.
from typing import Any

from jax._array import Op

PRNGKey: Op
ball: Op
bernoulli: Op
beta: Op
binomial: Op
bits: Op
categorical: Op
cauchy: Op
chisquare: Op
choice: Op
clone: Op
dirichlet: Op
double_sided_maxwell: Op
exponential: Op
f: Op
fold_in: Op
gamma: Op
generalized_normal: Op
geometric: Op
gumbel: Op
key: Op
key_data: Op
laplace: Op
loggamma: Op
logistic: Op
lognormal: Op
maxwell: Op
multinomial: Op
multivariate_normal: Op
normal: Op
orthogonal: Op
pareto: Op
permutation: Op
poisson: Op
rademacher: Op
randint: Op
rayleigh: Op
split: Op
t: Op
triangular: Op
truncated_normal: Op
uniform: Op
wald: Op
weibull_min: Op
wrap_key_data: Op

def key_impl(keys: Any) -> Any: ...
def __getattr__(name: str) -> Op: ...
