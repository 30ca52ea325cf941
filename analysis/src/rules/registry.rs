//! All rules, by code.

use super::{Rule, engine, jax, loops};

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
