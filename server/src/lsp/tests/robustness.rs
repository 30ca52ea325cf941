//! Invalid messages, cancelled requests and disconnected clients do not break the server.

use serde_json::json;

use super::*;

const POSITION_REQUESTS: [&str; 7] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/completion",
    "textDocument/prepareCallHierarchy",
    "ag-lsp/explainStaging",
    "ag-lsp/convertedDocument",
    "textDocument/codeAction",
];

#[test]
fn invalid_json_is_an_error() {
    let workspace = Workspace::new(&[]);
    let mut client = workspace.start(pulls());
    for body in [&b"{\"jsonrpc\": "[..], b"\xff\xfe", b"[]", b"{}"] {
        client.send_raw(body);
        let answer = client.wait(|message| message.get("error").is_some());
        assert_eq!(answer["id"], json!(null), "{answer}");
    }
    client.finish();
}

#[test]
fn unknown_methods_and_invalid_parameters_are_errors() {
    let workspace = Workspace::new(&[]);
    let mut client = workspace.start(pulls());
    for (method, params, code) in [
        ("textDocument/unknown", json!({}), -32601),
        ("textDocument/hover", json!({ "textDocument": 3 }), -32602),
        ("workspace/executeCommand", json!({ "command": "rm" }), -32602),
        ("workspace/textDocumentContent", json!({ "uri": "ag-rule:/NOPE.md" }), -32602),
    ] {
        let id = client.send_request(method, params);
        assert_eq!(client.answer(id).unwrap_err()["code"], code, "{method}");
    }
    client.notify("textDocument/unknownNotification", json!({}));
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.finish();
}

#[test]
fn a_request_before_initialize_is_an_error() {
    let workspace = Workspace::new(&[]);
    let mut client = workspace.client();
    let id = client.send_request("textDocument/hover", at("file:///m.py", "▮"));
    assert_eq!(client.answer(id).unwrap_err()["code"], -32002);
    client.initialize(json!({}), &[], json!({}));
    client.finish();
}

#[test]
fn every_position_has_a_response() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, "import jax\n\n@jax.jit\ndef f(x):\n    '𝕏'\n    if x:\n        pass");
    // Inside a surrogate pair, beyond the end of a line, beyond the end of the text.
    for [line, character] in [[4, 6], [5, 999], [6, 12], [7, 0], [u32::MAX, u32::MAX]] {
        let position = json!({ "line": line, "character": character });
        for method in POSITION_REQUESTS {
            let params = json!({
                "textDocument": { "uri": uri },
                "position": position,
                "range": { "start": position, "end": position },
                "context": { "diagnostics": [], "triggerKind": 1 },
            });
            client.request(method, params);
        }
        let backwards = json!({ "start": position, "end": { "line": 0, "character": 0 } });
        client
            .request("textDocument/inlayHint", json!({ "textDocument": { "uri": uri }, "range": backwards }));
    }
    client.edit(&uri, 2, [4, 6, 4, 6], "!");
    client.edit(&uri, 3, [900, 0, 7, 3], "x");
    let converted = client.request("ag-lsp/convertedDocument", document(&uri));
    assert!(
        converted["text"].as_str().is_some_and(|text| text.contains("'!𝕏'") && text.contains("passx")),
        "{converted}"
    );
    client.skip("ag-lsp/convertedDocumentChanged");
    client.finish();
}

#[test]
fn missing_documents_have_empty_responses() {
    let workspace = Workspace::new(&[("gone.py", MODEL)]);
    let (gone, never) = (workspace.uri("gone.py"), workspace.uri("never.py"));
    let mut client = workspace.start(pulls());
    client.request("ag-lsp/status", json!({}));
    std::fs::remove_file(workspace.path().join("gone.py")).unwrap();
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": gone, "type": 3 }] }));
    for uri in [gone.as_str(), never.as_str(), "untitled:Untitled-9", "https://example.org/m.py", "x:"] {
        for method in POSITION_REQUESTS {
            let mut params = at(uri, "▮");
            params["range"] = everything();
            params["context"] = json!({ "diagnostics": [], "triggerKind": 1 });
            assert_eq!(client.request(method, params), json!(null), "{method} {uri}");
        }
        client.edit(uri, 2, [0, 0, 0, 0], "x");
        client.close(uri);
    }
    client.finish();
}

#[test]
fn a_cancelled_request_gets_exactly_one_response() {
    let names: Vec<String> = (0..200).map(|number| format!("m{number}.py")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MODEL)).collect();
    let workspace = Workspace::new(&files);
    let uri = workspace.uri("m0.py");
    let mut client = workspace.start(json!({}));
    client.open(&uri, MODEL);
    // Indexing the workspace takes longer than this exchange, so the requests are still pending.
    let pending: Vec<i64> =
        (0..40).map(|_| client.send_request("textDocument/hover", at(&uri, "\n\n\n    ▮"))).collect();
    for id in &pending {
        client.notify("$/cancelRequest", json!({ "id": id }));
    }
    for id in &pending {
        match client.answer(*id) {
            Ok(_) => {}
            Err(error) => assert_eq!(error["code"], -32800),
        }
    }
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG101"]);
    client.notify("$/cancelRequest", json!({ "id": 999 }));
    // `finish` fails if there was a second response to any of them.
    client.finish();
}

#[test]
fn the_server_exits_when_the_client_disconnects() {
    let workspace = Workspace::new(&[]);
    let (client_end, server_end) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server_end);
    let cwd = SystemPathBuf::from_path_buf(workspace.path()).unwrap();
    drop(client_end);
    let shut_down = workspace.runtime.block_on(crate::lsp::serve(input, output, cwd, Timing::always_wait()));
    assert!(!shut_down);
}

#[test]
fn deeply_nested_and_invalid_texts_have_responses() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, MODEL);
    let deep = format!("x = {}1{}\n", "(".repeat(5000), ")".repeat(5000));
    let texts = [deep.as_str(), "\0\u{feff}\r\r\n", "def f(:\n  if", "@tf.function\ndef f(x", ""];
    for (number, text) in texts.into_iter().enumerate() {
        client.replace(&uri, 2 + number as i64, text);
        for method in POSITION_REQUESTS {
            let mut params = at(&uri, "▮");
            params["range"] = everything();
            params["context"] = json!({ "diagnostics": [], "triggerKind": 1 });
            client.request(method, params);
        }
        for method in
            ["textDocument/codeLens", "textDocument/documentSymbol", "textDocument/semanticTokens/full"]
        {
            client.request(method, document(&uri));
        }
    }
    client.skip("ag-lsp/convertedDocumentChanged");
    client.finish();
}
