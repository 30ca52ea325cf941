//! AG0xx: code that AutoGraph does not convert.

pub(super) mod ambiguous_lambda;
pub(super) mod assert_message;
pub(super) mod chained_assignment;
pub(super) mod converted_twice;
pub(super) mod coroutine;
pub(super) mod debugger;
pub(super) mod for_else;
pub(super) mod generator;
pub(super) mod loop_options_place;
pub(super) mod mangled_name;
pub(super) mod match_statement;
pub(super) mod mixed_indentation;
mod unconverted;
pub(super) mod unconverted_code;
pub(super) mod walrus;
pub(super) mod while_else;
