//! All rules, by code.

use super::{Rule, engine, jax, loops, torch};

/// Sorted by code.
pub static RULES: &[&Rule] = &[
    &loops::undefined_loop_var::UNDEFINED_LOOP_VAR,
    &loops::none_before_loop::NONE_BEFORE_LOOP,
    &loops::none_after_iteration::NONE_AFTER_ITERATION,
    &jax::branch::JAX_BRANCH,
    &jax::loops::JAX_LOOP,
    &jax::concretize::JAX_CONCRETIZE,
    &jax::numpy::JAX_NUMPY,
    &jax::item_assignment::JAX_SETITEM,
    &jax::leak::JAX_LEAK,
    &jax::static_argument::JAX_STATIC,
    &jax::impure::JAX_IMPURE,
    &jax::dynamic_shape::JAX_DYNAMIC_SHAPE,
    &jax::argument::JAX_ARGUMENT,
    &torch::break_branch::TORCH_GRAPH_BREAK_BRANCH,
    &torch::break_shape::TORCH_GRAPH_BREAK_SHAPE,
    &torch::break_item::TORCH_GRAPH_BREAK_ITEM,
    &torch::break_builtin::TORCH_GRAPH_BREAK_BUILTIN,
    &torch::export_branch::TORCH_EXPORT_BRANCH,
    &torch::export_item::TORCH_EXPORT_ITEM,
    &torch::export_state::TORCH_EXPORT_STATE,
    &torch::export_host::TORCH_EXPORT_HOST,
    &torch::script_undefined::SCRIPT_UNDEFINED,
    &torch::script_return::SCRIPT_RETURN_TYPE,
    &torch::script_none::SCRIPT_NONE,
    &torch::script_unsupported::SCRIPT_UNSUPPORTED,
    &torch::script_branch_type::SCRIPT_BRANCH_TYPE,
    &torch::script_loop_type::SCRIPT_LOOP_TYPE,
    &torch::script_global::SCRIPT_GLOBAL,
    &torch::script_untyped::SCRIPT_UNTYPED,
    &torch::script_container::SCRIPT_CONTAINER_TYPE,
    &engine::SYNTAX_ERROR,
    &engine::IO_ERROR,
    &engine::UNUSED_IGNORE,
    &engine::INTERNAL_ERROR,
    &engine::TOO_DEEP,
    &engine::INVALID_IGNORE,
];

/// The rule of a code (`AG101`) or name (`undefined-branch`).
pub fn find(code_or_name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code_or_name || rule.name == code_or_name)
}
