//! The diagnostic format of reviewdog. Columns count bytes of UTF-8.

use ag_db::diagnostic::Severity;
use ruff_text_size::TextSize;
use serde_json::{Value, json};

use super::{Place, Report, Violation, pretty};

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
        "location": location(&violation.place),
        "suggestions": edits.map(|(place, text)| json!({ "range": range(place), "text": text })).collect::<Vec<_>>(),
        "relatedLocations": related.filter_map(|remark| {
            Some(json!({ "message": remark.message, "location": location(remark.place.as_ref()?) }))
        }).collect::<Vec<_>>(),
    })
}

fn location(place: &Place) -> Value {
    json!({ "path": place.source.shown, "range": range(place) })
}

fn range(place: &Place) -> Value {
    let position = |offset: TextSize| {
        let position = place.source.byte_position(offset);
        json!({ "line": position.row, "column": position.column })
    };
    json!({ "start": position(place.range.start()), "end": position(place.range.end()) })
}
