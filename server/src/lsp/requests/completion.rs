//! `textDocument/completion`: rules in suppression comments, and keys in configuration files.

use ag_ide::completion;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit,
    Documentation, Range, TextEdit,
};

use crate::lsp::configuration_keys;
use crate::lsp::markdown;
use crate::lsp::position::Lines;
use crate::lsp::snapshot::Snapshot;
use crate::manual;

pub(crate) fn answer(snapshot: &Snapshot, params: &CompletionParams) -> Result<Option<CompletionResponse>> {
    let items = rules(snapshot, params).or_else(|| keys(snapshot, params));
    Ok(items.map(CompletionResponse::Array))
}

fn rules(snapshot: &Snapshot, params: &CompletionParams) -> Option<Vec<CompletionItem>> {
    let at = &params.text_document_position;
    let context = snapshot.document(&at.text_document.uri)?;
    let mapper = context.mapper()?;
    let completion =
        completion::completion(context.engine.db(), context.document, mapper.offset(at.position))?;
    let range = mapper.range(completion.range);
    let item = |rule: &&'static ag_rules::Rule| CompletionItem {
        label: rule.code.to_owned(),
        kind: Some(CompletionItemKind::CONSTANT),
        detail: Some(rule.summary.to_owned()),
        documentation: Some(Documentation::MarkupContent(markdown::content(snapshot, manual::page(rule)))),
        // Rules are also completed by name: `undefined-br` matches AG101.
        filter_text: Some(format!("{} {}", rule.code, rule.name)),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, rule.code.to_owned()))),
        ..CompletionItem::default()
    };
    Some(completion.rules.iter().map(item).collect())
}

fn keys(snapshot: &Snapshot, params: &CompletionParams) -> Option<Vec<CompletionItem>> {
    let at = &params.text_document_position;
    let part = snapshot.documents.configuration(&at.text_document.uri)?;
    let file = at.text_document.uri.path().rsplit('/').next()?;
    let lines = Lines::new(&part.text, snapshot.client.encoding);
    let offset = lines.offset(at.position);
    let (typed, keys) = configuration_keys::keys(file, part.text.get(..offset)?)?;
    let range = Range::new(lines.position(offset - typed), lines.position(offset));
    let item = |key: configuration_keys::Key| CompletionItem {
        label: key.name.clone(),
        kind: Some(CompletionItemKind::PROPERTY),
        documentation: Some(Documentation::MarkupContent(markdown::content(snapshot, key.docs))),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, format!("{} = ", key.name)))),
        ..CompletionItem::default()
    };
    Some(keys.into_iter().map(item).collect())
}
