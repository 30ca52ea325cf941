//! AG1xx: requirements of AutoGraph on a staged `if`, `elif` and conditional expression.

pub(super) mod both_branches_traced;
pub(super) mod branch_dtype;
pub(super) mod branch_structure;
pub(super) mod branch_type;
mod branches;
pub(super) mod chained_compare_effects;
pub(super) mod cond_dtype;
pub(super) mod cond_rank;
mod conditions;
pub(super) mod control_flow_arguments;
pub(super) mod missing_return;
pub(super) mod nested_ternary;
pub(super) mod none_branch;
pub(super) mod not_nonbool;
mod raises;
mod returns;
mod shapes;
pub(super) mod static_shape_guard;
pub(super) mod try_over_staged;
pub(super) mod undefined_branch;
mod undefined_part;
mod values;
