# optax 0.2: gradient transformations, schedules and losses.
from typing import Any, Callable, NamedTuple, TypeVar

from jax import Array
from jax._array import Op

T = TypeVar("T")

class GradientTransformation(NamedTuple):
    init: Callable[..., Any]
    update: Callable[..., tuple[Any, Any]]

GradientTransformationExtraArgs = GradientTransformation
Schedule = Callable[..., Array]

class _Optimizer:
    def __call__(self, *args: Any, **kwargs: Any) -> GradientTransformation: ...

class _Scheduler:
    def __call__(self, *args: Any, **kwargs: Any) -> Op: ...

adabelief: _Optimizer
adafactor: _Optimizer
adagrad: _Optimizer
adam: _Optimizer
adamax: _Optimizer
adamw: _Optimizer
add_decayed_weights: _Optimizer
apply_every: _Optimizer
apply_if_finite: _Optimizer
centralize: _Optimizer
chain: _Optimizer
clip: _Optimizer
clip_by_block_rms: _Optimizer
clip_by_global_norm: _Optimizer
ema: _Optimizer
identity: _Optimizer
lamb: _Optimizer
lars: _Optimizer
lbfgs: _Optimizer
lion: _Optimizer
masked: _Optimizer
multi_transform: _Optimizer
nadam: _Optimizer
noisy_sgd: _Optimizer
radam: _Optimizer
rmsprop: _Optimizer
scale: _Optimizer
scale_by_adam: _Optimizer
scale_by_learning_rate: _Optimizer
scale_by_schedule: _Optimizer
set_to_zero: _Optimizer
sgd: _Optimizer
trace: _Optimizer
yogi: _Optimizer
zero_nans: _Optimizer

constant_schedule: _Scheduler
cosine_decay_schedule: _Scheduler
cosine_onecycle_schedule: _Scheduler
exponential_decay: _Scheduler
join_schedules: _Scheduler
linear_schedule: _Scheduler
piecewise_constant_schedule: _Scheduler
polynomial_schedule: _Scheduler
sgdr_schedule: _Scheduler
warmup_cosine_decay_schedule: _Scheduler
warmup_exponential_decay_schedule: _Scheduler

convex_kl_divergence: Op
cosine_distance: Op
cosine_similarity: Op
ctc_loss: Op
global_norm: Op
hinge_loss: Op
huber_loss: Op
kl_divergence: Op
l2_loss: Op
log_cosh: Op
sigmoid_binary_cross_entropy: Op
smooth_labels: Op
softmax_cross_entropy: Op
softmax_cross_entropy_with_integer_labels: Op
squared_error: Op

losses: Any
schedules: Any
transforms: Any
tree: Any
tree_utils: Any

def apply_updates(params: T, updates: Any) -> T: ...
def incremental_update(new_tensors: T, old_tensors: Any, step_size: Any) -> T: ...
def inject_hyperparams(inner_factory: T, *args: Any, **kwargs: Any) -> T: ...
def periodic_update(new_tensors: T, old_tensors: Any, steps: Any, update_period: Any) -> T: ...
def value_and_grad_from_state(value_fn: Callable[..., Any]) -> Callable[..., tuple[Array, Any]]: ...
def __getattr__(name: str) -> Any: ...
