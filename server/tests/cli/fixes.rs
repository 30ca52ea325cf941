//! Tests of `--fix`, `--unsafe-fixes` and `--diff`.

use crate::project::Project;

#[test]
fn diff_shows_the_fixes_and_writes_nothing() {
    let text = "a = 1\nb = 2  # ag: ignore\nc = 3\n";
    let project = Project::new(&[("pkg/a.py", text), ("b.py", "x = 1\n")]);
    let answer = project.run(&["check", "--diff"]);
    assert_eq!(answer.code, Some(1));
    assert_eq!(
        answer.stdout,
        "--- pkg/a.py\n+++ pkg/a.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2  # ag: ignore\n+b = 2\n c = 3\n"
    );
    assert_eq!(answer.stderr, "Would fix 1 finding.\n");
    assert_eq!(project.read("pkg/a.py"), text, "nothing is written");
    assert_eq!(project.run(&["check", "--diff", "b.py"]).code, Some(0));
}

#[test]
fn fix_writes_the_fixed_files() {
    let project =
        Project::new(&[("a.py", "b = 2  # ag: ignore\nc = 3  # ag: ignore\nd = 4  # ag: ignore[x]\n")]);
    let answer = project.run(&["check", "--fix", "--output-format", "concise"]);
    assert_eq!(answer.code, Some(1));
    assert_eq!(
        answer.stdout,
        "a.py:3:21: warning[AG905] unknown rule `x`\nFixed 2 findings. Found 1 warning.\n"
    );
    assert_eq!(project.read("a.py"), "b = 2\nc = 3\nd = 4  # ag: ignore[x]\n");
}

/// Fixes preserve line endings and the byte order mark.
#[test]
fn fixes_keep_line_endings_and_the_byte_order_mark() {
    let project = Project::new(&[("a.py", "\u{feff}b = 'ü'  # ag: ignore\r\n# ag: ignore\r\nc = 3\r\n")]);
    assert_eq!(project.run(&["check", "--fix"]).code, Some(0));
    assert_eq!(project.read("a.py"), "\u{feff}b = 'ü'\r\nc = 3\r\n");
}

#[test]
fn unsafe_fixes_require_their_option() {
    let text = "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    if tf.abs(x) > 0:\n        y = 1\n    return y\n";
    let project = Project::new(&[("a.py", text)]);
    let select = ["--select", "AG101"];
    let diff = project.run(&[&["check", "--diff"][..], &select].concat());
    assert_eq!((diff.code, diff.stdout.as_str()), (Some(0), ""));
    let diff = project.run(&[&["check", "--diff", "--unsafe-fixes"][..], &select].concat());
    assert_eq!(diff.code, Some(1));
    assert!(diff.stdout.contains("\n+    y = "), "{}", diff.stdout);
    assert_eq!(project.read("a.py"), text);

    assert_eq!(project.run(&[&["check", "--fix"][..], &select].concat()).code, Some(1));
    assert_eq!(project.read("a.py"), text);
    assert_eq!(project.run(&[&["check", "--fix", "--unsafe-fixes"][..], &select].concat()).code, Some(0));
    assert_ne!(project.read("a.py"), text);
}

#[test]
fn notebooks_are_fixed() {
    let cell = |source: &str| {
        serde_json::json!({
            "cell_type": "code", "id": "b", "metadata": {}, "execution_count": 7, "outputs": [],
            "source": source.split_inclusive('\n').collect::<Vec<_>>(),
        })
    };
    let markdown =
        serde_json::json!({ "cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# ag: ignore"] });
    let notebook = |first: &str, second: &str| {
        serde_json::json!({
            "cells": [cell(first), markdown, cell(second)],
            "metadata": { "language_info": { "name": "python" } }, "nbformat": 4, "nbformat_minor": 5,
        })
    };
    let project = Project::new(&[(
        "n.ipynb",
        &notebook("x = 1  # ag: ignore\ny = 2", "z = 3\n# ag: ignore").to_string(),
    )]);
    assert_eq!(project.run(&["check", "--fix"]).code, Some(0));
    let written: serde_json::Value = serde_json::from_str(&project.read("n.ipynb")).unwrap();
    assert_eq!(written, notebook("x = 1\ny = 2", "z = 3"));
}
