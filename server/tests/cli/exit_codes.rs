//! Exit codes: 0 without findings, 1 with findings, 2 for usage errors.

use crate::project::Project;

const CLEAN: (&str, &str) = ("clean.py", "x = 1\n");
const WARNING: (&str, &str) = ("warning.py", "x = 1  # ag: ignore\n");
const ERROR: (&str, &str) = ("error.py", "x = (\n");

fn code(files: &[(&str, &str)], arguments: &[&str]) -> Option<i32> {
    Project::new(files).run(&[&["check"], arguments].concat()).code
}

#[test]
fn a_clean_run_exits_with_0() {
    let answer = Project::new(&[CLEAN]).run(&["check"]);
    assert_eq!(answer.code, Some(0));
    assert_eq!(answer.stdout, "All checks passed!\n");
    assert!(answer.stderr.starts_with("no staged or traced functions found"), "{}", answer.stderr);
}

#[test]
fn quiet_prints_no_summary() {
    let answer = Project::new(&[CLEAN]).run(&["check", "--quiet"]);
    assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn findings_exit_with_1() {
    assert_eq!(code(&[CLEAN, WARNING], &[]), Some(1));
    assert_eq!(code(&[CLEAN, ERROR], &[]), Some(1));
    assert_eq!(code(&[CLEAN, ERROR], &["--exit-zero"]), Some(0));
    assert_eq!(code(&[CLEAN, ERROR], &["clean.py"]), Some(0));
}

#[test]
fn info_findings_exit_with_0() {
    assert_eq!(code(&[WARNING], &["--config", "severity.AG902 = 'info'"]), Some(0));
}

#[test]
fn error_on_warning_reports_warnings_as_errors() {
    let answer = Project::new(&[WARNING]).run(&["check", "--error-on-warning", "--output-format", "concise"]);
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.starts_with("warning.py:1:8: error[AG902]"), "{}", answer.stdout);
}

#[test]
fn usage_errors_exit_with_2() {
    assert_eq!(code(&[CLEAN], &["--no-such-flag"]), Some(2));
    assert_eq!(code(&[CLEAN], &["--output-format", "yaml"]), Some(2));
    assert_eq!(code(&[CLEAN], &["--python", "no/such/environment"]), Some(2));
    assert_eq!(code(&[CLEAN], &["--fix", "--diff"]), Some(2));
    assert_eq!(code(&[CLEAN], &["--output-file", "clean.py/no-folder"]), Some(2));
    assert_eq!(Project::new(&[]).run(&[]).code, Some(2));
}

#[test]
fn help_and_version_exit_with_0() {
    let project = Project::new(&[]);
    for arguments in
        [&["--help"][..], &["--version"], &["check", "-h"], &["help", "check"], &["stages", "--help"]]
    {
        let answer = project.run(arguments);
        assert_eq!(answer.code, Some(0), "{arguments:?}");
        assert!(!answer.stdout.is_empty() && answer.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_missing_path_is_a_finding() {
    let answer = Project::new(&[CLEAN]).run(&["check", "gone.py", "clean.py", "--output-format", "concise"]);
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.starts_with("gone.py:1:1: error[AG901]"), "{}", answer.stdout);
}
