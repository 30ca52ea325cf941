//! Tests of `explain`, `config` and `version`.

use crate::project::Project;

fn run(arguments: &[&str]) -> String {
    let answer = Project::new(&[]).run(arguments);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    answer.stdout
}

#[test]
fn a_rule() {
    insta::assert_snapshot!("explain", run(&["explain", "AG902"]));
    assert_eq!(run(&["explain", "unused-ignore"]), run(&["rule", "AG902"]));
    let json: serde_json::Value =
        serde_json::from_str(&run(&["explain", "AG902", "--output-format", "json"])).unwrap();
    assert_eq!(json["name"], "unused-ignore");
    assert!(json["explanation"].as_str().unwrap().starts_with("## What it does\n"));
}

#[test]
fn all_rules() {
    let json: serde_json::Value =
        serde_json::from_str(&run(&["explain", "--all", "--output-format", "json"])).unwrap();
    let rules = json.as_array().unwrap();
    let text = run(&["explain", "--all"]);
    let list = run(&["explain"]);
    assert_eq!(list.lines().count(), rules.len() + 1);
    for rule in rules {
        let (code, name) = (rule["code"].as_str().unwrap(), rule["name"].as_str().unwrap());
        assert!(text.contains(&format!("# {name} ({code})\n")), "{code}");
        assert!(list.contains(code), "{code}");
    }
}

#[test]
fn codes_and_names_are_accepted_in_any_case() {
    for name in ["ag902", "Ag902", "UNUSED-ignore"] {
        assert_eq!(run(&["explain", name]), run(&["explain", "AG902"]), "{name}");
    }
}

#[test]
fn a_prefix_lists_its_rules() {
    let list = run(&["explain", "ag90"]);
    assert_eq!(list, run(&["explain", "AG90"]));
    assert_eq!(list.lines().filter(|line| line.starts_with("AG90")).count(), list.lines().count() - 1);
    let json: serde_json::Value =
        serde_json::from_str(&run(&["explain", "ag90", "--output-format", "json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), list.lines().count() - 1);
    assert_eq!(run(&["explain", "all"]), run(&["explain"]));
}

/// The list has a column for the severity, the fix and the dialects.
#[test]
fn the_list_has_columns() {
    let list = run(&["explain"]);
    let column = |line: &str, title: &str| {
        let start = list.lines().next().unwrap().find(title).unwrap();
        line[start..].split("  ").next().unwrap().to_owned()
    };
    let line = |code: &str| list.lines().find(|line| line.starts_with(code)).unwrap();
    let cells = |code: &str| ["name", "severity", "fix", "dialects"].map(|title| column(line(code), title));
    assert_eq!(cells("AG902"), ["unused-ignore", "warning", "always", "all"]);
    assert_eq!(cells("AG514"), ["torch-graph-break-builtin", "warning", "-", "torch"]);
}

#[test]
fn an_unknown_rule() {
    let answer = Project::new(&[]).run(&["explain", "unused-ignor"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("did you mean `unused-ignore`?"), "{}", answer.stderr);
}

#[test]
fn options() {
    insta::assert_snapshot!("config", run(&["config"]));
    assert!(run(&["config", "per-file-ignores"]).starts_with("per-file-ignores\n\n"));
    assert_eq!(Project::new(&[]).run(&["config", "selct"]).code, Some(2));
}

#[test]
fn version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(run(&["version"]), format!("ag-lsp {version}\n"));
    assert_eq!(run(&["--version"]), format!("ag-lsp {version}\n"));
    let json: serde_json::Value =
        serde_json::from_str(&run(&["version", "--output-format", "json"])).unwrap();
    assert_eq!(json["version"], version);
}
