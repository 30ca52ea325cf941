//! Grouped by file: the name of the file, then one line per finding.

use std::fmt::Write;
use std::sync::Arc;

use anstyle::Style;

use super::concise::headline;
use super::{Report, Violation};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let same_file = |a: &Violation, b: &Violation| Arc::ptr_eq(&a.location.source, &b.location.source);
    for group in report.violations.chunk_by(same_file) {
        let Some(first) = group.first() else { continue };
        let underline = Style::new().underline();
        let _ = writeln!(out, "{underline}{}{underline:#}:", first.location.source.display_path);
        let width = group.iter().map(|violation| location(violation).len()).max().unwrap_or(0);
        for violation in group {
            let _ = writeln!(out, "  {:width$}  {}", location(violation), headline(violation));
        }
        out.push('\n');
    }
    out
}

fn location(violation: &Violation) -> String {
    let position = violation.location.start();
    match violation.location.cell() {
        Some(cell) => format!("cell {cell}:{}:{}", position.row, position.column),
        None => format!("{}:{}", position.row, position.column),
    }
}
