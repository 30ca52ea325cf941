//! All rules, by code.

use super::{Rule, conditionals, engine, loops};

/// Sorted by code.
pub static RULES: &[&Rule] = &[
    &conditionals::undefined_branch::UNDEFINED_BRANCH,
    &conditionals::missing_return::MISSING_RETURN,
    &conditionals::none_branch::NONE_BRANCH,
    &conditionals::branch_dtype::BRANCH_DTYPE,
    &conditionals::branch_structure::BRANCH_STRUCTURE,
    &conditionals::branch_type::BRANCH_TYPE,
    &loops::undefined_loop_var::UNDEFINED_LOOP_VAR,
    &loops::none_before_loop::NONE_BEFORE_LOOP,
    &loops::none_after_iteration::NONE_AFTER_ITERATION,
    &loops::loop_dtype::LOOP_DTYPE,
    &loops::loop_shape::LOOP_SHAPE,
    &loops::loop_structure::LOOP_STRUCTURE,
    &loops::loop_type::LOOP_TYPE,
    &loops::return_in_loop::RETURN_IN_LOOP,
    &loops::break_in_distributed_loop::BREAK_IN_DISTRIBUTED_LOOP,
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
