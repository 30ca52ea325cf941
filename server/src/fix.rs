//! Applies fixes. A fix may enable further fixes, so fixing is repeated until nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ag_db::diagnostic::{Applicability, Edit};
use ag_db::finding::Finding;
use anyhow::Context;
use ruff_db::source::SourceText;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_diagnostics::SourceMap;
use ruff_text_size::{TextRange, TextSize};

use crate::printer;
use crate::session::{Checked, Session};

/// The maximum number of iterations, in case two fixes undo each other.
const MAX_ITERATIONS: usize = 10;

/// The text of a file before and after fixing.
pub(crate) struct Change {
    pub(crate) before: SourceText,
    pub(crate) after: SourceText,
}

/// Changes by path.
pub(crate) type Changes = BTreeMap<SystemPathBuf, Change>;

/// The result of fixing.
#[derive(Default)]
pub(crate) struct Fixed {
    pub(crate) changes: Changes,
    pub(crate) count: usize,
    /// The findings in the fixed texts.
    pub(crate) remaining: Vec<Checked>,
}

/// Applies all fixes with at least this applicability to the texts in the engine. Does not write files.
pub(crate) fn fix(session: &mut Session, least: Applicability) -> Fixed {
    let mut fixed = Fixed { remaining: session.check(), ..Fixed::default() };
    // Files whose fixes would produce a syntax error.
    let mut rejected: BTreeSet<SystemPathBuf> = BTreeSet::new();
    for _ in 0..MAX_ITERATIONS {
        let mut changed = Vec::new();
        for Checked { document, path, findings } in &fixed.remaining {
            let text = session.engine.text(session.engine.file(*document));
            let Ok(findings) = findings else { continue };
            if rejected.contains(path) {
                continue;
            }
            let (edits, count) = choose(findings, least);
            if count > 0 {
                changed.push((path.clone(), *document, replace(&text, &edits), text, count));
            }
        }
        if changed.is_empty() {
            break;
        }
        for (_, document, after, ..) in &changed {
            session.engine.set_source(*document, after.clone());
        }
        session.analyze();
        let mut checked = session.check();
        for (path, document, after, before, count) in changed {
            let broken = |checked: &[Checked]| {
                checked.iter().any(|checked| checked.path == path && breaks_syntax(checked))
            };
            if broken(&checked) && !broken(&fixed.remaining) {
                printer::warning(&format!(
                    "{path}: fixes not applied: they would cause a syntax error; this is a bug in ag-lsp"
                ));
                session.engine.set_source(document, before);
                session.analyze();
                checked = session.check();
                rejected.insert(path);
                continue;
            }
            fixed.count += count;
            let change = fixed.changes.entry(path).or_insert_with(|| Change { before, after: after.clone() });
            change.after = after;
        }
        fixed.remaining = checked;
    }
    fixed
}

fn breaks_syntax(checked: &Checked) -> bool {
    checked.findings.as_ref().is_ok_and(|findings| findings.iter().any(|finding| finding.code == "AG900"))
}

/// Chooses fixes that do not overlap. Returns their edits in order, and the number of fixes.
pub(crate) fn choose(findings: &[Finding], least: Applicability) -> (Vec<Edit>, usize) {
    let mut fixes: Vec<_> = findings
        .iter()
        .filter_map(|finding| finding.fix.as_ref())
        .filter(|fix| fix.applicability >= least)
        .filter_map(|fix| Some((covering_range(&fix.edits)?, fix)))
        .collect();
    fixes.sort_by_key(|(covering_range, _)| (covering_range.start(), covering_range.end()));
    let (mut edits, mut count, mut end): (Vec<Edit>, usize, Option<TextSize>) = (Vec::new(), 0, None);
    for (covering_range, fix) in fixes {
        // Two insertions at the same offset may be the same fix for two findings. One of them is left for the next
        // iteration.
        if end.is_none_or(|end| covering_range.start() > end) {
            edits.extend(fix.edits.iter().cloned());
            end = Some(covering_range.end());
            count += 1;
        }
    }
    (edits, count)
}

fn covering_range(edits: &[Edit]) -> Option<TextRange> {
    edits.iter().map(|edit| edit.range).reduce(TextRange::cover)
}

/// Applies sorted, non-overlapping edits. Preserves line endings and notebook cells.
pub(crate) fn replace(text: &SourceText, edits: &[Edit]) -> SourceText {
    let source = text.as_str();
    let crlf = source.find('\n').is_some_and(|newline| source[..newline].ends_with('\r'));
    let mut map = SourceMap::default();
    let mut new = String::with_capacity(source.len());
    let mut last = TextSize::new(0);
    for edit in edits {
        new.push_str(&source[TextRange::new(last, edit.range.start())]);
        map.push_marker(edit.range.start(), TextSize::of(new.as_str()));
        if crlf {
            new.push_str(&edit.text.replace("\r\n", "\n").replace('\n', "\r\n"));
        } else {
            new.push_str(&edit.text);
        }
        last = edit.range.end();
        map.push_marker(last, TextSize::of(new.as_str()));
    }
    new.push_str(&source[last.to_usize()..]);
    text.with_text(new, &map)
}

/// Writes the changed files. Writes none of them if a notebook has fields that its format does not have, because the
/// notebook would lose these fields.
pub(crate) fn write(changes: &Changes) -> anyhow::Result<()> {
    for (path, _) in changes.iter().filter(|(_, change)| change.before.is_notebook()) {
        ruff_notebook::Notebook::from_path(path.as_std_path())
            .with_context(|| format!("cannot fix `{path}`"))?;
    }
    for (path, change) in changes {
        std::fs::write(path.as_std_path(), change.after.to_bytes())
            .with_context(|| format!("cannot write `{path}`"))?;
    }
    Ok(())
}

/// Returns the changes as a unified diff.
pub(crate) fn diff(changes: &Changes, cwd: &SystemPath) -> String {
    let mut out = String::new();
    for (path, change) in changes {
        let shown = path.strip_prefix(cwd).unwrap_or(path).to_string();
        let diff = similar::TextDiff::from_lines(change.before.as_str(), change.after.as_str());
        let _ = write!(out, "{}", diff.unified_diff().header(&shown, &shown));
    }
    out
}
