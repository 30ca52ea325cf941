//! Code actions: applying their edits removes the finding.

use serde_json::json;

use super::*;

/// Two unused suppressions, which a safe fix removes.
const IGNORED: &str = "x = 1  # ag: ignore[AG101]\ny = 2  # ag: ignore[AG102]\n";

fn actions(client: &mut Client, uri: &str, only: &[&str]) -> Vec<Value> {
    let context = json!({ "diagnostics": [], "only": only });
    let params = json!({ "textDocument": { "uri": uri }, "range": everything(), "context": context });
    client.request("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
}

fn titled<'a>(actions: &'a [Value], title: &str) -> &'a Value {
    actions.iter().find(|it| it["title"] == title).unwrap_or_else(|| panic!("no {title:?} in {actions:#?}"))
}

#[test]
fn suppressions_remove_the_finding() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, MODEL);
    let offered = actions(&mut client, &uri, &["quickfix"]);
    for (version, title) in [(2, "Suppress AG101 on this line"), (3, "Disable AG101 in this file")] {
        let edits = &titled(&offered, title)["edit"]["changes"][&uri];
        client.replace(&uri, version, &apply(MODEL, edits));
        let report = client.request("textDocument/diagnostic", document(&uri));
        assert_eq!(report["items"], json!([]), "{title}");
    }
    client.finish();
}

#[test]
fn edits_are_computed_on_resolve() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let lazily = json!({ "textDocument": {
        "diagnostic": {},
        "codeAction": { "dataSupport": true, "resolveSupport": { "properties": ["edit"] } },
    } });
    let mut client = workspace.start(lazily);
    client.open(&uri, IGNORED);
    let offered = actions(&mut client, &uri, &["quickfix"]);
    let first = titled(&offered, "Remove the unused suppression").clone();
    assert!(first.get("edit").is_none() && first["isPreferred"] == true);
    let resolved = client.request("codeAction/resolve", first.clone());
    assert_eq!(apply(IGNORED, &resolved["edit"]["changes"][&uri]), "x = 1\ny = 2  # ag: ignore[AG102]\n");
    // After an edit, an unresolved action is stale.
    client.edit(&uri, 2, [0, 0, 0, 0], "\n");
    let id = client.send_request("codeAction/resolve", first);
    assert_eq!(client.answer(id).unwrap_err()["code"], -32801);
    client.finish();
}

#[test]
fn fix_all_applies_all_safe_fixes() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, IGNORED);
    let offered = actions(&mut client, &uri, &["source.fixAll"]);
    assert_eq!(offered.len(), 1, "{offered:#?}");
    assert_eq!(offered[0]["kind"], "source.fixAll.ag-lsp");
    assert_eq!(apply(IGNORED, &offered[0]["edit"]["changes"][&uri]), "x = 1\ny = 2\n");
    client.finish();
}

/// Neovim sends the diagnostics of the whole line, even if the cursor is before the finding.
#[test]
fn actions_are_offered_for_the_diagnostics_of_the_request() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, IGNORED);
    let report = client.request("textDocument/diagnostic", document(&uri));
    let first = &report["items"][0];
    assert_eq!(first["range"]["start"]["line"], 0);
    let cursor = json!({ "line": 0, "character": 0 });
    let range = json!({ "start": cursor, "end": cursor });
    let mut ask = |diagnostics: Value| {
        let context = json!({ "diagnostics": diagnostics, "only": ["quickfix"] });
        let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": context });
        client.request("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
    };
    assert_eq!(ask(json!([])).len(), 0);
    let offered = ask(json!([first]));
    let fix = titled(&offered, "Remove the unused suppression");
    assert_eq!(apply(IGNORED, &fix["edit"]["changes"][&uri]), "x = 1\ny = 2  # ag: ignore[AG102]\n");
    let mut foreign = first.clone();
    foreign["source"] = json!("ruff");
    assert_eq!(ask(json!([foreign])).len(), 0);
    client.finish();
}

#[test]
fn converted_code_is_offered_anywhere_in_a_function() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, MODEL);
    let range = json!({ "start": { "line": 5, "character": 9 }, "end": { "line": 5, "character": 9 } });
    let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
    let offered = client.request("textDocument/codeAction", params);
    let action = titled(offered.as_array().unwrap(), "Show converted code");
    assert_eq!(action["command"]["command"], "ag-lsp.showConvertedCode");
    assert_eq!(action["command"]["arguments"][0]["function"], "f");
    client.finish();
}
