//! Precedence of rule selectors.

use crate::project::Project;

/// Returns the codes of the findings in a file with one AG902 and one AG905.
fn codes(config: &str, arguments: &[&str]) -> Vec<String> {
    let text = "x = 1  # ag: ignore[AG901]\ny = 2  # ag: ignore[none]\n";
    let project = Project::new(&[("a.py", text), ("ag-lsp.toml", config)]);
    let findings = project.findings(arguments);
    findings.iter().filter_map(|finding| Some(finding.split_once(": ")?.1.to_owned())).collect()
}

#[test]
fn the_more_specific_selector_takes_precedence() {
    assert_eq!(codes("select = ['AG9']\nignore = ['AG902']", &["--select", "AG9"]), ["AG905"]);
    assert_eq!(codes("select = ['ALL']\nignore = ['AG90']", &[]), [""; 0]);
    assert_eq!(codes("extend-select = ['AG905']\nignore = ['AG9']", &[]), ["AG905"]);
    assert_eq!(codes("select = ['AG905']\nignore = ['AG905']", &[]), [""; 0]);
}

#[test]
fn the_command_line_overrides_the_file() {
    assert_eq!(codes("ignore = ['AG905']", &["--select", "AG905"]), ["AG905"]);
    assert_eq!(codes("ignore = ['AG905']", &["--extend-select", "invalid-ignore"]), ["AG902", "AG905"]);
    assert_eq!(codes("select = ['AG905']", &["--ignore", "AG9"]), [""; 0]);
    assert_eq!(codes("select = ['AG905']", &["--extend-select", "AG902"]), ["AG902", "AG905"]);
}

/// A syntax error is reported unless it is ignored explicitly.
#[test]
fn syntax_errors_are_always_selected() {
    let project = Project::new(&[("a.py", "x = (\n")]);
    assert_eq!(project.findings(&["--select", "AG902"]), ["a.py:1:6: AG900"]);
    assert_eq!(project.findings(&["--select", "AG902", "--ignore", "AG900"]), [""; 0]);
}

#[test]
fn several_rules_can_be_listed() {
    assert_eq!(codes("", &["--select", "AG905, unused-ignore"]), ["AG902", "AG905"]);
    assert_eq!(codes("", &["--select", "AG900", "--select", "AG905"]), ["AG905"]);
}
