//! The answers: findings and stages of a document, with offsets into the file.

use ruff_db::files::File;
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;

use crate::diagnostic::{Applicability, Edit, Severity};
use crate::staging::assumptions::{Source, Stage};
use crate::staging::construct::ConstructKind;
use crate::staging::facts::Binding;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub file: File,
    pub range: TextRange,
}

/// A step of a why-chain, or a second place of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    pub message: String,
    pub location: Option<Location>,
}

/// A repair; edits are in the finding's file, sorted, without overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingFix {
    pub message: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

/// A diagnostic at its place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    pub code: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    pub message: String,
    pub location: Location,
    pub labels: Vec<Note>,
    pub why: Vec<Note>,
    pub help: Option<String>,
    pub fix: Option<FindingFix>,
}

/// A function and its decisions, for `ag-lsp stages`, hints and hover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFunction {
    pub qualname: Name,
    /// The name after `def`.
    pub name_range: TextRange,
    pub stage: Stage,
    pub parameters: Vec<StagedParameter>,
    pub constructs: Vec<StagedConstruct>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedParameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    pub why: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConstruct {
    pub kind: ConstructKind,
    pub range: TextRange,
    /// The condition or iterable.
    pub test_range: TextRange,
    pub binding: Binding,
    pub why: Vec<Note>,
}
