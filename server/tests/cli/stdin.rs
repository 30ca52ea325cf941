//! Input from standard input, for editors and hooks.

use crate::project::Project;

const FAULTY: &[u8] = b"x = 1  # ag: ignore\n";

#[test]
fn named() {
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
fn unnamed() {
    let answer = Project::new(&[]).run_with_input(&["check", "--output-format", "concise", "-"], FAULTY);
    assert!(answer.stdout.starts_with("stdin.py:1:8: "), "{}", answer.stdout);
}

/// Standard input replaces the file on disk. Per-file settings still apply.
#[test]
fn instead_of_a_file() {
    let project =
        Project::new(&[("a.py", "x = (\n"), ("ag-lsp.toml", "per-file-ignores = { 'a.py' = ['AG902'] }")]);
    let answer = project.run_with_input(&["check", "--stdin-filename", "a.py", "-"], FAULTY);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "All checks passed!\n"));
}

#[test]
fn as_a_filter() {
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
fn not_utf_8() {
    let answer = Project::new(&[]).run_with_input(&["check", "--output-format", "concise", "-"], b"\xff\xfe");
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.starts_with("stdin.py:1:1: error[AG901]"), "{}", answer.stdout);
}

#[test]
fn usage_errors() {
    let project = Project::new(&[("a.py", "")]);
    assert_eq!(project.run(&["check", "-", "a.py"]).code, Some(2));
    assert_eq!(project.run(&["check", "--stdin-filename", "n.ipynb"]).code, Some(2));
    assert_eq!(project.run(&["check", "--watch", "-"]).code, Some(2));
}
