//! All rules, by code.

use super::conditionals::{
    branch_dtype, branch_structure, branch_type, missing_return, none_branch, undefined_branch,
};
use super::{Rule, engine};

/// Sorted by code.
pub static RULES: &[&Rule] = &[
    &undefined_branch::UNDEFINED_BRANCH,
    &missing_return::MISSING_RETURN,
    &none_branch::NONE_BRANCH,
    &branch_dtype::BRANCH_DTYPE,
    &branch_structure::BRANCH_STRUCTURE,
    &branch_type::BRANCH_TYPE,
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
