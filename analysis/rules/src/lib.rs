//! The rules, one file each, registered in [`registry`].
//!
//! A rule is a static [`Rule`] declared by `declare_rule!` and a check function. The doc comment of the rule
//! is its manual page (`ag-lsp explain`). Checks receive one function or one file through [`context`], report
//! findings, and never panic.

mod callers;
mod classes;
mod comparisons;
mod conditionals;
pub mod context;
mod conversion;
mod dataclasses;
mod declare;
mod declared;
mod defaults;
mod effects;
mod engine;
mod evaluation;
mod evidence;
pub mod findings;
mod formatting;
mod generators;
mod guards;
mod hashing;
mod host_arrays;
mod host_library;
mod jax;
mod loops;
mod mapped;
mod meant_to_stage;
mod names;
mod object_changes;
mod origins;
mod outliving;
mod parameter_use;
mod parts;
mod path_certainty;
mod pitfalls;
mod program;
pub mod registry;
pub mod run;
pub mod selection;
mod sources;
pub mod suppress;
mod test_certainty;
mod torch;
mod tracing;
mod variables;

use serde::Serialize;

use ag_db::diagnostic::Severity;
use ag_db::{Db, Document};
use ag_index::dialect::Dialect;
use ag_index::index::FileIndex;

pub use context::{FileContext, FunctionContext};

/// A rule, with its documentation and the function that checks it.
#[derive(Debug)]
pub struct Rule {
    /// The code, such as `AG101`. It never changes.
    pub code: &'static str,
    /// The name, such as `undefined-branch`. It never changes.
    pub name: &'static str,
    /// One line that describes the rule in the table of rules.
    pub summary: &'static str,
    pub severity: Severity,
    /// Whether the rule is enabled by default. Rules with uncertain or stylistic findings are not.
    pub default: bool,
    /// The first version with this rule.
    pub since: &'static str,
    /// The dialects to which the rule applies.
    pub dialects: &'static [Dialect],
    pub fix: FixAvailability,
    /// The manual page, in Markdown.
    pub docs: &'static str,
    pub check: Check,
}

/// The code that a rule checks, and the function that checks it.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Each staged function, with its facts.
    Function(fn(&FunctionContext)),
    /// Each file whose index satisfies the condition. The check receives only syntax and imports. The file is parsed
    /// again for the check, so the condition should hold for few files.
    File(fn(&FileIndex) -> bool, fn(&FileContext)),
    /// The same, with a condition that depends on other files of the project.
    FileInProject(fn(&dyn Db, Document) -> bool, fn(&FileContext)),
    /// Both: each file whose index satisfies the condition, and each staged function.
    FileAndFunction(fn(&FileIndex) -> bool, fn(&FileContext), fn(&FunctionContext)),
    /// The engine itself reports the findings: syntax errors, unused suppressions.
    Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FixAvailability {
    None,
    Sometimes,
    Always,
}
