//! Applies fixes in rounds: a fix of one rule may make a fix of another rule applicable.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ag_analysis::check::Finding;
use ag_analysis::diagnostic::{Applicability, Edit};
use anyhow::Context;
use ruff_db::source::SourceText;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_diagnostics::SourceMap;
use ruff_text_size::{TextRange, TextSize};

use crate::printer;
use crate::session::{Checked, Session};

/// A limit, for two rules whose fixes undo each other.
const ROUNDS: usize = 10;

/// A file before and after.
pub(crate) struct Change {
    pub(crate) before: SourceText,
    pub(crate) after: SourceText,
}

/// By path.
pub(crate) type Changes = BTreeMap<SystemPathBuf, Change>;

/// The result of applying fixes.
#[derive(Default)]
pub(crate) struct Fixed {
    pub(crate) changes: Changes,
    pub(crate) count: usize,
    /// The findings of the changed texts.
    pub(crate) remaining: Vec<Checked>,
}

/// Applies all fixes that are at least this safe, in the engine; no file is written.
pub(crate) fn fix(session: &mut Session, least: Applicability) -> Fixed {
    let mut fixed = Fixed { remaining: session.check(), ..Fixed::default() };
    // Files whose fixes turned out to be wrong.
    let mut spoiled: BTreeSet<SystemPathBuf> = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut round = Vec::new();
        for Checked { document, path, findings } in &fixed.remaining {
            let text = session.engine.text(session.engine.file(*document));
            let Ok(findings) = findings else { continue };
            if spoiled.contains(path) {
                continue;
            }
            let (edits, count) = choose(findings, least);
            if count > 0 {
                round.push((path.clone(), *document, replace(&text, &edits), text, count));
            }
        }
        if round.is_empty() {
            break;
        }
        for (_, document, after, ..) in &round {
            session.engine.set_source(*document, after.clone());
        }
        session.analyze();
        let mut checked = session.check();
        for (path, document, after, before, count) in round {
            let broken = |checked: &[Checked]| {
                checked.iter().any(|checked| checked.path == path && breaks_syntax(checked))
            };
            if broken(&checked) && !broken(&fixed.remaining) {
                printer::warning(&format!(
                    "{path}: the fixes would break its syntax, so they are not applied; this is a bug in ag-lsp"
                ));
                session.engine.set_source(document, before);
                session.analyze();
                checked = session.check();
                spoiled.insert(path);
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

/// The edits of fixes that do not touch each other, in order, and how many fixes that is.
pub(crate) fn choose(findings: &[Finding], least: Applicability) -> (Vec<Edit>, usize) {
    let mut fixes: Vec<_> = findings
        .iter()
        .filter_map(|finding| finding.fix.as_ref())
        .filter(|fix| fix.applicability >= least)
        .filter_map(|fix| Some((hull(&fix.edits)?, fix)))
        .collect();
    fixes.sort_by_key(|(hull, _)| (hull.start(), hull.end()));
    let (mut edits, mut count, mut end): (Vec<Edit>, usize, Option<TextSize>) = (Vec::new(), 0, None);
    for (hull, fix) in fixes {
        // Two insertions at one place may be the same fix of two findings; the next round applies what is left.
        if end.is_none_or(|end| hull.start() > end) {
            edits.extend(fix.edits.iter().cloned());
            end = Some(hull.end());
            count += 1;
        }
    }
    (edits, count)
}

fn hull(edits: &[Edit]) -> Option<TextRange> {
    edits.iter().map(|edit| edit.range).reduce(TextRange::cover)
}

/// Carries out edits, which are sorted and do not overlap; the text keeps its line endings, a
/// notebook its cells.
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

/// Writes what has changed.
pub(crate) fn write(changes: &Changes) -> anyhow::Result<()> {
    for (path, change) in changes {
        std::fs::write(path.as_std_path(), change.after.to_bytes())
            .with_context(|| format!("cannot write `{path}`"))?;
    }
    Ok(())
}

/// What has changed, as a unified diff.
pub(crate) fn diff(changes: &Changes, cwd: &SystemPath) -> String {
    let mut out = String::new();
    for (path, change) in changes {
        let shown = path.strip_prefix(cwd).unwrap_or(path).to_string();
        let diff = similar::TextDiff::from_lines(change.before.as_str(), change.after.as_str());
        let _ = write!(out, "{}", diff.unified_diff().header(&shown, &shown));
    }
    out
}
