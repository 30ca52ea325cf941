//! The rules: one file each, registered in [`registry`].
//!
//! A rule is a static [`Rule`] made by `declare_rule!`, whose doc comment is its manual page
//! (`ag-lsp explain`), and a check function. Checks see one function or one file through
//! [`context`], report, and never panic.

mod classes;
mod conditionals;
pub mod context;
mod conversion;
mod declare;
mod declared;
mod effects;
mod engine;
mod guards;
mod jax;
mod loops;
mod meant_to_stage;
mod pitfalls;
pub mod registry;
pub mod run;
mod torch;
mod tracing;
mod ways;

use serde::Serialize;

use crate::diagnostic::Severity;
use crate::staging::dialect::Dialect;

pub use context::{FileContext, FunctionContext};

/// A rule of the catalogue.
#[derive(Debug)]
pub struct Rule {
    /// `AG101`: stable for ever.
    pub code: &'static str,
    /// `undefined-branch`: stable, readable.
    pub name: &'static str,
    /// One line, as in a table of rules.
    pub summary: &'static str,
    pub severity: Severity,
    /// Off by default: what it finds is not certain, or a matter of taste.
    pub default: bool,
    /// The version that first had it.
    pub since: &'static str,
    /// The dialects in which it speaks.
    pub dialects: &'static [Dialect],
    pub fix: FixAvailability,
    /// The manual page, Markdown.
    pub docs: &'static str,
    pub check: Check,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Each function that may be staged, with all facts about it.
    Function(fn(&FunctionContext)),
    /// Each file with a root or reached from one: syntax and imports only.
    File(fn(&FileContext)),
    /// Reported by the engine itself (syntax errors, unused suppressions).
    Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FixAvailability {
    None,
    Sometimes,
    Always,
}
