//! Features in a Python file: hover, inlay hints, lenses, symbols, tokens, call hierarchy, completion.

use serde_json::json;

use super::*;

const LOOP: &str = "\
import tensorflow as tf

def grow(v):
    return v + 1

@tf.function
def f(x, flag=False):
    if flag:
        x = grow(x)
    while tf.reduce_sum(x) < 10:
        x = grow(x)
    print(x)
    return x  # ag: ignore[undefined-branch]
";

fn started() -> (Workspace, String, Client) {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start_with(pulls(), json!({ "inlayHints": { "python": true } }));
    client.open(&uri, LOOP);
    (workspace, uri, client)
}

/// Returns the hover text at the first occurrence of `what`.
fn hover(client: &mut Client, uri: &str, what: &str) -> String {
    let marked = LOOP.replacen(what, &format!("▮{what}"), 1);
    let hover = client.request("textDocument/hover", at(uri, &marked));
    hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn hover_explains_staging() {
    let (_workspace, uri, mut client) = started();
    let on_while = hover(&mut client, &uri, "while tf");
    assert!(on_while.contains("is staged: it becomes a loop of the graph"), "{on_while}");
    assert!(on_while.contains("line 10"), "{on_while}");
    let on_if = hover(&mut client, &uri, "if flag");
    assert!(on_if.contains("is python") && on_if.contains("default False"), "{on_if}");
    let on_name = hover(&mut client, &uri, "f(x, flag");
    assert!(on_name.contains("f is a tf.function (tensorflow)"), "{on_name}");
    assert!(on_name.contains("ag__.while_stmt(loop_test"), "the simplified converted code: {on_name}");
    let on_parameter = hover(&mut client, &uri, "flag=");
    assert!(on_parameter.contains("flag: bool — python"), "{on_parameter}");
    let on_print = hover(&mut client, &uri, "print");
    assert!(on_print.contains("Runs while the graph is built"), "{on_print}");
    let on_comment = hover(&mut client, &uri, "undefined-branch");
    assert!(on_comment.contains("AG101"), "{on_comment}");
    assert_eq!(hover(&mut client, &uri, "import"), "");
    client.finish();
}

#[test]
fn hints_follow_decisions_and_parameters() {
    let (_workspace, uri, mut client) = started();
    let params = json!({ "textDocument": { "uri": uri }, "range": everything() });
    let hints = client.request("textDocument/inlayHint", params);
    let shown: Vec<String> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|hint| {
            let line = hint["position"]["line"].as_u64().unwrap() as usize;
            let column = hint["position"]["character"].as_u64().unwrap() as usize;
            let (before, after) = LOOP.lines().nth(line).unwrap().split_at(column);
            format!("{}«{}»{after}", before.trim_start(), hint["label"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "def grow(v«: Tensor»):",
            "def f(x«: Tensor», flag=False):",
            "def f(x, flag«: bool»=False):",
            "if flag«python»:",
            "while tf.reduce_sum(x) < 10«staged»:",
        ]
    );
    client.finish();
}

#[test]
fn hints_and_lenses_can_be_disabled() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let off = json!({ "inlayHints": { "staged": false, "assumed": false }, "codeLens": { "enable": false } });
    let mut client = workspace.start_with(pulls(), off);
    client.open(&uri, LOOP);
    let params = json!({ "textDocument": { "uri": uri }, "range": everything() });
    assert_eq!(client.request("textDocument/inlayHint", params), json!([]));
    assert_eq!(client.request("textDocument/codeLens", document(&uri)), json!([]));
    client.finish();
}

#[test]
fn lenses_are_above_roots() {
    let (_workspace, uri, mut client) = started();
    let lenses = client.request("textDocument/codeLens", document(&uri));
    let shown: Vec<_> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|lens| (lens["range"]["start"]["line"].as_u64(), lens["command"]["title"].as_str()))
        .collect();
    assert_eq!(shown, [(Some(6), Some("Show converted code")), (Some(6), Some("Explain staging"))]);
    assert_eq!(lenses[0]["command"]["arguments"][0]["function"], "f");
    client.finish();
}

#[test]
fn symbols_are_the_staged_functions() {
    let (_workspace, uri, mut client) = started();
    let symbols = client.request("textDocument/documentSymbol", document(&uri));
    let shown: Vec<_> =
        symbols.as_array().unwrap().iter().map(|it| (it["name"].as_str(), it["detail"].as_str())).collect();
    assert_eq!(
        shown,
        [
            (Some("grow"), Some("called from a tf.function (tensorflow)")),
            (Some("f"), Some("a tf.function (tensorflow)")),
        ]
    );
    client.finish();
}

#[test]
fn tokens_are_the_names_of_staged_values() {
    let (_workspace, uri, mut client) = started();
    let tokens = client.request("textDocument/semanticTokens/full", document(&uri));
    let data: Vec<usize> =
        tokens["data"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as usize).collect();
    let (mut line, mut column, mut shown) = (0, 0, Vec::new());
    for token in data.chunks(5) {
        column = if token[0] == 0 { column + token[1] } else { token[1] };
        line += token[0];
        shown.push((line + 1, &LOOP.lines().nth(line).unwrap()[column..column + token[2]]));
    }
    let (names, flags): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(_, name)| *name != "flag");
    assert!(flags.is_empty(), "`flag` is a Python value");
    assert!(
        names.contains(&(3, "v")) && names.contains(&(7, "f")) && names.contains(&(10, "x")),
        "{names:?}"
    );
    let range = json!({ "start": { "line": 9, "character": 0 }, "end": { "line": 10, "character": 0 } });
    let part = client.request(
        "textDocument/semanticTokens/range",
        json!({ "textDocument": { "uri": uri }, "range": range }),
    );
    assert_eq!(part["data"].as_array().map(Vec::len), Some(5), "one name on that line: {part}");
    client.finish();
}

#[test]
fn call_hierarchy_contains_staged_functions() {
    let (_workspace, uri, mut client) = started();
    let marked = LOOP.replace("def f(", "def ▮f(");
    let items = client.request("textDocument/prepareCallHierarchy", at(&uri, &marked));
    let outgoing = client.request("callHierarchy/outgoingCalls", json!({ "item": items[0] }));
    assert_eq!(outgoing.as_array().map(Vec::len), Some(1));
    assert_eq!(outgoing[0]["to"]["name"], "grow");
    assert_eq!(outgoing[0]["fromRanges"].as_array().map(Vec::len), Some(2));
    let incoming = client.request("callHierarchy/incomingCalls", json!({ "item": outgoing[0]["to"] }));
    assert_eq!(incoming[0]["from"]["name"], "f");
    client.finish();
}

#[test]
fn completion_is_limited_to_suppressions() {
    let (_workspace, uri, mut client) = started();
    let marked = LOOP.replace("undefined-branch", "undef▮ined-branch");
    let items = client.request("textDocument/completion", at(&uri, &marked));
    let found = items.as_array().unwrap().iter().find(|item| item["label"] == "AG101").unwrap();
    assert_eq!(found["textEdit"]["range"]["start"]["character"], 27);
    assert_eq!(
        client.request("textDocument/completion", at(&uri, &LOOP.replace("grow(x)", "gr▮ow(x)"))),
        json!(null)
    );
    client.finish();
}

#[test]
fn keys_of_the_configuration_are_completed() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("ag-lsp.toml");
    let mut client = workspace.start(pulls());
    let document = json!({ "uri": uri, "languageId": "toml", "version": 1, "text": "sel" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    client.edit(&uri, 2, [0, 3, 0, 3], "e");
    let items = client.request("textDocument/completion", at(&uri, "sele▮"));
    let found = items.as_array().unwrap().iter().find(|item| item["label"] == "select").unwrap();
    assert_eq!(found["textEdit"]["newText"], "select = ");
    assert_eq!(found["textEdit"]["range"]["start"]["character"], 0);
    client.close(&uri);
    client.finish();
}

#[test]
fn staging_is_explained() {
    let (_workspace, uri, mut client) = started();
    let explained = client.request("ag-lsp/explainStaging", at(&uri, &LOOP.replace("print", "pr▮int")));
    assert_eq!(explained["function"], "f");
    let page = explained["markdown"].as_str().unwrap();
    assert!(page.contains("`while tf.reduce_sum(x) < 10` — This `while` is **staged**"), "{page}");
    let command = json!({
        "command": "ag-lsp.explainStaging",
        "arguments": [{ "uri": uri, "position": { "line": 6, "character": 4 } }],
    });
    assert_eq!(client.request("workspace/executeCommand", command)["markdown"], page);
    client.finish();
}

#[test]
fn a_rule_has_a_page() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let capabilities = json!({
        "workspace": { "textDocumentContent": {} },
        "textDocument": { "publishDiagnostics": { "codeDescriptionSupport": true } },
    });
    let mut client = workspace.start(capabilities);
    client.open(&uri, MODEL);
    let page = client.pushed(&uri, Some(1))[0]["codeDescription"]["href"].clone();
    let content = client.request("workspace/textDocumentContent", json!({ "uri": page }));
    assert!(content["text"].as_str().is_some_and(|text| text.starts_with("# undefined-branch (AG101)")));
    client.finish();
}
