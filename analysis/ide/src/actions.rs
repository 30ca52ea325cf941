//! Code actions for findings: fixes, and comments that suppress them.

use ruff_text_size::{Ranged, TextRange, TextSize};

use ag_db::Db;
use ag_db::diagnostic::{Applicability, Edit};
use ag_db::finding::Finding;
use ag_db::{Document, source_type, text};
use ag_index::index::tree;
use ag_rules::suppress;

/// The kind of a code action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// The fix of the rule.
    Fix,
    /// A suppression comment on the line of the finding.
    SuppressLine,
    /// A suppression comment for the file.
    SuppressFile,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub kind: ActionKind,
    pub title: String,
    /// Whether it can be applied without review.
    pub preferred: bool,
}

/// Returns the code actions for a finding, without the edits.
pub fn actions(finding: &Finding) -> Vec<Action> {
    let fix = finding.fix.as_ref().filter(|fix| fix.applicability > Applicability::Display);
    let mut actions: Vec<Action> = fix
        .map(|fix| Action {
            kind: ActionKind::Fix,
            title: fix.message.clone(),
            preferred: fix.applicability == Applicability::Safe,
        })
        .into_iter()
        .collect();
    if suppress::is_suppressible(finding.code) {
        let code = finding.code;
        let suppress = |kind, title| Action { kind, title, preferred: false };
        actions.push(suppress(ActionKind::SuppressLine, format!("Suppress {code} on this line")));
        actions.push(suppress(ActionKind::SuppressFile, format!("Disable {code} in this file")));
    }
    actions
}

/// Returns the edits of an action. They are sorted and do not overlap.
pub fn edits(db: &dyn Db, document: Document, finding: &Finding, kind: ActionKind) -> Vec<Edit> {
    let source = text(db, document);
    let source_type = source_type(db, document);
    match kind {
        ActionKind::Fix => finding.fix.as_ref().map(|fix| fix.edits.clone()).unwrap_or_default(),
        ActionKind::SuppressLine => {
            suppress::additions(std::slice::from_ref(finding), source.as_str(), source_type)
        }
        ActionKind::SuppressFile => {
            let Some(parsed) = tree(db, document) else { return Vec::new() };
            let first = parsed.suite().first().map_or(TextSize::of(source.as_str()), Ranged::start);
            vec![file_comment(source.as_str(), first, finding.code)]
        }
    }
}

/// Returns the edit that inserts the comment before the first statement, and after the header (`#!`, an encoding, a
/// licence).
fn file_comment(source: &str, first: TextSize, code: &str) -> Edit {
    let before = source.get(..first.to_usize()).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let newline = if source.contains("\r\n") { "\r\n" } else { "\n" };
    let at = TextSize::try_from(start).unwrap_or_default();
    Edit { range: TextRange::empty(at), text: format!("# ag: ignore-file[{code}]{newline}") }
}
