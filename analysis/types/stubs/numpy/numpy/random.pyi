# numpy.random of NumPy 2.4.
from typing import Any

from numpy._array import Op

class Generator:
    bit_generator: Any
    beta: Op
    binomial: Op
    bytes: Op
    chisquare: Op
    choice: Op
    dirichlet: Op
    exponential: Op
    f: Op
    gamma: Op
    geometric: Op
    gumbel: Op
    hypergeometric: Op
    integers: Op
    laplace: Op
    logistic: Op
    lognormal: Op
    logseries: Op
    multinomial: Op
    multivariate_hypergeometric: Op
    multivariate_normal: Op
    negative_binomial: Op
    noncentral_chisquare: Op
    noncentral_f: Op
    normal: Op
    pareto: Op
    permutation: Op
    permuted: Op
    poisson: Op
    power: Op
    random: Op
    rayleigh: Op
    standard_cauchy: Op
    standard_exponential: Op
    standard_gamma: Op
    standard_normal: Op
    standard_t: Op
    triangular: Op
    uniform: Op
    vonmises: Op
    wald: Op
    weibull: Op
    zipf: Op
    def __init__(self, bit_generator: Any) -> None: ...
    def shuffle(self, x: Any, axis: Any = ...) -> None: ...
    def spawn(self, n_children: Any) -> list[Generator]: ...

class RandomState:
    beta: Op
    binomial: Op
    bytes: Op
    chisquare: Op
    choice: Op
    dirichlet: Op
    exponential: Op
    f: Op
    gamma: Op
    geometric: Op
    gumbel: Op
    hypergeometric: Op
    laplace: Op
    logistic: Op
    lognormal: Op
    logseries: Op
    multinomial: Op
    multivariate_normal: Op
    negative_binomial: Op
    noncentral_chisquare: Op
    noncentral_f: Op
    normal: Op
    pareto: Op
    permutation: Op
    poisson: Op
    power: Op
    rand: Op
    randint: Op
    randn: Op
    random: Op
    random_integers: Op
    random_sample: Op
    rayleigh: Op
    standard_cauchy: Op
    standard_exponential: Op
    standard_gamma: Op
    standard_normal: Op
    standard_t: Op
    tomaxint: Op
    triangular: Op
    uniform: Op
    vonmises: Op
    wald: Op
    weibull: Op
    zipf: Op
    def __init__(self, seed: Any = ...) -> None: ...
    def get_state(self, legacy: Any = ...) -> Any: ...
    def seed(self, seed: Any = ...) -> None: ...
    def set_state(self, state: Any) -> None: ...
    def shuffle(self, x: Any) -> None: ...

beta: Op
binomial: Op
bytes: Op
chisquare: Op
choice: Op
dirichlet: Op
exponential: Op
f: Op
gamma: Op
geometric: Op
gumbel: Op
hypergeometric: Op
laplace: Op
logistic: Op
lognormal: Op
logseries: Op
multinomial: Op
multivariate_normal: Op
negative_binomial: Op
noncentral_chisquare: Op
noncentral_f: Op
normal: Op
pareto: Op
permutation: Op
poisson: Op
power: Op
rand: Op
randint: Op
randn: Op
random: Op
random_integers: Op
random_sample: Op
ranf: Op
rayleigh: Op
sample: Op
standard_cauchy: Op
standard_exponential: Op
standard_gamma: Op
standard_normal: Op
standard_t: Op
triangular: Op
uniform: Op
vonmises: Op
wald: Op
weibull: Op
zipf: Op

def default_rng(seed: Any = ...) -> Generator: ...
def get_state(legacy: Any = ...) -> Any: ...
def seed(seed: Any = ...) -> None: ...
def set_state(state: Any) -> None: ...
def shuffle(x: Any) -> None: ...
def __getattr__(name: str) -> Any: ...
