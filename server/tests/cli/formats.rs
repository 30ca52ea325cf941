//! Output formats. The machine-readable ones can be parsed.

use crate::project::Project;

/// A syntax error, a suppression with an unknown rule, and an unused suppression.
const FAULTY: &str = "x = (1\ny = 2  # ag: ignore[no-such-rule]\nz = 'ü'; w = 3  # ag: ignore\n";

fn faulty() -> Project {
    Project::new(&[("pkg/faulty.py", FAULTY), ("fine.py", "x = 1\n")])
}

fn check(format: &str) -> String {
    let answer = faulty().run(&["check", "--output-format", format]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    answer.stdout
}

#[test]
fn human_readable_formats() {
    for format in ["full", "concise", "grouped"] {
        insta::assert_snapshot!(format, check(format));
    }
}

#[test]
fn machine_readable_formats() {
    for format in ["json", "json-lines", "github", "gitlab", "rdjson", "junit"] {
        insta::assert_snapshot!(format, check(format));
    }
}

/// The output contains the documentation of all rules, so the test checks its structure.
#[test]
fn sarif() {
    let sarif: serde_json::Value = serde_json::from_str(&check("sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let location = &result["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "pkg/faulty.py");
        let region = &location["region"];
        assert!(region["startLine"].as_u64() <= region["endLine"].as_u64());
        assert!(region["startColumn"].as_u64() >= Some(1));
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
    }
    for rule in rules {
        assert!(rule["help"]["markdown"].as_str().unwrap().starts_with("## "));
    }
}

/// Columns count characters and start at 1.
#[test]
fn columns_of_non_ascii_text() {
    assert!(faulty().findings(&[]).contains(&"faulty.py:3:17: AG902".to_owned()));
}

#[test]
fn output_is_written_to_a_file() {
    let project = faulty();
    let answer = project.run(&["check", "--output-format", "json", "--output-file", "out/findings.json"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""));
    let written: serde_json::Value = serde_json::from_str(&project.read("out/findings.json")).unwrap();
    assert!(!written.as_array().unwrap().is_empty());
}

#[test]
fn colours_depend_on_the_option() {
    let project = faulty();
    let coloured = |when| {
        project.run(&["check", "--output-format", "concise", "--color", when]).stdout.contains('\u{1b}')
    };
    assert!(coloured("always"));
    assert!(!coloured("never"));
    assert!(!coloured("auto"), "standard output is a pipe");
}

#[test]
fn statistics() {
    let answer = faulty().run(&["check", "--statistics", "--select", "AG902,AG905", "--ignore", "AG900"]);
    assert_eq!(answer.stdout, "1  AG902  [*]  unused-ignore\n1  AG905       invalid-ignore\n");
    let answer = faulty().run(&[
        "check",
        "--statistics",
        "--select",
        "AG905",
        "--ignore",
        "AG900",
        "--output-format",
        "json",
    ]);
    let rows: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(
        rows,
        serde_json::json!([{ "code": "AG905", "name": "invalid-ignore", "count": 1, "fixable": 0, "fixable_unsafe": 0 }])
    );
}

/// Rows are relative to the cell.
#[test]
fn notebooks() {
    let notebook = serde_json::json!({
        "cells": [
            { "cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Title"] },
            { "cell_type": "code", "id": "b", "metadata": {}, "execution_count": null, "outputs": [], "source": ["x = 1\n", "y = 2"] },
            { "cell_type": "code", "id": "c", "metadata": {}, "execution_count": null, "outputs": [], "source": ["a = 1\n", "b = 2  # ag: ignore"] },
        ],
        "metadata": { "language_info": { "name": "python" } }, "nbformat": 4, "nbformat_minor": 5,
    });
    let project = Project::new(&[("n.ipynb", &notebook.to_string())]);
    let answer = project.run(&["check", "--output-format", "json"]);
    let findings: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(findings[0]["cell"], 3);
    assert_eq!(findings[0]["location"], serde_json::json!({ "row": 2, "column": 8 }));
    insta::assert_snapshot!("notebook-full", project.run(&["check"]).stdout);
}

/// An error at the end of the text, or at a line break, has the same position in every format.
#[test]
fn a_syntax_error_has_one_position() {
    for (text, row, column) in
        [("x = (\n", 1, 6), ("x = (\n\n\n", 1, 6), ("y = 1\nif x\n", 2, 5), ("x = (", 1, 6)]
    {
        let project = Project::new(&[("a.py", text)]);
        let run = |format: &str| project.run(&["check", "--output-format", format]).stdout;
        let json = |format: &str| serde_json::from_str::<serde_json::Value>(&run(format)).unwrap();
        let position = format!("a.py:{row}:{column}");
        assert!(run("full").contains(&format!(" {position}\n")), "{text:?}: {}", run("full"));
        assert!(run("concise").starts_with(&format!("{position}: error[AG900]")), "{text:?}");
        assert!(run("junit").contains(&position), "{text:?}");
        let github = run("github");
        assert!(github.contains(&format!(",line={row},endLine={row},col={column},")), "{text:?}: {github}");
        let found = [
            json("json")[0]["location"].clone(),
            json("rdjson")["diagnostics"][0]["location"]["range"]["start"].clone(),
            json("gitlab")[0]["location"]["positions"]["begin"].clone(),
            json("sarif")["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].clone(),
        ];
        for location in found {
            let part = |names: [&str; 3]| names.iter().find_map(|name| location[*name].as_u64());
            assert_eq!(part(["row", "line", "startLine"]), Some(row), "{text:?}: {location}");
            let columns = ["column", "startColumn", "startColumn"];
            assert_eq!(part(columns), Some(column), "{text:?}: {location}");
        }
    }
}

/// Rules have no web page, so the JSON has no key for one.
#[test]
fn json_has_no_url() {
    assert!(!check("json").contains("\"url\""));
    assert!(!check("json-lines").contains("\"url\""));
}

/// A finding in a function that is not a root names the root that reaches the function.
#[test]
fn the_root_is_named() {
    let text = "import jax\n\n\ndef half(y):\n    return y if y.sum() > 0 else -y\n\n\ndef twice(x):\n    return half(2 * x)\n\n\n\
                @jax.jit\ndef step(x):\n    return twice(x)\n";
    let project = Project::new(&[("a.py", text)]);
    let checked = project.run(&["check"]);
    assert!(
        checked.stdout.contains("reached from `step`, a jitted function (a.py:12:1)"),
        "{}",
        checked.stdout
    );
}
