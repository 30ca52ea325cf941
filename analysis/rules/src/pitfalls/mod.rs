//! Staged code that computes something other than intended, because side effects, state and values belong to the trace.
//! Also arguments, results, models and layers that `tf.function` or Keras rejects.

mod bindings;
mod block_steps;
pub(super) mod captured_attribute;
pub(super) mod captured_global;
pub(super) mod changed_argument;
pub(super) mod changed_attribute;
pub(super) mod consumed_iterator;
mod eager_reads;
mod every_trace;
pub(super) mod function_in_loop;
mod function_reads;
mod functional_model;
pub(super) mod input_signature;
pub(super) mod keras_batch_size;
pub(super) mod keras_graph;
pub(super) mod keras_layer;
mod keras_ranks;
pub(super) mod keras_symbolic;
mod keras_tensors;
pub(super) mod keras_training;
pub(super) mod leaked_tensor;
mod number_attributes;
mod object_state;
pub(super) mod operand_dtype;
pub(super) mod optimizer_argument;
pub(super) mod python_counter;
mod python_numbers;
pub(super) mod retraced_loop;
pub(super) mod returned_object;
mod root_calls;
pub(super) mod runs_while_tracing;
mod staged_names;
pub(super) mod staged_recursion;
mod tensor_specs;
pub(super) mod variable_creation;
