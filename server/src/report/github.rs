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
    let (location, start, end) = (&violation.location, violation.location.start(), violation.location.end());
    // GitHub drops annotations that have columns and span several lines.
    let columns = match start.row == end.row {
        true => format!(",col={},endColumn={}", start.column, end.column),
        false => String::new(),
    };
    // In a notebook, rows count from the start of a cell. GitHub cannot show cells.
    let lines = match location.cell() {
        Some(_) => String::new(),
        None => format!(",line={},endLine={}{columns}", start.row, end.row),
    };
    format!(
        "::{command} title={},file={}{lines}::{}\n",
        property(&format!("ag-lsp ({})", violation.code)),
        property(&location.source.display_path),
        data(&format!("{}: {} {}", location.display_location(), violation.code, violation.message)),
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
