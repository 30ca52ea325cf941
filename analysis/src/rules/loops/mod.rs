//! AG2xx: what a staged loop asks of the variables that it carries.

mod carried;
pub(super) mod none_after_iteration;
pub(super) mod none_before_loop;
pub(super) mod undefined_loop_var;
mod values;
