//! Documents: open, edit, close; every position encoding; notebooks; unsaved documents.

use serde_json::json;

use super::*;

#[test]
fn the_text_in_the_editor_is_checked() {
    let workspace = Workspace::new(&[("m.py", "")]);
    let uri = workspace.uri("m.py");
    let capabilities = json!({ "textDocument": { "publishDiagnostics": { "relatedInformation": true } } });
    let mut client = workspace.start(capabilities);
    client.open(&uri, MODEL);
    let diagnostics = client.pushed(&uri, Some(1));
    assert_eq!(codes(&diagnostics), ["AG101"]);
    let related = &diagnostics[0]["relatedInformation"];
    assert!(related.as_array().is_some_and(|related| !related.is_empty()), "{related}");

    client.edit(&uri, 2, [6, 11, 6, 12], "x");
    assert!(client.pushed(&uri, Some(2)).is_empty());
    client.edit(&uri, 3, [6, 11, 6, 12], "y");
    assert_eq!(codes(&client.pushed(&uri, Some(3))), ["AG101"]);
    client.close(&uri);
    assert!(client.pushed(&uri, None).is_empty());
    client.finish();
}

#[test]
fn a_client_without_related_information_gets_none() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("new.py");
    let mut client = workspace.start(json!({}));
    client.open(&uri, MODEL);
    assert!(client.pushed(&uri, Some(1))[0].get("relatedInformation").is_none());
    client.finish();
}

#[test]
fn edits_keep_their_order_under_load() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, "x = ''\n");
    // Each edit inserts a letter before the closing quote. Requests are interleaved.
    let letters: String = (0..10_000_u32).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
    let mut pending = Vec::new();
    for (number, letter) in letters.char_indices() {
        let column = 5 + number as u32;
        client.edit(&uri, 2 + number as i64, [0, column, 0, column], &letter.to_string());
        if number % 500 == 0 {
            pending.push(client.send_request("textDocument/diagnostic", document(&uri)));
        }
    }
    for id in pending {
        assert!(client.answer(id).is_ok());
    }
    let params = json!({ "textDocument": { "uri": uri }, "view": "simplified" });
    let converted = client.request("ag-lsp/convertedDocument", params);
    assert_eq!(converted["text"], format!("x = '{letters}'\n"));
    client.finish();
}

#[test]
fn columns_use_the_negotiated_encoding() {
    let text = "import jax\n\n@jax.jit\ndef f(x):\n    return ('𝕏é', 1 if x > 0 else 2)\n";
    for (encoding, column) in [("utf-8", 27), ("utf-16", 24), ("utf-32", 23)] {
        let workspace = Workspace::new(&[]);
        let uri = workspace.uri("m.py");
        let mut client = workspace.client();
        let capabilities =
            json!({ "general": { "positionEncodings": [encoding] }, "textDocument": { "diagnostic": {} } });
        let offered = client.initialize(capabilities, &[&workspace.path()], json!({}));
        assert_eq!(offered["positionEncoding"], encoding);
        client.open(&uri, text);
        let report = client.request("textDocument/diagnostic", document(&uri));
        let found = &report["items"][0]["range"]["start"];
        assert_eq!(*found, json!({ "line": 4, "character": column }), "{encoding}");
        client.finish();
    }
}

#[test]
fn unsaved_documents_are_checked() {
    let workspace = Workspace::new(&[]);
    let mut client = workspace.start(json!({}));
    client.open("untitled:Untitled-1", MODEL);
    assert_eq!(codes(&client.pushed("untitled:Untitled-1", Some(1))), ["AG101"]);
    client.edit("untitled:Untitled-1", 2, [6, 11, 6, 12], "x");
    assert!(client.pushed("untitled:Untitled-1", Some(2)).is_empty());
    client.close("untitled:Untitled-1");
    assert!(client.pushed("untitled:Untitled-1", None).is_empty());
    client.finish();
}

#[test]
fn a_file_outside_the_workspace_is_checked() {
    let (workspace, elsewhere) = (Workspace::new(&[]), Workspace::new(&[("lone.py", MODEL)]));
    let mut client = workspace.start(json!({}));
    let uri = elsewhere.uri("lone.py");
    client.open(&uri, MODEL);
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG101"]);
    client.close(&uri);
    assert!(client.pushed(&uri, None).is_empty());
    client.finish();
}

#[test]
fn the_cells_of_a_notebook_are_checked_as_one_program() {
    let workspace = Workspace::new(&[]);
    let notebook = workspace.uri("n.ipynb");
    let cell =
        |name: &str| format!("vscode-notebook-cell:{}#{name}", workspace.path().join("n.ipynb").display());
    let text = |name: &str, text: &str| json!({ "uri": cell(name), "languageId": "python", "version": 1, "text": text });
    let mut client = workspace.start(json!({}));
    client.notify(
        "notebookDocument/didOpen",
        json!({
            "notebookDocument": {
                "uri": notebook, "notebookType": "jupyter-notebook", "version": 1,
                "cells": [{ "kind": 2, "document": cell("a") }, { "kind": 2, "document": cell("b") }],
            },
            "cellTextDocuments": [
                text("a", "import tensorflow as tf"),
                text("b", MODEL.strip_prefix("import tensorflow as tf\n\n").unwrap()),
            ],
        }),
    );
    assert!(client.pushed(&cell("a"), Some(1)).is_empty());
    let diagnostics = client.pushed(&cell("b"), Some(1));
    assert_eq!(codes(&diagnostics), ["AG101"]);
    assert_eq!(diagnostics[0]["range"]["start"]["line"], 2, "lines are relative to the cell");

    // Without the first cell, nothing imports TensorFlow.
    client.notify(
        "notebookDocument/didChange",
        json!({
            "notebookDocument": { "uri": notebook, "version": 2 },
            "change": { "cells": { "structure": {
                "array": { "start": 0, "deleteCount": 1 },
                "didClose": [{ "uri": cell("a") }],
            } } },
        }),
    );
    assert!(client.pushed(&cell("a"), None).is_empty());
    assert!(client.pushed(&cell("b"), Some(1)).is_empty());

    // The first cell is inserted again, and the other one is edited.
    client.notify(
        "notebookDocument/didChange",
        json!({
            "notebookDocument": { "uri": notebook, "version": 3 },
            "change": { "cells": {
                "structure": {
                    "array": { "start": 0, "deleteCount": 0, "cells": [{ "kind": 2, "document": cell("a") }] },
                    "didOpen": [text("a", "import tensorflow as tf")],
                },
                "textContent": [{
                    "document": { "uri": cell("b"), "version": 2 },
                    "changes": [{ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } }, "text": "\n" }],
                }],
            } },
        }),
    );
    assert!(client.pushed(&cell("a"), Some(1)).is_empty());
    let diagnostics = client.pushed(&cell("b"), Some(2));
    assert_eq!(diagnostics[0]["range"]["start"]["line"], 3);
    client.notify(
        "notebookDocument/didClose",
        json!({ "notebookDocument": { "uri": notebook }, "cellTextDocuments": [] }),
    );
    assert!(client.pushed(&cell("a"), None).is_empty());
    assert!(client.pushed(&cell("b"), None).is_empty());
    client.finish();
}
