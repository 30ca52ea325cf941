//! How often each rule spoke.

use std::collections::BTreeMap;

use ag_db::diagnostic::Applicability;
use serde::Serialize;

use super::{Format, Report, pretty};

#[derive(Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    count: usize,
    /// Of these, `--fix` mends so many.
    fixable: usize,
}

/// A table, the most frequent rule first; or the same as JSON.
pub(crate) fn statistics(report: &Report, format: Format) -> anyhow::Result<String> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for violation in &report.violations {
        let row = rows.entry(violation.code).or_insert(Row {
            code: violation.code,
            name: violation.name,
            count: 0,
            fixable: 0,
        });
        row.count += 1;
        let safe = violation.fix.as_ref().is_some_and(|fix| fix.applicability == Applicability::Safe);
        row.fixable += usize::from(safe);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    match format {
        Format::Json => pretty(&rows),
        Format::JsonLines => rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect(),
        _ => {
            let width = rows.iter().map(|row| row.count.to_string().len()).max().unwrap_or(0);
            let line = |row: &Row| {
                let fixable = if row.fixable > 0 { "[*]" } else { "[ ]" };
                format!("{:width$}  {}  {fixable}  {}\n", row.count, row.code, row.name)
            };
            Ok(rows.iter().map(line).collect())
        }
    }
}
