//! The diagnostic format of reviewdog. Columns count bytes of UTF-8.

use ag_db::diagnostic::Severity;
use ruff_text_size::TextSize;
use serde_json::{Value, json};

use super::{Location, Report, Violation, pretty};

pub(super) fn render(report: &Report) -> anyhow::Result<String> {
    pretty(&json!({
        "source": { "name": "ag-lsp" },
        "severity": "WARNING",
        "diagnostics": report.violations.iter().map(diagnostic).collect::<Vec<_>>(),
    }))
}

fn diagnostic(violation: &Violation) -> Value {
    let severity = match violation.severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARNING",
        Severity::Info => "INFO",
    };
    let edits = violation.fix.iter().flat_map(|fix| &fix.edits);
    let related = violation.labels.iter().chain(&violation.why);
    json!({
        "message": violation.message,
        "severity": severity,
        "code": { "value": violation.code },
        "location": location(&violation.location),
        "suggestions": edits.map(|(location, text)| json!({ "range": range(location), "text": text })).collect::<Vec<_>>(),
        "relatedLocations": related.filter_map(|related| {
            Some(json!({ "message": related.message, "location": location(related.location.as_ref()?) }))
        }).collect::<Vec<_>>(),
    })
}

fn location(location: &Location) -> Value {
    json!({ "path": location.source.display_path, "range": range(location) })
}

fn range(location: &Location) -> Value {
    let position = |offset: TextSize| {
        let position = location.source.byte_position(offset);
        json!({ "line": position.row, "column": position.column })
    };
    json!({ "start": position(location.range.start()), "end": position(location.range.end()) })
}
