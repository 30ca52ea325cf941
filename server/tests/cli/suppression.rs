//! Suppression comments `# ag: ignore…`: their scope, and the findings about unused or invalid ones.

use crate::project::Project;

/// Returns a file with an AG101 on line 6.
fn function(comment: &str) -> String {
    format!(
        "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    if x > 0:{comment}\n        y = 1\n    return y\n"
    )
}

fn findings(text: &str) -> Vec<String> {
    Project::new(&[("a.py", text)]).findings(&["--select", "AG101,AG9"])
}

#[test]
fn a_comment_on_the_line_suppresses_the_finding() {
    assert_eq!(findings(&function("")), ["a.py:6:5: AG101"]);
    for comment in [
        "  # ag: ignore[AG101]",
        "  # ag: ignore[undefined-branch]",
        "  # noqa: E501  # ag: ignore[AG101]",
        "  # ag:ignore[ AG101 ] because it is so",
    ] {
        assert_eq!(findings(&function(comment)), [""; 0], "{comment}");
    }
}

#[test]
fn a_comment_without_codes_suppresses_every_rule() {
    let project = Project::new(&[("a.py", &function("  # ag: ignore"))]);
    assert_eq!(project.findings(&[]), [""; 0]);
}

#[test]
fn a_comment_on_either_end_of_a_logical_line_suppresses_the_finding() {
    let text = |first: &str, last: &str| {
        function("").replace("if x > 0:", &format!("if ({first}\n        x > 0\n    ):{last}"))
    };
    assert_eq!(findings(&text("", "")), ["a.py:6:5: AG101"]);
    assert_eq!(findings(&text("  # ag: ignore[AG101]", "")), [""; 0]);
    assert_eq!(findings(&text("", "  # ag: ignore[AG101]")), [""; 0]);
}

#[test]
fn a_file_comment_suppresses_the_findings_of_the_file() {
    for head in [
        "# ag: ignore-file\n",
        "#!/usr/bin/env python\n# ag: ignore-file[AG101]\n",
        "\"\"\"Docs.\"\"\"\n# ag: ignore-file\n",
    ] {
        let project = Project::new(&[("a.py", &format!("{head}{}", function("")))]);
        assert_eq!(project.findings(&[]), [""; 0], "{head}");
    }
}

#[test]
fn a_misplaced_file_comment_is_invalid() {
    let text = "x = 1\n# ag: ignore-file\ny = 1  # ag: ignore-file[AG101]\n";
    assert_eq!(findings(text), ["a.py:2:1: AG905", "a.py:3:8: AG905"]);
}

#[test]
fn a_comment_for_another_rule_is_unused() {
    assert_eq!(findings(&function("  # ag: ignore[AG902]")), ["a.py:6:5: AG101", "a.py:6:16: AG902"]);
}

#[test]
fn invalid_comments_are_reported() {
    assert_eq!(findings("x = 1  # ag: ignore[AG999]\n"), ["a.py:1:21: AG905"]);
    assert_eq!(findings("x = 1  # ag: ignore[AG1]\n"), ["a.py:1:21: AG905"]);
    assert_eq!(findings("x = 1  # ag: ignore[]\n"), ["a.py:1:21: AG905"]);
    assert_eq!(findings("x = 1  # ag: ignore[AG101\n"), ["a.py:1:8: AG905"]);
    assert_eq!(findings("x = 1  # ag: ignored\n"), [""; 0], "this is prose");
    assert_eq!(findings("x = '# ag: ignore[AG999]'\n"), [""; 0], "this is a string");
}

/// A suppression is unused only if its rule was selected.
#[test]
fn unused_comments_are_reported() {
    let project = Project::new(&[("a.py", "x = 1  # ag: ignore[AG101]\ny = 1  # ag: ignore\n")]);
    assert_eq!(project.findings(&[]), ["a.py:1:8: AG902", "a.py:2:8: AG902"]);
    assert_eq!(project.findings(&["--select", "AG902"]), ["a.py:2:8: AG902"]);
}

#[test]
fn fixes_remove_unused_comments() {
    let project = Project::new(&[
        (
            "a.py",
            "x = 1  # ag: ignore[AG101]\n# ag: ignore\ny = 1  # noqa # ag: ignore[AG101] really\nz = 2  # ag: ignore[AG101] # keep\n",
        ),
        ("b.py", &function("  # ag: ignore[AG902, AG101, AG901]")),
    ]);
    let answer = project.run(&["check", "--fix", "--select", "AG101,AG9"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(project.read("a.py"), "x = 1\ny = 1  # noqa\nz = 2  # keep\n");
    assert_eq!(project.read("b.py"), function("  # ag: ignore[AG101]"));
}

#[test]
fn add_ignore_adds_comments() {
    let project = Project::new(&[
        ("a.py", &function("")),
        ("b.py", &function("  # ag: ignore[AG102]")),
        ("c.py", &function("  # why not").replace("x > 0", "(x\n        > 0)")),
    ]);
    let answer = project.run(&["check", "--add-ignore", "--select", "AG101"]);
    assert_eq!(
        (answer.code, answer.stderr.as_str()),
        (Some(0), "Added or extended 3 suppression comments.\n")
    );
    assert_eq!(project.read("a.py"), function("  # ag: ignore[AG101]"));
    assert_eq!(project.read("b.py"), function("  # ag: ignore[AG102, AG101]"));
    assert!(project.read("c.py").contains("> 0):  # why not  # ag: ignore[AG101]\n"));
    assert_eq!(project.findings(&["--select", "AG101"]), [""; 0]);
}

/// Used as a filter, the command prints the text with the added comments.
#[test]
fn add_ignore_prints_standard_input_with_comments() {
    let project = Project::new(&[]);
    let add = |text: &str| {
        project.run_with_input(&["check", "--add-ignore", "--select", "AG101", "-"], text.as_bytes())
    };
    assert_eq!(add(&function("")).stdout, function("  # ag: ignore[AG101]"));
    assert_eq!(add("x = 1\n").stdout, "x = 1\n");
}
