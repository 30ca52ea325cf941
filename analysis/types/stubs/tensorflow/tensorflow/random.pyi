# tf.random of TensorFlow 2.21. The kinds of ops: `_ops.pyi`.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._ops import Gives, Keep, Op, Sample
from tensorflow._tensor import Tensor, Variable
from tensorflow.nn import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
)

categorical: Sample[_d.int64]
create_rng_state: Gives[_d.int64]
fold_in: Keep
gamma: Sample[_d.float32]
normal: Sample[_d.float32]
poisson: Sample[_d.float32]
shuffle: Keep
split: Keep
stateless_binomial: Sample[_d.int32]
stateless_categorical: Sample[_d.int64]
stateless_gamma: Sample[_d.float32]
stateless_normal: Sample[_d.float32]
stateless_parameterized_truncated_normal: Sample[_d.float32]
stateless_poisson: Sample[_d.int32]
stateless_truncated_normal: Sample[_d.float32]
stateless_uniform: Sample[_d.float32]
truncated_normal: Sample[_d.float32]
uniform: Sample[_d.float32]

def log_uniform_candidate_sampler(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int64], Tensor[_d.float32], Tensor[_d.float32]]: ...
def uniform_candidate_sampler(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int64], Tensor[_d.float32], Tensor[_d.float32]]: ...
def set_seed(seed: Any) -> None: ...

class Generator:
    algorithm: Any
    key: Tensor[_d.uint64]
    state: Variable[_d.int64]
    binomial: Sample[_d.int32]
    normal: Sample[_d.float32]
    truncated_normal: Sample[_d.float32]
    uniform: Sample[_d.float32]
    uniform_full_int: Gives[_d.uint64]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator: ...
    @classmethod
    def from_non_deterministic_state(cls, alg: Any = ...) -> Generator: ...
    @classmethod
    def from_seed(cls, seed: Any, alg: Any = ...) -> Generator: ...
    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator: ...
    def make_seeds(self, count: Any = ...) -> Tensor[_d.int64]: ...
    def reset(self, state: Any) -> None: ...
    def reset_from_seed(self, seed: Any) -> None: ...
    def skip(self, delta: Any) -> Tensor[_d.int64]: ...
    def split(self, count: Any = ...) -> list[Generator]: ...

def get_global_generator() -> Generator: ...
def set_global_generator(generator: Any) -> None: ...

Algorithm: Any
experimental: Any
def __getattr__(name: str) -> Op: ...
