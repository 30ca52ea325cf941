//! The findings of a document, with offsets into the file.

use ag_db::diagnostic::{Diagnostic, Severity, Span};
use ag_db::finding::{Finding, FindingFix, Location, Note};
use ag_db::{Db, Document, text};
use ag_index::index::{FunctionId, file_index, tree};
use ag_index::locate::{locate, notes};
use ag_staging::results::stages_of;
use ag_syntax::edits::Edit;
use ruff_db::files::File;
use ruff_db::source::SourceText;
use ruff_text_size::{TextRange, TextSize};

use crate::registry;
use crate::run::{file_diagnostics, function_diagnostics};
use crate::selection::RuleTable;
use crate::suppress;

/// The rules that are enabled for a document.
pub struct FileRules<'a> {
    /// The rules that are enabled for the project. They also report files that cannot be analyzed.
    pub project: &'a RuleTable,
    /// The rules that remain after per-file ignores.
    pub file: &'a RuleTable,
}

/// Returns all findings of a document in source order: those of the engine and of the enabled rules. Suppressed
/// findings are not included.
pub fn findings(db: &dyn Db, rules: &FileRules<'_>, document: Document) -> Vec<Finding> {
    let file = document.file(db);
    let engine = |code: &str, range: TextRange, message: String| {
        let rule = registry::find(code)?;
        Some(Finding {
            code: rule.code,
            name: rule.name,
            severity: rules.project.enabled(rule.code)?,
            message,
            location: Location { file, range },
            labels: Vec::new(),
            why: Vec::new(),
            help: None,
            fix: None,
        })
    };
    let index = file_index(db, document);
    // Only a blank document may be unreadable. The texts of other documents are not loaded again.
    if index.is_blank
        && let Some(error) = text(db, document).read_error()
    {
        return engine("AG901", TextRange::default(), error.to_string()).into_iter().collect();
    }
    if index.too_deep {
        let message = "the file is nested too deeply to be checked".to_owned();
        return engine("AG904", TextRange::default(), message).into_iter().collect();
    }
    let mut found: Vec<Finding> = Vec::new();
    if !index.syntax_errors.is_empty() {
        let source = text(db, document);
        found.extend(first_of_cells(&source, &index.syntax_errors).into_iter().filter_map(
            |(range, message)| engine("AG900", within_lines(source.as_str(), *range), uncapitalised(message)),
        ));
    }
    let stages = stages_of(db, document);
    let enabled = |diagnostic: &Diagnostic| {
        let severity = severity(rules.file, diagnostic)?;
        resolve(db, file, diagnostic, severity)
    };
    for path in stages.keys() {
        let diagnostics = function_diagnostics(db, FunctionId::new(db, document, path.clone()));
        found.extend(diagnostics.iter().filter_map(enabled));
    }
    for finding in file_diagnostics(db, document).iter().filter_map(enabled) {
        add_to_functions(&mut found, finding);
    }
    found.sort_by(|a, b| {
        let key =
            |finding: &Finding| (finding.location.range.start(), finding.code, finding.location.range.end());
        let order = key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message));
        order.then_with(|| b.severity.cmp(&a.severity))
    });
    // A rule reports each location only once, with the highest severity.
    found.dedup_by(|next, first| {
        next.code == first.code && next.location == first.location && next.message == first.message
    });
    if index.may_have_directives
        && let Some(parsed) = tree(db, document)
    {
        let source = text(db, document);
        found = suppress::apply(found, file, source.as_str(), &parsed, rules.file);
    }
    found
}

/// Adds a finding of a rule about files. The program of the file may show that a finding about a function is certain: an
/// uncertain finding of the same rule at the same place is replaced. If that finding is certain, it is kept.
fn add_to_functions(found: &mut Vec<Finding>, finding: Finding) {
    let is_same = |known: &Finding| known.code == finding.code && known.location == finding.location;
    if found.iter().any(|known| is_same(known) && known.severity >= finding.severity) {
        return;
    }
    found.retain(|known| !is_same(known));
    found.push(finding);
}

/// Returns the first syntax error of the file or, in a notebook, of each cell. The others are often consequences of it.
fn first_of_cells<'e>(
    source: &SourceText,
    errors: &'e [(TextRange, String)],
) -> Vec<&'e (TextRange, String)> {
    let cell_of = |range: &TextRange| {
        let offsets = source.as_notebook().map(|notebook| notebook.cell_offsets());
        offsets.map_or(0, |offsets| offsets.iter().filter(|start| **start <= range.start()).count())
    };
    let mut first: Vec<&(TextRange, String)> = errors.iter().collect();
    first.sort_by_key(|(range, _)| range.start());
    first.dedup_by_key(|(range, _)| cell_of(range));
    first
}

/// Returns the range without trailing line breaks, because not every output format can show these. An error at the end
/// of the text is moved to the end of the last line.
fn within_lines(text: &str, range: TextRange) -> TextRange {
    let before = text.get(..range.end().to_usize()).unwrap_or(text);
    let end = TextSize::of(before.trim_end_matches(['\r', '\n']));
    if range.is_empty() {
        return if range.end() == TextSize::of(text) { TextRange::empty(end) } else { range };
    }
    TextRange::new(range.start(), end.max(range.start()))
}

/// Returns the parser's message in the style of the other messages: "Expected `)`" becomes "expected `)`". "IPython" is
/// unchanged.
fn uncapitalised(message: &str) -> String {
    let mut letters = message.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), &message[1..])
        }
        _ => message.to_owned(),
    }
}

/// Returns the severity to report; `None` if the rule is disabled. A configured severity takes precedence over the
/// severity of the diagnostic. A diagnostic of an uncertain finding has a lower severity than its rule.
fn severity(rules: &RuleTable, diagnostic: &Diagnostic) -> Option<Severity> {
    let configured = rules.enabled(diagnostic.code)?;
    let own = registry::find(diagnostic.code)?.severity;
    Some(if configured == own { diagnostic.severity } else { configured })
}

/// Converts a diagnostic to a finding: its offsets in a function become offsets in the file.
fn resolve(db: &dyn Db, file: File, diagnostic: &Diagnostic, severity: Severity) -> Option<Finding> {
    let location = locate(db, &diagnostic.span)?;
    if location.file != file {
        return None;
    }
    let base = location.range.start() - diagnostic.span.range.start();
    let note = |message: &str, span: Option<&Span>| Note {
        message: message.to_owned(),
        location: span.and_then(|span| locate(db, span)),
    };
    Some(Finding {
        code: diagnostic.code,
        name: diagnostic.name,
        severity,
        message: diagnostic.message.clone(),
        labels: diagnostic.labels.iter().map(|label| note(&label.message, Some(&label.span))).collect(),
        why: notes(db, &diagnostic.why),
        help: diagnostic.help.clone(),
        fix: diagnostic.fix.as_ref().map(|fix| {
            let mut edits: Vec<Edit> = fix
                .edits
                .iter()
                .map(|edit| Edit { range: edit.range + base, text: edit.text.clone() })
                .collect();
            edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
            FindingFix { message: fix.message.clone(), applicability: fix.applicability, edits }
        }),
        location,
    })
}
