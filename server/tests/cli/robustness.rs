//! Unusual input: every run ends with a result and an exit code.

use std::io::Read;
use std::process::Stdio;

use crate::project::Project;

#[test]
fn invalid_encodings() {
    let project = Project::new(&[("fine.py", "x = 1  # ag: ignore\n")]);
    project.write("latin.py", b"x = '\xe4'\n");
    project.write("zeros.py", b"\0\0\0");
    project.write("broken.ipynb", b"{\"cells\": [");
    let findings = project.findings(&["--select", "ALL"]);
    assert!(findings.contains(&"latin.py:1:1: AG901".to_owned()), "{findings:?}");
    assert!(findings.contains(&"broken.ipynb:1:1: AG901".to_owned()), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.starts_with("zeros.py:1:1: AG900")), "{findings:?}");
}

#[test]
fn empty_inputs() {
    let project = Project::new(&[("a.py", ""), ("b.py", "\n"), ("c.py", "\u{feff}"), ("d.py", "\\")]);
    let answer = project.run(&["check", "a.py", "b.py", "c.py"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(project.run(&["check", "d.py"]).code, Some(1));
}

#[test]
fn deep_nesting() {
    let brackets = format!("x = {}{}\n", "(".repeat(100_000), ")".repeat(100_000));
    let blocks: String = (0..3_000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    let chain =
        format!("import tensorflow as tf\n@tf.function\ndef f(x):\n    return {}1\n", "x + ".repeat(100_000));
    let unclosed = format!("def f(x):\n    return {}", "[".repeat(50_000));
    let project = Project::new(&[
        ("brackets.py", &brackets),
        ("blocks.py", &blocks),
        ("chain.py", &chain),
        ("unclosed.py", &unclosed),
    ]);
    assert_eq!(
        project.findings(&[]),
        ["blocks.py:1:1: AG904", "brackets.py:1:1: AG904", "chain.py:1:1: AG904", "unclosed.py:1:1: AG904"]
    );
}

/// Ten megabytes of data, as in generated code.
#[test]
fn a_large_file() {
    let data =
        format!("DATA = [\n{}]\nx = 1  # ag: ignore\n", "    'a line of some length',\n".repeat(380_000));
    let project = Project::new(&[("data.py", &data)]);
    assert_eq!(project.findings(&[]), ["data.py:380003:8: AG902"]);
    assert_eq!(project.run(&["check"]).code, Some(1));
}

#[test]
fn incomplete_files() {
    let text = "import tensorflow as tf\n\n@tf.function\ndef f(x, ):\n    if x > 0:\n        y = tf.\n    for in x:\n    while\n    return y[\n";
    let project = Project::new(&[("a.py", text)]);
    let cuts: Vec<String> = (0..text.len()).map(|cut| format!("cut{cut}.py")).collect();
    for (cut, name) in cuts.iter().enumerate() {
        project.write(name, &text[..cut]);
    }
    let failures: Vec<String> = project
        .findings(&["--select", "ALL"])
        .into_iter()
        .filter(|finding| finding.ends_with("AG903"))
        .collect();
    assert_eq!(failures, [""; 0]);
    let answer = project.run(&["stages", ".", "--output-format", "json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}

/// Annotated source is shorter or longer than the notebook, so a cell has another offset in it.
#[test]
fn findings_in_notebook_cells_have_the_right_position() {
    let eager = format!("def eager(x):\n{}    return x\n", "    x = x + 'é'\n".repeat(200));
    let staged = "@tf.function\ndef f(x):\n    if x > 0:\n        y = 1\n    return y\n";
    let cell = |source: &str| serde_json::json!({ "cell_type": "code", "id": source.len().to_string(), "metadata": {}, "execution_count": null, "outputs": [], "source": source });
    let notebook = serde_json::json!({
        "cells": [cell("import tensorflow as tf\n"), cell(&eager), cell(staged), cell("f(tf.constant(len('é')))\n")],
        "metadata": { "language_info": { "name": "python" } }, "nbformat": 4, "nbformat_minor": 5,
    });
    let project = Project::new(&[("n.ipynb", &notebook.to_string())]);
    let answer = project.run(&["stages", "n.ipynb", "--output-format", "json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let answer = project.run(&["check", "--roots", "all", "--output-format", "json"]);
    let findings: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert!(
        findings.as_array().is_some_and(|findings| findings.iter().any(|finding| finding["cell"] == 3)),
        "{findings}"
    );
}

#[test]
fn notebooks_with_unknown_fields() {
    let text = serde_json::json!({
        "cells": [
            { "cell_type": "markdown", "metadata": {}, "source": ["# x"], "outputs": [] },
            { "cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["x = 1  # ag: ignore"] },
        ],
        "metadata": { "language_info": { "name": "python" } }, "nbformat": 4, "nbformat_minor": 5,
    });
    let fixable = "x = 1  # ag: ignore\n";
    let project = Project::new(&[("a.py", fixable), ("n.ipynb", &text.to_string())]);
    assert_eq!(project.findings(&["--select", "AG9"]), ["a.py:1:8: AG902", "n.ipynb:1:8: AG902"]);
    let answer = project.run(&["check", "--fix"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert_eq!(project.read("n.ipynb"), text.to_string());
    assert_eq!(project.read("a.py"), fixable, "no file is written");
}

#[cfg(unix)]
#[test]
fn symbolic_links() {
    let project = Project::new(&[("pkg/a.py", "x = (\n")]);
    std::os::unix::fs::symlink("..", project.path("pkg/loop")).unwrap();
    std::os::unix::fs::symlink("nowhere.py", project.path("dangling.py")).unwrap();
    std::os::unix::fs::symlink("pkg/a.py", project.path("linked.py")).unwrap();
    assert_eq!(project.findings(&[]).len(), 1, "links are not followed");
    assert_eq!(project.findings(&["dangling.py"]), ["dangling.py:1:1: AG901"]);
    assert_eq!(project.findings(&["linked.py"]), ["linked.py:1:6: AG900"]);
}

/// The user root can read every file, so the test is only effective for other users.
#[cfg(unix)]
#[test]
fn unreadable_files() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new(&[("locked.py", "x = 1\n"), ("b.py", "x = 1  # ag: ignore\n")]);
    std::fs::set_permissions(project.path("locked.py"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let findings = project.findings(&[]);
    assert!(findings.contains(&"b.py:1:8: AG902".to_owned()), "{findings:?}");
    if std::fs::read(project.path("locked.py")).is_err() {
        assert!(findings.contains(&"locked.py:1:1: AG901".to_owned()), "{findings:?}");
    }
}

/// `ag-lsp … | head -1`
#[test]
fn closed_pipe() {
    let project = Project::new(&[]);
    let faults: String = (0..20_000).map(|line| format!("x = {line}  # ag: ignore\n")).collect();
    project.write("a.py", faults);
    let mut command = project.command(&["check", "--output-format", "concise"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
}

/// The output does not depend on the number of threads.
#[test]
fn output_is_independent_of_the_number_of_threads() {
    let project = Project::new(&[]);
    for number in 0..20 {
        project.write(&format!("m{number}.py"), "x = 1  # ag: ignore\ny = (\n");
    }
    let answer = |jobs| project.run(&["check", "--jobs", jobs]).stdout;
    assert_eq!(answer("1"), answer("8"));
}

/// In a large folder, types from unrelated modules are unknown. This must not apply to `typing_extensions`, which the
/// builtins of typeshed import.
#[test]
fn a_large_folder_with_typing_extensions() {
    let staged = "import jax\n\n\n@jax.jit\ndef f(x):\n    pair = (x, 1)\n    if pair[0] > 0:\n        return x\n    return -x\n";
    let project = Project::new(&[("staged.py", staged), ("typing_extensions.py", "x = 1\n")]);
    for number in 0..300 {
        project.write(&format!("far{number}.py"), b"x = 1\n");
    }
    let answer = project.run(&["check", "--output-format", "concise"]);
    assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    assert!(answer.stdout.starts_with("staged.py:7:8: error[AG501]"), "{}", answer.stdout);
}
