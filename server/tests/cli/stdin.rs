//! Input from standard input, for editors and hooks.

use crate::project::Project;

const FAULTY: &[u8] = b"x = 1  # ag: ignore\n";

#[test]
fn standard_input_has_the_given_file_name() {
    let project = Project::new(&[]);
    let answer = project
        .run_with_input(&["check", "--output-format", "concise", "--stdin-filename", "pkg/new.py"], FAULTY);
    assert_eq!(answer.code, Some(1));
    assert_eq!(
        answer.stdout,
        "pkg/new.py:1:8: warning[AG902] [*] this comment suppresses nothing\nFound 1 warning (1 fixable with --fix).\n"
    );
}

#[test]
fn standard_input_has_a_default_name() {
    let answer = Project::new(&[]).run_with_input(&["check", "--output-format", "concise", "-"], FAULTY);
    assert!(answer.stdout.starts_with("stdin.py:1:8: "), "{}", answer.stdout);
}

/// Standard input replaces the file on disk. Per-file settings still apply.
#[test]
fn standard_input_replaces_the_file_on_disk() {
    let project =
        Project::new(&[("a.py", "x = (\n"), ("ag-lsp.toml", "per-file-ignores = { 'a.py' = ['AG902'] }")]);
    let answer = project.run_with_input(&["check", "--stdin-filename", "a.py", "-"], FAULTY);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "All checks passed!\n"));
}

#[test]
fn fix_prints_the_fixed_text() {
    let project = Project::new(&[]);
    let answer = project.run_with_input(&["check", "--fix", "-"], FAULTY);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "x = 1\n"));
    let answer = project.run_with_input(&["check", "--fix", "-"], b"x = 1\n");
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "x = 1\n"));
    let answer = project.run_with_input(&["check", "--diff", "-"], FAULTY);
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.contains("-x = 1  # ag: ignore\n+x = 1\n"), "{}", answer.stdout);
}

#[test]
fn text_that_is_not_utf_8_is_an_error() {
    let answer = Project::new(&[]).run_with_input(&["check", "--output-format", "concise", "-"], b"\xff\xfe");
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.starts_with("stdin.py:1:1: error[AG901]"), "{}", answer.stdout);
}

#[test]
fn invalid_combinations_of_arguments_are_errors() {
    let project = Project::new(&[("a.py", "")]);
    assert_eq!(project.run(&["check", "-", "a.py"]).code, Some(2));
    assert_eq!(project.run(&["check", "--stdin-filename", "n.ipynb"]).code, Some(2));
    assert_eq!(project.run(&["check", "--watch", "-"]).code, Some(2));
}
