//! Generated files that are committed are up to date.

use crate::project::Project;

fn generate(arguments: &[&str]) -> String {
    let answer = Project::new(&[]).run(arguments);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    answer.stdout
}

/// To update the schema, run `cargo run -- generate-schema > ag-lsp.schema.json`.
#[test]
fn the_committed_schema_is_up_to_date() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../ag-lsp.schema.json");
    assert_eq!(std::fs::read_to_string(committed).unwrap(), generate(&["generate-schema"]));
}

/// The schema has exactly the keys that the configuration accepts.
#[test]
fn the_schema_has_every_option() {
    let schema: serde_json::Value = serde_json::from_str(&generate(&["generate-schema"])).unwrap();
    let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let answer = Project::new(&[("ag-lsp.toml", "unknown = 1"), ("a.py", "")]).run(&["check"]);
    for key in &known {
        assert!(answer.stderr.contains(&format!("`{key}`")), "{key}: {}", answer.stderr);
    }
    assert_eq!(answer.stderr.lines().last().unwrap().matches("`, `").count() + 1, known.len());
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(generate(&["generate-shell-completion", shell]).contains("ag-lsp"), "{shell}");
    }
}

#[test]
fn manual() {
    assert!(generate(&["generate-man"]).contains(".TH ag-lsp 1"));
}

#[test]
fn catalogue() {
    let catalogue = generate(&["generate-docs"]);
    assert!(catalogue.contains("# syntax-error (AG900)\n"));
}
