//! Converted documents: their text, their source map, and their updates after edits of the source.

use serde_json::json;

use super::*;

#[test]
fn converted_code_maps_to_its_source_and_is_updated() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let capabilities =
        json!({ "workspace": { "textDocumentContent": {} }, "textDocument": { "diagnostic": {} } });
    let mut client = workspace.start(capabilities);
    client.open(&uri, MODEL);
    let position = at(&uri, &MODEL.replace("y = x", "▮y = x"));
    let converted = client.request("ag-lsp/convertedDocument", position);
    assert_eq!((converted["function"].as_str(), converted["view"].as_str()), (Some("f"), Some("simplified")));
    let text = converted["text"].as_str().unwrap();
    assert!(text.contains("ag__.if_stmt("), "{text}");

    // A verbatim span has the same text on both sides.
    let cut = |text: &str, range: &Value| {
        let line = text.lines().nth(range["start"]["line"].as_u64().unwrap() as usize).unwrap().to_owned();
        let columns = ["start", "end"].map(|end| range[end]["character"].as_u64().unwrap() as usize);
        line[columns[0]..columns[1]].to_owned()
    };
    let copied: Vec<_> = converted["map"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|span| span["kind"] == "verbatim")
        .filter(|span| span["generated"]["start"]["line"] == span["generated"]["end"]["line"])
        .map(|span| (cut(text, &span["generated"]), cut(MODEL, &span["original"])))
        .collect();
    assert!(
        copied.len() > 3 && copied.iter().all(|(generated, original)| generated == original),
        "{copied:?}"
    );

    // "Go to definition" leads from the converted document to the source. The outline and the folding ranges belong to
    // the converted document.
    let converted_uri = converted["uri"].as_str().unwrap();
    assert!(
        converted_uri.contains("/m.py/f.simplified.py?"),
        "the URI must contain the name of the source: {converted_uri}"
    );
    let content = client.request("workspace/textDocumentContent", json!({ "uri": converted_uri }));
    assert_eq!(content["text"], text);
    let definition =
        client.request("textDocument/definition", at(converted_uri, &text.replace("x * 2", "▮x * 2")));
    let start = at(&uri, &MODEL.replace("x * 2", "▮x * 2"))["position"].clone();
    assert_eq!((&definition["uri"], &definition["range"]["start"]), (&json!(uri), &start));
    let symbols = client.request("textDocument/documentSymbol", document(converted_uri));
    assert!(symbols.as_array().is_some_and(|it| it.iter().any(|symbol| symbol["name"] == "f.if_body")));
    let folds = client.request("textDocument/foldingRange", document(converted_uri));
    assert!(folds.as_array().is_some_and(|folds| folds.len() >= 2));
    assert_eq!(client.request("textDocument/foldingRange", document(&uri)), json!(null));

    client.edit(&uri, 2, [5, 16, 5, 17], "7");
    assert_eq!(client.notification("ag-lsp/convertedDocumentChanged"), json!({ "uri": uri, "version": 2 }));
    let refresh = client.wait(|message| message["method"] == "workspace/textDocumentContent/refresh");
    assert_eq!(refresh["params"]["uri"], converted_uri);
    // Some clients percent-encode the whole query.
    let (path, query) = converted_uri.split_once('?').unwrap();
    let encoded = format!("{path}?{}", query.replace('=', "%3D").replace('&', "%26"));
    let content = client.request("workspace/textDocumentContent", json!({ "uri": encoded }));
    assert!(content["text"].as_str().is_some_and(|text| text.contains("x * 7")), "{content}");
    client.finish();
}

#[test]
fn a_converted_document_that_is_open_is_not_checked() {
    let workspace = Workspace::new(&[("m.py", MODEL)]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(json!({}));
    let whole =
        client.request("ag-lsp/convertedDocument", json!({ "textDocument": { "uri": uri }, "view": "full" }));
    let converted_uri = whole["uri"].as_str().unwrap();
    client.open(converted_uri, whole["text"].as_str().unwrap());
    client.replace(converted_uri, 2, "def g(:\n");
    client.close(converted_uri);
    client.finish();
}

#[test]
fn an_unconverted_function_has_a_reason() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, "def g(x):\n    yield x\n");
    let converted = client
        .request("ag-lsp/convertedDocument", json!({ "textDocument": { "uri": uri }, "function": "g" }));
    assert_eq!(converted["reasons"][0]["function"], "g");
    assert!(converted["reasons"][0]["message"].as_str().is_some_and(|it| it.contains("generators")));
    let unknown = json!({ "textDocument": { "uri": uri }, "function": "h" });
    assert_eq!(client.request("ag-lsp/convertedDocument", unknown), json!(null));
    client.finish();
}

/// JAX does not convert functions. The first line of the converted document is a comment about this, and the source map
/// takes this line into account.
#[test]
fn code_that_is_only_traced_is_shown_with_a_note() {
    const TRACED: &str = "import jax\n\n\n@jax.jit\ndef f(x):\n    return x * 2\n";
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(&uri, TRACED);
    let converted = client
        .request("ag-lsp/convertedDocument", json!({ "textDocument": { "uri": uri }, "function": "f" }));
    let text = converted["text"].as_str().unwrap();
    assert!(text.starts_with("# JAX traces this code and does not convert it."), "{text}");
    let definition = client.request(
        "textDocument/definition",
        at(converted["uri"].as_str().unwrap(), &text.replace("x * 2", "▮x * 2")),
    );
    let start = at(&uri, &TRACED.replace("x * 2", "▮x * 2"))["position"].clone();
    assert_eq!(definition["range"]["start"], start);
    client.finish();
}
