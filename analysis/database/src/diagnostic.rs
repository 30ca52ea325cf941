//! Diagnostics: plain data with byte offsets, without rendering.
//!
//! A diagnostic about a function has offsets relative to that function, so it remains equal (and cached) if the text
//! above the function changes. Its [`Span`] contains an [`Anchor`]. At the very end, the anchor is resolved to a range
//! in the file.

use std::sync::Arc;

pub use ag_syntax::edits::Edit;
use ag_syntax::functions::FunctionPath;
use ruff_text_size::TextRange;
use serde::{Deserialize, Serialize};

use crate::Document;

/// The severity of a finding, in ascending order: `max` is the most severe.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Correct, but worth knowing. Does not affect the exit code.
    Info,
    /// Silently different from Python, or slower than intended.
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

/// A location in a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub document: Document,
    pub anchor: Anchor,
    pub range: TextRange,
}

/// The origin of a range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// The start of the file.
    File,
    /// The start of a statement outside all functions, by its index.
    Statement(u32),
    /// The function's `def`.
    Function(FunctionPath),
}

/// One step of a why-chain. The step with the nearest cause comes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// A clause: "`flag` is a Python bool: default `False`".
    pub message: String,
    pub span: Option<Span>,
}

/// The reasons for the binding time of an expression: at most five steps, followed by the root.
pub type Why = Arc<[Step]>;

/// A secondary location of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    pub message: String,
    pub span: Span,
}

/// Whether applying a fix may change the intended behaviour of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// Shown, never applied: it requires a decision.
    Display,
    /// Applied with `--unsafe-fixes` only.
    Unsafe,
    /// Applied with `--fix`.
    Safe,
}

/// An automatic fix. Edits use the same offsets as the diagnostic's primary span and never overlap.
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
    /// `AG101`; the code of a rule in the registry.
    pub code: &'static str,
    /// `undefined-branch`.
    pub name: &'static str,
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub labels: Vec<Label>,
    pub why: Why,
    /// The remedy, imperative: "pass `n` as a tensor".
    pub help: Option<String>,
    pub fix: Option<Fix>,
}
