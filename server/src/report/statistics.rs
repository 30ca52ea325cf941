//! The number of findings by rule.

use std::collections::BTreeMap;

use ag_db::diagnostic::Applicability;
use serde::Serialize;

use super::{Format, Report, mark, pretty};

#[derive(Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    count: usize,
    /// The number of these findings that `--fix` repairs.
    fixable: usize,
    /// The number of further findings that `--unsafe-fixes` repairs.
    fixable_unsafe: usize,
}

/// Returns a table or JSON, with the most frequent rule first.
pub(crate) fn statistics(report: &Report, format: Format) -> anyhow::Result<String> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for violation in &report.violations {
        let row = rows.entry(violation.code).or_insert(Row {
            code: violation.code,
            name: violation.name,
            count: 0,
            fixable: 0,
            fixable_unsafe: 0,
        });
        row.count += 1;
        match violation.fix.as_ref().map(|fix| fix.applicability) {
            Some(Applicability::Safe) => row.fixable += 1,
            Some(Applicability::Unsafe) => row.fixable_unsafe += 1,
            Some(Applicability::Display) | None => {}
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    match format {
        Format::Json => pretty(&rows),
        Format::JsonLines => rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect(),
        _ => {
            let width = rows.iter().map(|row| row.count.to_string().len()).max().unwrap_or(0);
            let line = |row: &Row| {
                let mark = match (row.fixable, row.fixable_unsafe) {
                    (0, 0) => "   ",
                    (0, _) => mark(Applicability::Unsafe),
                    _ => mark(Applicability::Safe),
                };
                format!("{:width$}  {}  {mark}  {}\n", row.count, row.code, row.name)
            };
            Ok(rows.iter().map(line).collect())
        }
    }
}
