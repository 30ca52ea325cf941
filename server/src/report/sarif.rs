//! SARIF 2.1.0, for tools such as GitHub code scanning.

use ag_db::diagnostic::Severity;
use ag_rules::{Rule, registry};
use serde_json::{Value, json};

use super::{Fix, Location, RelatedMessage, Report, Violation, pretty};
use crate::manual;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn render(report: &Report) -> anyhow::Result<String> {
    let reported: Vec<&Rule> = registry::RULES
        .iter()
        .copied()
        .filter(|rule| report.violations.iter().any(|violation| violation.code == rule.code))
        .collect();
    let results: Vec<Value> =
        report.violations.iter().map(|violation| result(violation, &reported)).collect();
    pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "ag-lsp",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": reported.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": { "text": rule.summary },
        "help": { "text": manual::body(rule), "markdown": manual::body(rule) },
        "defaultConfiguration": { "level": level(rule.severity), "enabled": rule.default },
    })
}

fn result(violation: &Violation, rules: &[&Rule]) -> Value {
    let locations: Vec<Value> =
        violation.labels.iter().chain(&violation.why).enumerate().filter_map(related).collect();
    let mut result = json!({
        "ruleId": violation.code,
        "ruleIndex": rules.iter().position(|rule| rule.code == violation.code),
        "level": level(violation.severity),
        "message": { "text": violation.message },
        "locations": [{ "physicalLocation": physical(&violation.location) }],
        "relatedLocations": locations,
    });
    if let Some(fix) = &violation.fix {
        result["fixes"] = json!([replacement(fix, &violation.location)]);
    }
    result
}

fn related((id, message): (usize, &RelatedMessage)) -> Option<Value> {
    let location = physical(message.location.as_ref()?);
    Some(json!({ "id": id, "physicalLocation": location, "message": { "text": message.message } }))
}

fn replacement(fix: &Fix, location: &Location) -> Value {
    let replacements = fix.edits.iter().map(
        |(location, text)| json!({ "deletedRegion": region(location), "insertedContent": { "text": text } }),
    );
    json!({
        "description": { "text": fix.message },
        "artifactChanges": [{
            "artifactLocation": artifact(location),
            "replacements": replacements.collect::<Vec<_>>(),
        }],
    })
}

fn physical(location: &Location) -> Value {
    json!({ "artifactLocation": artifact(location), "region": region(location) })
}

/// Returns the URI of the file, relative to the current directory if the file is below it.
fn artifact(location: &Location) -> Value {
    let shown = location.source.display_path.replace('\\', "/");
    let scheme = if location.source.path.as_str() == location.source.display_path { "file://" } else { "" };
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encoded: String = shown
        .bytes()
        .map(|byte| if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    json!({ "uri": format!("{scheme}{encoded}") })
}

fn region(location: &Location) -> Value {
    let (start, end) = (location.start(), location.end());
    json!({
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    })
}
