//! Projects: several folders, their configuration, and files that change on disk.

use serde_json::json;

use super::*;

#[test]
fn unchanged_diagnostics_are_not_sent_again() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, MODEL);
    let report = client.request("textDocument/diagnostic", document(&uri));
    assert_eq!((report["kind"].as_str(), report["items"].as_array().map(Vec::len)), (Some("full"), Some(1)));
    let again = json!({ "textDocument": { "uri": uri }, "previousResultId": report["resultId"] });
    let same = client.request("textDocument/diagnostic", again.clone());
    assert_eq!(same, json!({ "kind": "unchanged", "resultId": report["resultId"] }));
    client.edit(&uri, 2, [0, 0, 0, 0], "\n");
    assert_eq!(client.request("textDocument/diagnostic", again)["kind"], "full");
    client.finish();
}

#[test]
fn workspace_diagnostics_have_partial_results() {
    let names: Vec<String> = (0..40).map(|number| format!("m{number}.py")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MODEL)).collect();
    let workspace = Workspace::new(&files);
    let mut client = workspace.start_with(pulls(), json!({ "diagnosticMode": "workspace" }));
    let whole = client.request("workspace/diagnostic", json!({ "previousResultIds": [] }));
    let items = whole["items"].as_array().unwrap();
    assert_eq!(items.len(), 40);
    assert!(items.iter().all(|item| item["items"].as_array().is_some_and(|found| found.len() == 1)));

    let known: Vec<_> =
        items.iter().map(|item| json!({ "uri": item["uri"], "value": item["resultId"] })).collect();
    let params = json!({ "previousResultIds": known, "partialResultToken": "parts" });
    let rest = client.request("workspace/diagnostic", params);
    let part = client.notification("$/progress");
    assert_eq!(part["token"], "parts");
    let parts = [&part["value"]["items"], &rest["items"]].map(|items| items.as_array().unwrap().clone());
    assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 40);
    assert!(parts.iter().flatten().all(|item| item["kind"] == "unchanged"));
    client.finish();
}

#[test]
fn only_open_files_are_reported_by_default() {
    let workspace = Workspace::new(&[("m.py", MODEL)]);
    let mut client = workspace.start(pulls());
    let report = client.request("workspace/diagnostic", json!({ "previousResultIds": [] }));
    assert_eq!(report["items"], json!([]));
    client.finish();
}

#[test]
fn every_folder_has_its_own_configuration() {
    let (strict, lax) = (Workspace::new(&[]), Workspace::new(&[("ag-lsp.toml", "ignore = ['AG101']\n")]));
    let mut client = strict.client();
    client.initialize(json!({}), &[&strict.path(), &lax.path()], json!({}));
    let (first, second) = (strict.uri("m.py"), lax.uri("m.py"));
    client.open(&first, MODEL);
    assert_eq!(codes(&client.pushed(&first, Some(1))), ["AG101"]);
    client.open(&second, MODEL);
    assert!(client.pushed(&second, Some(1)).is_empty());

    // A file outside the workspace uses the configuration of its folder.
    let removed = json!({ "uri": uri(&lax.path()), "name": "lax" });
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({ "event": { "added": [], "removed": [removed] } }),
    );
    client.edit(&second, 2, [0, 0, 0, 0], "\n");
    assert!(client.pushed(&second, Some(2)).is_empty());
    client.finish();
}

#[test]
fn editor_settings_override_the_configuration_and_may_change() {
    let workspace = Workspace::new(&[("ag-lsp.toml", "select = ['AG3']\n")]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.client();
    client.settings = json!({ "select": ["AG1"] });
    client.initialize(json!({ "workspace": { "configuration": true } }), &[&workspace.path()], json!({}));
    client.open(&uri, MODEL);
    client.pushed_eventually(&uri, Some(1), &["AG101"]);
    client.settings = json!({ "select": ["AG2"] });
    client.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    client.pushed_eventually(&uri, Some(1), &[]);
    client.finish();
}

#[test]
fn invalid_settings_are_reported() {
    let workspace = Workspace::new(&[("ag-lsp.toml", "selec = ['AG3']\n")]);
    let mut client = workspace.start_with(json!({}), json!({ "diagnosticMode": 3 }));
    let message = client.notification("window/showMessage");
    assert!(message["message"].as_str().is_some_and(|it| it.contains("settings")), "{message}");
    let message = client.notification("window/showMessage");
    assert!(message["message"].as_str().is_some_and(|it| it.contains("selec")), "{message}");
    client.finish();
}

#[test]
fn changes_on_disk_are_analyzed() {
    let workspace = Workspace::new(&[("lib.py", "def double(x):\n    return x\n")]);
    let uri = workspace.uri("m.py");
    // The result of `double` decides whether the `if` is staged.
    let text = "import jax\nfrom lib import double\n\n@jax.jit\ndef f(x):\n    if double(x) > 0:\n        return x\n    return -x\n";
    let watched = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut client = workspace.start(watched);
    let registered = client.wait(|message| message["method"] == "client/registerCapability");
    assert_eq!(registered["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    client.open(&uri, text);
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG501"]);

    let change = |name: &str, kind: u32| json!({ "changes": [{ "uri": workspace.uri(name), "type": kind }] });
    workspace.write("lib.py", "def double(x) -> int:\n    return 2\n");
    client.notify("workspace/didChangeWatchedFiles", change("lib.py", 2));
    assert!(client.pushed(&uri, Some(1)).is_empty());

    std::fs::remove_file(workspace.path().join("lib.py")).unwrap();
    client.notify("workspace/didChangeWatchedFiles", change("lib.py", 3));
    workspace.write("lib.py", "def double(x):\n    return x\n");
    client.notify("workspace/didChangeWatchedFiles", change("lib.py", 1));
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG501"]);

    workspace.write("ag-lsp.toml", "ignore = ['AG5']\n");
    client.notify("workspace/didChangeWatchedFiles", change("ag-lsp.toml", 1));
    assert!(client.pushed(&uri, Some(1)).is_empty());
    client.finish();
}

#[test]
fn saving_a_new_file_keeps_the_editors_text() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("new.py");
    let mut client = workspace.start(json!({}));
    client.open(&uri, MODEL);
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG101"]);
    workspace.write("new.py", MODEL);
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri, "type": 1 }] }));
    client.edit(&uri, 2, [6, 11, 6, 12], "x");
    assert!(client.pushed(&uri, Some(2)).is_empty());
    client.finish();
}

#[test]
fn progress_is_reported_for_large_projects() {
    let names: Vec<String> = (0..80).map(|number| format!("m{number}.py")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MODEL)).collect();
    let workspace = Workspace::new(&files);
    let mut client = workspace
        .start(json!({ "window": { "workDoneProgress": true }, "textDocument": { "diagnostic": {} } }));
    let begin = client.notification("$/progress");
    assert_eq!(begin["value"]["kind"], "begin");
    client.wait(|message| message["method"] == "$/progress" && message["params"]["value"]["kind"] == "end");
    client.skip("$/progress");
    client.finish();
}

#[test]
fn status_counts_files_functions_and_roots() {
    let workspace = Workspace::new(&[("m.py", MODEL), ("n.py", "x = 1\n")]);
    let mut client = workspace.start(pulls());
    let status = client.request("ag-lsp/status", json!({}));
    let project = &status["projects"][0];
    assert_eq!((project["files"].as_u64(), project["roots"].as_u64()), (Some(2), Some(1)));
    assert!(status["markdown"].as_str().is_some_and(|page| page.contains("2 files, 1 functions, 1 roots")));
    client.finish();
}
