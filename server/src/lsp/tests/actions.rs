//! Code actions: what they change makes the finding go away.

use serde_json::json;

use super::*;

/// Two comments that suppress nothing, which a safe fix removes.
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
fn a_suppression_suppresses() {
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
fn edits_are_made_when_an_action_is_chosen() {
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
    // After an edit, the promise is void.
    client.edit(&uri, 2, [0, 0, 0, 0], "\n");
    let id = client.ask("codeAction/resolve", first);
    assert_eq!(client.answer(id).unwrap_err()["code"], -32801);
    client.finish();
}

#[test]
fn all_safe_fixes_at_once() {
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

#[test]
fn anywhere_in_a_function_its_converted_code_is_offered() {
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
