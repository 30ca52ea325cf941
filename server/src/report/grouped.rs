//! Grouped by file: the name of the file, then one line per finding.

use std::fmt::Write;
use std::sync::Arc;

use anstyle::Style;

use super::concise::headline;
use super::{Report, Violation};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let same_file = |a: &Violation, b: &Violation| Arc::ptr_eq(&a.place.source, &b.place.source);
    for group in report.violations.chunk_by(same_file) {
        let Some(first) = group.first() else { continue };
        let underline = Style::new().underline();
        let _ = writeln!(out, "{underline}{}{underline:#}:", first.place.source.shown);
        let width = group.iter().map(|violation| place(violation).len()).max().unwrap_or(0);
        for violation in group {
            let _ = writeln!(out, "  {:width$}  {}", place(violation), headline(violation));
        }
        out.push('\n');
    }
    out
}

fn place(violation: &Violation) -> String {
    let position = violation.place.start();
    match violation.place.cell() {
        Some(cell) => format!("cell {cell}:{}:{}", position.row, position.column),
        None => format!("{}:{}", position.row, position.column),
    }
}
