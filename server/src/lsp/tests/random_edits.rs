//! After random edits, the responses equal those of a fresh server that received only the final text.

use serde_json::json;

use super::*;

/// The number of edits for each example.
const EDITS: usize = 6;
const SEED: u64 = 20_240_229;

const PIECES: [&str; 10] = [
    "x",
    " ",
    "\n",
    "    if x > 0:\n        y = x\n",
    "(",
    ")",
    "'",
    "return ",
    "é𝕏",
    "@jax.jit\ndef g(a):\n    return a\n",
];

/// Returns the responses to all requests about a document.
fn answers(client: &mut Client, uri: &str) -> Vec<Value> {
    let whole = json!({ "textDocument": { "uri": uri }, "range": everything() });
    let report = client.request("textDocument/diagnostic", document(uri));
    vec![
        report["items"].clone(),
        client.request("textDocument/inlayHint", whole),
        client.request("textDocument/codeLens", document(uri)),
        client.request("textDocument/semanticTokens/full", document(uri)),
        client.request("ag-lsp/convertedDocument", json!({ "textDocument": { "uri": uri }, "view": "full" })),
    ]
}

/// Replaces a random part of the text.
fn edit(client: &mut Client, uri: &str, version: usize, text: &mut String, random: &mut fastrand::Rng) {
    let piece = random.choice(PIECES).unwrap();
    let start = random.usize(..=text.len());
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap();
    let end = (start..=(start + random.usize(..40)).min(text.len())).rev();
    let end = end.into_iter().find(|at| text.is_char_boundary(*at)).unwrap();
    let position = |offset: usize| {
        let before = &text[..offset];
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() as u32, line.len() as u32)
    };
    let (from, to) = (position(start), position(end));
    client.edit(uri, 2 + version as i64, [from.0, from.1, to.0, to.1], piece);
    text.replace_range(start..end, piece);
}

/// During the analysis, results of the last run are combined with the new text. Every answer is a result or
/// `ContentModified`, and the final answers are complete.
#[test]
fn requests_during_the_analysis_have_answers() {
    const CONTENT_MODIFIED: i64 = -32801;
    let mut random = fastrand::Rng::with_seed(SEED);
    for example in examples() {
        let mut text = std::fs::read_to_string(&example).unwrap();
        let workspace = Workspace::new(&[]);
        let uri = workspace.uri(example.file_name().unwrap().to_str().unwrap());
        let mut client = workspace.client_with(Timing::never_wait());
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-8"] },
            "textDocument": { "diagnostic": {} },
            "workspace": { "diagnostics": { "refreshSupport": true } },
        });
        client.initialize(capabilities.clone(), &[&workspace.path()], json!({}));
        client.open(&uri, &text);
        for version in 0..4 * EDITS {
            edit(&mut client, &uri, version, &mut text, &mut random);
            let position = json!({ "line": random.u32(..60), "character": random.u32(..20) });
            let at = json!({ "textDocument": { "uri": uri }, "position": position });
            let whole = json!({ "textDocument": { "uri": uri }, "range": everything() });
            let context = json!({ "diagnostics": [] });
            let actions =
                json!({ "textDocument": { "uri": uri }, "range": everything(), "context": context });
            let asked = [
                client.send_request("textDocument/diagnostic", document(&uri)),
                client.send_request("textDocument/hover", at),
                client.send_request("textDocument/inlayHint", whole),
                client.send_request("textDocument/codeAction", actions),
                client.send_request("textDocument/codeLens", document(&uri)),
            ];
            for id in asked {
                if let Err(error) = client.answer(id) {
                    assert_eq!(error["code"], CONTENT_MODIFIED, "{error} in\n{text}");
                }
            }
        }
        let mut fresh = workspace.start(capabilities);
        fresh.open(&uri, &text);
        let expected = answers(&mut fresh, &uri);
        while answers(&mut client, &uri) != expected {
            client.wait(|message| message["method"] == "workspace/diagnostic/refresh");
        }
        fresh.finish();
        for method in ["ag-lsp/convertedDocumentChanged", "workspace/diagnostic/refresh"] {
            client.skip(method);
        }
        client.finish();
    }
}

#[test]
fn responses_depend_only_on_the_final_text() {
    let capabilities = json!({
        "general": { "positionEncodings": ["utf-8"] },
        "textDocument": { "diagnostic": {} },
    });
    let mut random = fastrand::Rng::with_seed(SEED);
    for example in examples() {
        let mut text = std::fs::read_to_string(&example).unwrap();
        let name = example.file_name().unwrap().to_str().unwrap();
        let workspace = Workspace::new(&[]);
        let uri = workspace.uri(name);
        let mut client = workspace.start(capabilities.clone());
        client.open(&uri, &text);
        for version in 0..EDITS {
            edit(&mut client, &uri, version, &mut text, &mut random);
            // A request between two edits may be cancelled by the second one.
            if version % 3 != 2 {
                continue;
            }
            let edited = answers(&mut client, &uri);
            let mut fresh = workspace.start(capabilities.clone());
            fresh.open(&uri, &text);
            let expected = answers(&mut fresh, &uri);
            for (edited, expected) in edited.iter().zip(&expected) {
                assert_eq!(edited, expected, "{name} after edit {version}, seed {SEED}:\n{text}");
            }
            fresh.finish();
        }
        client.skip("ag-lsp/convertedDocumentChanged");
        client.finish();
    }
}
