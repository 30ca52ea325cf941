//! AG2xx: requirements of a staged loop on its loop-carried variables.

pub(super) mod break_in_distributed_loop;
mod carried;
mod distributed;
mod dtypes;
pub(super) mod dynamic_key;
pub(super) mod eager_tensorarray;
pub(super) mod hidden_mutation;
pub(super) mod lambda_capture;
pub(super) mod list_append;
pub(super) mod list_type;
pub(super) mod loop_dtype;
pub(super) mod loop_shape;
pub(super) mod loop_structure;
pub(super) mod loop_type;
mod mutation;
pub(super) mod none_after_iteration;
pub(super) mod none_before_loop;
pub(super) mod return_in_loop;
pub(super) mod shapes;
mod structures;
pub(super) mod tensor_setitem;
pub(super) mod tensorarray_size;
pub(super) mod tensorarray_unused;
pub(super) mod undefined_loop_var;
mod values;
