//! The code quality report of GitLab.

use std::collections::HashMap;

use ag_db::diagnostic::Severity;
use serde_json::json;

use super::source::Position;
use super::{Report, Violation, pretty};

pub(super) fn render(report: &Report) -> anyhow::Result<String> {
    let mut seen = HashMap::new();
    let item = |violation: &Violation| {
        let severity = match violation.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        };
        let key =
            format!("{}\n{}\n{}", violation.location.source.display_path, violation.code, violation.message);
        let occurrence = seen.entry(key.clone()).and_modify(|count| *count += 1).or_insert(0);
        json!({
            "check_name": violation.code,
            "description": format!("{}: {}", violation.name, violation.message),
            "fingerprint": format!("{:016x}", fingerprint(&format!("{key}\n{occurrence}"))),
            "severity": severity,
            "location": {
                "path": violation.location.source.display_path,
                "positions": {
                    "begin": position(violation.location.start()),
                    "end": position(violation.location.end()),
                },
            },
        })
    };
    pretty(&report.violations.iter().map(item).collect::<Vec<_>>())
}

fn position(position: Position) -> serde_json::Value {
    json!({ "line": position.row, "column": position.column })
}

/// FNV-1a. The fingerprint must be stable across runs and releases, or GitLab reports old findings as new. So the
/// line number is not hashed, and the hashers of the standard library, which may change, are not used.
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
