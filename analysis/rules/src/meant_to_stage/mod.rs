//! AG3xx: Python control flow on Tensors that is not staged, although that was probably intended.

pub(super) mod default_or;
pub(super) mod host_values;
mod iterated;
mod iterations;
pub(super) mod polymorphic;
pub(super) mod python_loop_exit;
pub(super) mod static_condition;
pub(super) mod tensor_as_python_value;
pub(super) mod unrolled_loop;
pub(super) mod while_becomes_tensor;
