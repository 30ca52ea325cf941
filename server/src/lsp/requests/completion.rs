//! `textDocument/completion`: rules, where a comment suppresses them.

use ag_analysis::ide::completion;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit,
    Documentation, TextEdit,
};

use crate::lsp::markdown;
use crate::lsp::snapshot::Snapshot;
use crate::manual;

pub(crate) fn answer(snapshot: &Snapshot, params: &CompletionParams) -> Result<Option<CompletionResponse>> {
    Ok(items(snapshot, params).map(CompletionResponse::Array))
}

fn items(snapshot: &Snapshot, params: &CompletionParams) -> Option<Vec<CompletionItem>> {
    let at = &params.text_document_position;
    let spot = snapshot.at(&at.text_document.uri)?;
    let face = spot.face()?;
    let completion = completion::completion(spot.engine.db(), spot.document, face.offset(at.position))?;
    let range = face.range(completion.range);
    let item = |rule: &&'static ag_analysis::rules::Rule| CompletionItem {
        label: rule.code.to_owned(),
        kind: Some(CompletionItemKind::CONSTANT),
        detail: Some(rule.summary.to_owned()),
        documentation: Some(Documentation::MarkupContent(markdown::content(snapshot, manual::page(rule)))),
        // By name as well: `undefined-br` finds AG101.
        filter_text: Some(format!("{} {}", rule.code, rule.name)),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, rule.code.to_owned()))),
        ..CompletionItem::default()
    };
    Some(completion.rules.iter().map(item).collect())
}
