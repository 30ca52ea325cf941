//! After random edits, the responses equal those of a fresh server that has only seen the final text.

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

/// The responses to all requests about a document.
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
            client.edit(&uri, 2 + version as i64, [from.0, from.1, to.0, to.1], piece);
            text.replace_range(start..end, piece);
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
