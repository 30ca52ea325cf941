//! AG3xx: Python control flow on Tensors that was meant to be staged, and is not.

pub(super) mod default_or;
pub(super) mod host_values;
mod iterated;
pub(super) mod polymorphic;
pub(super) mod python_loop_exit;
mod rounds;
pub(super) mod static_condition;
pub(super) mod tensor_as_python_value;
pub(super) mod unrolled_loop;
pub(super) mod while_becomes_tensor;
