//! Findings with their locations in files, for reports and editors.

use ag_syntax::edits::Edit;
use ruff_db::files::File;
use ruff_text_size::TextRange;

use crate::diagnostic::{Applicability, Severity};

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub file: File,
    pub range: TextRange,
}

/// A step of a why-chain, or a secondary location of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    pub message: String,
    pub location: Option<Location>,
}

/// A fix. Its edits are in the file of the finding. They are sorted and do not overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingFix {
    pub message: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

/// A diagnostic with its location in a file.
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
