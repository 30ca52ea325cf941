//! All rules, by code.

use super::{Rule, conditionals, conversion, engine, loops, pitfalls};

/// Sorted by code.
pub static RULES: &[&Rule] = &[
    &conversion::for_else::FOR_ELSE,
    &conversion::while_else::WHILE_ELSE,
    &conversion::generator::GENERATOR,
    &conversion::mangled_name::MANGLED_NAME,
    &conversion::walrus::WALRUS,
    &conversion::match_statement::MATCH_STATEMENT,
    &conversion::coroutine::COROUTINE,
    &conversion::ambiguous_lambda::AMBIGUOUS_LAMBDA,
    &conversion::mixed_indentation::MIXED_INDENTATION,
    &conversion::loop_options_place::LOOP_OPTIONS_PLACE,
    &conversion::chained_assignment::CHAINED_ASSIGNMENT,
    &conversion::assert_message::ASSERT_MESSAGE,
    &conversion::unconverted_code::UNCONVERTED_CODE,
    &conversion::debugger::DEBUGGER,
    &conversion::converted_twice::CONVERTED_TWICE,
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
    &pitfalls::runs_while_tracing::RUNS_WHILE_TRACING,
    &pitfalls::retraced_loop::RETRACED_LOOP,
    &pitfalls::function_in_loop::FUNCTION_IN_LOOP,
    &pitfalls::leaked_tensor::LEAKED_TENSOR,
    &pitfalls::captured_global::CAPTURED_GLOBAL,
    &pitfalls::variable_creation::VARIABLE_CREATION,
    &pitfalls::consumed_iterator::CONSUMED_ITERATOR,
    &pitfalls::staged_recursion::STAGED_RECURSION,
    &pitfalls::python_counter::PYTHON_COUNTER,
    &pitfalls::optimizer_argument::OPTIMIZER_ARGUMENT,
    &pitfalls::changed_attribute::CHANGED_ATTRIBUTE,
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
