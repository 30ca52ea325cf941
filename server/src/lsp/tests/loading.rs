//! Requests during the analysis are answered from the last results, and refreshed when there are new ones.

use serde_json::json;

use super::*;

const LIBRARY: &str = "def double(x):\n    return x * 2\n";

/// Only the other file shows that `double(x)` is traced: AG501.
const MODEL: &str = "\
import jax
from library import double

@jax.jit
def f(x):
    if double(x) > 0:
        return x
    return -x
";

/// Returns a client that does not wait for the analysis, and supports refresh requests.
fn client_without_waiting(workspace: &Workspace) -> Client {
    let mut client = workspace.client_with(Timing::never_wait());
    let refreshes = json!({ "refreshSupport": true });
    let capabilities = json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "diagnostics": refreshes },
    });
    client.initialize(capabilities, &[&workspace.path()], json!({}));
    client
}

/// Requests the diagnostics of a document until they are complete.
fn complete_diagnostics(client: &mut Client, uri: &str, expected: &[&str]) {
    loop {
        let report = client.request("textDocument/diagnostic", document(uri));
        let found: Vec<Value> = report["items"].as_array().cloned().unwrap_or_default();
        if codes(&found) == expected {
            return;
        }
        client.wait(|message| message["method"] == "workspace/diagnostic/refresh");
    }
}

#[test]
fn a_large_folder_is_loaded_after_its_open_files() {
    let names: Vec<String> = (0..80).map(|number| format!("m{number}.py")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MODEL)).collect();
    files.push(("library.py", LIBRARY));
    let workspace = Workspace::new(&files);
    let uri = workspace.uri("m7.py");
    let mut client = client_without_waiting(&workspace);
    client.open(&uri, MODEL);
    complete_diagnostics(&mut client, &uri, &["AG501"]);
    // The edits made while the folder was loaded are not lost.
    client.edit(&uri, 2, [5, 7, 5, 16], "True");
    complete_diagnostics(&mut client, &uri, &[]);
    // The edit must not restore the first text, because the results for that text are known already.
    client.edit(&uri, 3, [5, 7, 5, 11], "double(-x)");
    complete_diagnostics(&mut client, &uri, &["AG501"]);
    client.skip("workspace/diagnostic/refresh");
    client.finish();
}

#[test]
fn a_request_does_not_wait_for_the_analysis_of_an_edit() {
    let workspace = Workspace::new(&[("library.py", LIBRARY)]);
    let uri = workspace.uri("m.py");
    let mut client = client_without_waiting(&workspace);
    client.open(&uri, MODEL);
    for version in 2..40 {
        client.edit(&uri, version, [5, 4, 5, 4], if version % 3 == 0 { "\n" } else { " " });
        for method in ["textDocument/diagnostic", "textDocument/documentSymbol"] {
            client.request(method, document(&uri));
        }
    }
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1000, "character": 0 } });
    let change = json!({ "range": whole, "text": MODEL });
    let changed = json!({ "textDocument": { "uri": uri, "version": 99 }, "contentChanges": [change] });
    client.notify("textDocument/didChange", changed);
    complete_diagnostics(&mut client, &uri, &["AG501"]);
    client.skip("workspace/diagnostic/refresh");
    client.finish();
}
