//! What the analysis reports: plain data with byte offsets, no rendering.
//!
//! A diagnostic of a function has offsets relative to that function, so that it
//! stays equal (and cached) while text above it moves. [`Span`] carries the [`Anchor`]; the database
//! resolves it to a file range at the very end.

use std::sync::Arc;

pub use ag_syntax::edits::Edit;
use ag_syntax::functions::FunctionPath;
use ruff_text_size::TextRange;
use serde::{Deserialize, Serialize};

use crate::Document;

/// How bad a finding is. The order is ascending, so `max` is the worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// True and worth knowing; does not affect the exit code.
    Info,
    /// Silently different from Python, or slower than meant.
    Warning,
    /// The framework certainly raises.
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub document: Document,
    pub anchor: Anchor,
    pub range: TextRange,
}

/// What a range counts from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// The start of the file.
    File,
    /// The start of a statement outside all functions, by its number.
    Statement(u32),
    /// The function's `def`.
    Function(FunctionPath),
}

/// One step of a why-chain, nearest cause first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// A full sentence fragment: "`flag` is a Python bool: default `False`".
    pub message: String,
    pub span: Option<Span>,
}

/// Why an expression has its binding time: at most five steps a person can follow.
pub type Why = Arc<[Step]>;

/// A second place that belongs to a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    pub message: String,
    pub span: Span,
}

/// Whether applying a fix may change what the program means in the eyes of its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// Shown, never applied: it needs a decision.
    Display,
    /// Applied with `--unsafe-fixes` only.
    Unsafe,
    /// Applied with `--fix`.
    Safe,
}

/// A mechanical repair. Edits use the same offsets as the diagnostic's primary span and never overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fix {
    /// Imperative: "Define `y` before the `if`".
    pub message: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// `AG101`; of a rule in the registry.
    pub code: &'static str,
    /// `undefined-branch`.
    pub name: &'static str,
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub labels: Vec<Label>,
    pub why: Why,
    /// What to write instead, when there is no mechanical fix.
    pub help: Option<String>,
    pub fix: Option<Fix>,
}
