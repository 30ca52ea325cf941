# flax.training 0.12.
from flax.training import checkpoints as checkpoints, common_utils as common_utils, train_state as train_state
