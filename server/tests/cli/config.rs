//! Configuration: sources, precedence, and error messages.

use crate::project::Project;

const FAULTY: (&str, &str) = ("src/faulty.py", "x = 1  # ag: ignore\ny = 2  # ag: ignore[none]\n");

fn codes(config: &[(&str, &str)], arguments: &[&str]) -> Vec<String> {
    let project = Project::new(&[&[FAULTY], config].concat());
    let findings = project.findings(arguments);
    findings.iter().filter_map(|finding| Some(finding.split_once(": ")?.1.to_owned())).collect()
}

#[test]
fn defaults() {
    assert_eq!(codes(&[], &[]), ["AG902", "AG905"]);
}

#[test]
fn configuration_files() {
    assert_eq!(codes(&[("ag-lsp.toml", "ignore = ['AG902']")], &[]), ["AG905"]);
    assert_eq!(codes(&[(".ag-lsp.toml", "ignore = ['unused-ignore']")], &[]), ["AG905"]);
    assert_eq!(codes(&[("pyproject.toml", "[tool.ag-lsp]\nignore = ['AG905']")], &[]), ["AG902"]);
}

#[test]
fn the_closest_file_takes_precedence() {
    let far = ("ag-lsp.toml", "select = []");
    assert_eq!(codes(&[far], &[]), [""; 0]);
    let near = ("src/ag-lsp.toml", "ignore = ['AG902']");
    assert_eq!(codes(&[far, near], &["src/faulty.py"]), ["AG905"]);
    let silent = ("src/pyproject.toml", "[project]\nname = 'p'");
    assert_eq!(codes(&[far, silent], &["src/faulty.py"]), [""; 0]);
}

#[test]
fn the_command_line_takes_precedence() {
    let file = ("ag-lsp.toml", "select = ['AG905']");
    assert_eq!(codes(&[file], &[]), ["AG905"]);
    assert_eq!(codes(&[file], &["--isolated"]), ["AG902", "AG905"]);
    assert_eq!(codes(&[file], &["--select", "AG902"]), ["AG902"]);
    assert_eq!(codes(&[file], &["--config", "select = ['AG902']"]), ["AG902"]);
    assert_eq!(
        codes(&[file, ("other/o.toml", "select = ['AG902']")], &["--config", "other/o.toml"]),
        ["AG902"]
    );
}

#[test]
fn severities() {
    let off = ("ag-lsp.toml", "[severity]\nAG9 = 'off'\nAG905 = 'info'");
    assert_eq!(codes(&[off], &[]), ["AG905"]);
}

#[test]
fn per_file_ignores() {
    let config = |glob| format!("[per-file-ignores]\n'{glob}' = ['AG902', 'AG905']");
    for glob in ["src/*.py", "faulty.py", "src", "**/faulty.py"] {
        assert_eq!(codes(&[("ag-lsp.toml", &config(glob))], &[]), [""; 0], "{glob}");
    }
    assert_eq!(codes(&[("ag-lsp.toml", &config("tests/*"))], &[]), ["AG902", "AG905"]);
}

#[test]
fn exclude() {
    assert_eq!(codes(&[("ag-lsp.toml", "exclude = ['src']")], &[]), [""; 0]);
    assert_eq!(codes(&[("ag-lsp.toml", "extend-exclude = ['src/f*.py']")], &[]), [""; 0]);
    assert_eq!(codes(&[("ag-lsp.toml", "exclude = ['src']")], &["src/faulty.py"]), ["AG902", "AG905"]);
}

fn error_message(config: &str) -> String {
    let answer = Project::new(&[FAULTY, ("ag-lsp.toml", config)]).run(&["check"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert_eq!(answer.stdout, "");
    answer.stderr
}

#[test]
fn wrong_configuration() {
    let invalid = [
        "selct = ['AG1']",
        "select = 'AG9'",
        "select = [\n  'AG900',\n  'AG9O1',\n]",
        "ignore = ['AG902', 'unused-ignor']",
        "dialects = ['tf']",
        "select = [",
        "extend-exclude = ['{a']",
        "per-file-ignores = { '[' = ['AG902'] }",
        "[severity]\nAG902 = 'warn'",
        "[severity]\nno-such-rule = 'off'",
        "jobs = 4",
    ];
    let messages: Vec<String> =
        invalid.iter().map(|config| format!("{config}\n---\n{}", error_message(config))).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn invalid_pyproject() {
    let project =
        Project::new(&[FAULTY, ("pyproject.toml", "[project]\nname = 'p'\n\n[tool.ag-lsp]\nselct = []\n")]);
    let answer = project.run(&["check"]);
    assert_eq!(answer.code, Some(2));
    assert_eq!(
        answer.stderr,
        "error: [project]/pyproject.toml:5:1: `tool.ag-lsp.selct`: unknown key `selct`\nhelp: did you mean `select`?\n"
    );
}

/// A broken `pyproject.toml` without settings for ag-lsp does not stop a check.
#[test]
fn a_broken_pyproject_of_other_tools_is_ignored() {
    let project = Project::new(&[FAULTY, ("pyproject.toml", "[project]\nname = 'p\n")]);
    let answer = project.run(&["check"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.starts_with("warning: [project]/pyproject.toml:2:"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the file is ignored"), "{}", answer.stderr);
}

#[test]
fn conflicting_options() {
    let project = Project::new(&[FAULTY, ("a.toml", ""), ("b.toml", "")]);
    assert_eq!(project.run(&["check", "--config", "a.toml", "--config", "b.toml"]).code, Some(2));
    assert_eq!(project.run(&["check", "--config", "a.toml", "--isolated"]).code, Some(2));
    assert_eq!(project.run(&["check", "--config", "a.toml", "--config", "select = []"]).code, Some(0));
    assert_eq!(project.run(&["check", "--config", "select = []", "--isolated"]).code, Some(0));
}

#[test]
fn invalid_arguments() {
    let project = Project::new(&[FAULTY]);
    for arguments in [
        ["--config", "selct = []"],
        ["--config", "no-such-file.toml"],
        ["--select", "AG9O2"],
        ["--ignore", "AG9,nothing"],
        ["--dialect", "tf"],
        ["--roots", "some"],
        ["--jobs", "many"],
    ] {
        let answer = project.run(&[&["check"][..], &arguments].concat());
        assert_eq!(answer.code, Some(2), "{arguments:?}");
        assert!(answer.stderr.starts_with("error: "), "{arguments:?}: {}", answer.stderr);
    }
}
