//! The state of staged statements: which names an `if`, `while` or `for` hands to its operator.
//!
//! Works on the tree as it is before control flow is rewritten: without `break`, `continue` and
//! `return`, so that it is structured and one sweep in each direction is enough. A statement is
//! summed up by what it reads and binds (`live in = reads ∪ (live out − binds)`); then liveness
//! comes down the tree from the end, definite assignment from the start. As in AutoGraph, ordinary
//! statements are taken not to raise.
//!
//! The room `flow` answers such questions of the user's own text, by position; here most statements
//! have none, or one that they share.

mod access;
mod facts;
mod info;

pub(super) use facts::{Facts, Variable, analyse};
