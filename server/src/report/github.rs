//! Workflow commands of GitHub Actions: annotations in the diff of a pull request.

use ag_db::diagnostic::Severity;

use super::{Report, Violation};

pub(super) fn render(report: &Report) -> String {
    report.violations.iter().map(line).collect()
}

fn line(violation: &Violation) -> String {
    let command = match violation.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let (place, start, end) = (&violation.place, violation.place.start(), violation.place.end());
    // GitHub drops annotations that have columns and span several lines.
    let columns = match start.row == end.row {
        true => format!(",col={},endColumn={}", start.column, end.column),
        false => String::new(),
    };
    // Rows of a notebook count within cells, which GitHub cannot show.
    let lines = match place.cell() {
        Some(_) => String::new(),
        None => format!(",line={},endLine={}{columns}", start.row, end.row),
    };
    format!(
        "::{command} title={},file={}{lines}::{}\n",
        property(&format!("ag-lsp ({})", violation.code)),
        property(&place.source.shown),
        data(&format!("{}: {} {}", place.shown(), violation.code, violation.message)),
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
