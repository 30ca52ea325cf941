//! `JUnit` XML: one test suite per file, one failed test per finding.

use std::sync::Arc;

use ag_db::diagnostic::Severity;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Report, Violation};

pub(super) fn render(report: &Report) -> anyhow::Result<String> {
    let mut xml = quick_junit::Report::new("ag-lsp");
    let same_file = |a: &Violation, b: &Violation| Arc::ptr_eq(&a.location.source, &b.location.source);
    for group in report.violations.chunk_by(same_file) {
        let Some(first) = group.first() else { continue };
        let mut suite = TestSuite::new(first.location.source.path.as_str());
        suite.add_test_cases(group.iter().map(case));
        xml.add_test_suite(suite);
    }
    if report.violations.is_empty() {
        // Some tools treat a report without tests as a failed run.
        let mut suite = TestSuite::new("ag-lsp");
        suite.add_test_case(TestCase::new("no findings", TestCaseStatus::success()));
        xml.add_test_suite(suite);
    }
    Ok(xml.to_string()?)
}

fn case(violation: &Violation) -> TestCase {
    let kind = match violation.severity {
        Severity::Error => NonSuccessKind::Error,
        Severity::Warning | Severity::Info => NonSuccessKind::Failure,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(violation.severity.as_str()).set_message(violation.message.as_str());
    let mut description = format!("{}: {}", violation.location.display_location(), violation.message);
    for related in &violation.why {
        description.push('\n');
        description.push_str(&related.sentence());
    }
    status.set_description(description);
    let mut case = TestCase::new(format!("{} ({})", violation.code, violation.name), status);
    let position = violation.location.start();
    case.set_classname(violation.location.source.display_path.as_str());
    case.add_property(("line", position.row.to_string().as_str()));
    case.add_property(("column", position.column.to_string().as_str()));
    case
}
