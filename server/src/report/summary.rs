//! The summary line of the text formats: "Found 2 errors, 1 warning (1 fixable with --fix)."

use ag_db::diagnostic::{Applicability, Severity};

use super::{Report, Violation};

/// Returns the number of findings by severity, after `fixed` findings were fixed.
pub(crate) fn summary(report: &Report, fixed: usize) -> String {
    let count = |test: &dyn Fn(&Violation) -> bool| {
        report.violations.iter().filter(|violation| test(violation)).count()
    };
    let of = |severity: Severity| count(&|violation| violation.severity == severity);
    let with = |applicability: Applicability| {
        count(&|violation| violation.fix.as_ref().is_some_and(|fix| fix.applicability == applicability))
    };
    let counts =
        [(of(Severity::Error), "error"), (of(Severity::Warning), "warning"), (of(Severity::Info), "note")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| plural(count, noun))
            .collect::<Vec<_>>()
            .join(", ");
    let fixed = match fixed {
        0 => String::new(),
        fixed => format!("Fixed {}. ", plural(fixed, "finding")),
    };
    if counts.is_empty() {
        return format!("{fixed}All checks passed!\n");
    }
    let fixable = match (with(Applicability::Safe), with(Applicability::Unsafe)) {
        (0, 0) => String::new(),
        (safe, 0) => format!(" ({safe} fixable with --fix)"),
        (0, more) => format!(" ({more} fixable with --unsafe-fixes)"),
        (safe, more) => format!(" ({safe} fixable with --fix, {more} more with --unsafe-fixes)"),
    };
    format!("{fixed}Found {counts}{fixable}.\n")
}

/// Returns a number with its noun: "1 error", "2 errors".
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
