//! One line per finding, without the why-chain: `model.py:12:5: error[AG101] message`.

use ag_db::diagnostic::Severity;
use anstyle::{AnsiColor, Style};

use super::{Report, Violation, fixable};

pub(super) fn render(report: &Report) -> String {
    let line = |violation: &Violation| {
        let bold = Style::new().bold();
        let dim = AnsiColor::Cyan.on_default();
        let position = violation.location.start();
        format!(
            "{bold}{}{bold:#}{dim}:{dim:#}{}{dim}:{dim:#}{}{dim}:{dim:#} {}\n",
            violation.location.file(),
            position.row,
            position.column,
            headline(violation),
        )
    };
    report.violations.iter().map(line).collect()
}

/// Returns the severity, code, mark and message of a violation: `error[AG101] [*] message`.
pub(super) fn headline(violation: &Violation) -> String {
    let style = style(violation.severity);
    let cyan = AnsiColor::Cyan.on_default();
    format!(
        "{style}{}[{}]{style:#} {cyan}{}{cyan:#}{}",
        violation.severity.as_str(),
        violation.code,
        fixable(violation),
        violation.message.replace('\n', " "),
    )
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Info => AnsiColor::Blue,
    }
    .on_default()
    .bold()
}
