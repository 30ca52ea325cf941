//! JSON with the keys of ruff's JSON, for tools that read that format, and additional keys: `name`,
//! `severity`, `help`, `labels`, `why`.

use serde::Serialize;

use super::source::Position;
use super::{Fix, RelatedMessage, Report, Violation, pretty};

#[derive(Serialize)]
struct Item<'a> {
    code: &'a str,
    name: &'a str,
    severity: &'a str,
    message: &'a str,
    filename: &'a str,
    /// The cell of a notebook; rows count from the start of the cell.
    cell: Option<usize>,
    location: Position,
    end_location: Position,
    fix: Option<FixItem<'a>>,
    help: Option<&'a str>,
    labels: Vec<RelatedMessageItem<'a>>,
    why: Vec<RelatedMessageItem<'a>>,
}

#[derive(Serialize)]
struct FixItem<'a> {
    applicability: &'a str,
    message: &'a str,
    edits: Vec<EditItem<'a>>,
}

#[derive(Serialize)]
struct EditItem<'a> {
    content: &'a str,
    location: Position,
    end_location: Position,
}

#[derive(Serialize)]
struct RelatedMessageItem<'a> {
    message: &'a str,
    filename: Option<&'a str>,
    location: Option<Position>,
    end_location: Option<Position>,
}

pub(super) fn render(report: &Report) -> anyhow::Result<String> {
    pretty(&report.violations.iter().map(item).collect::<Vec<_>>())
}

pub(super) fn render_lines(report: &Report) -> anyhow::Result<String> {
    report.violations.iter().map(|violation| Ok(serde_json::to_string(&item(violation))? + "\n")).collect()
}

fn item(violation: &Violation) -> Item<'_> {
    Item {
        code: violation.code,
        name: violation.name,
        severity: violation.severity.as_str(),
        message: &violation.message,
        filename: violation.location.source.path.as_str(),
        cell: violation.location.cell(),
        location: violation.location.start(),
        end_location: violation.location.end(),
        fix: violation.fix.as_ref().map(fix),
        help: violation.help.as_deref(),
        labels: violation.labels.iter().map(related_message).collect(),
        why: violation.why.iter().map(related_message).collect(),
    }
}

fn fix(fix: &Fix) -> FixItem<'_> {
    use ag_db::diagnostic::Applicability;
    let applicability = match fix.applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
        Applicability::Display => "display",
    };
    let edits = fix.edits.iter().map(|(location, content)| EditItem {
        content,
        location: location.start(),
        end_location: location.end(),
    });
    FixItem { applicability, message: &fix.message, edits: edits.collect() }
}

fn related_message(related: &RelatedMessage) -> RelatedMessageItem<'_> {
    let location = related.location.as_ref();
    RelatedMessageItem {
        message: &related.message,
        filename: location.map(|location| location.source.path.as_str()),
        location: location.map(super::Location::start),
        end_location: location.map(super::Location::end),
    }
}
