//! AG1xx: what AutoGraph asks of a staged `if`, `elif` and ternary.

mod branches;
pub(super) mod branch_dtype;
pub(super) mod branch_structure;
pub(super) mod branch_type;
pub(super) mod missing_return;
pub(super) mod none_branch;
mod returns;
pub(super) mod undefined_branch;
mod values;
