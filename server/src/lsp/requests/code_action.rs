//! `textDocument/codeAction` and `codeAction/resolve`: fixes, suppressions, and commands on traced functions.
//! Edits are computed when an action is chosen, if the client supports that.

use std::collections::HashMap;

use ag_db::diagnostic::{Applicability, Edit};
use ag_db::finding::Finding;
use ag_ide::actions;
use ag_ide::actions::ActionKind;
use ag_ide::symbols;
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Diagnostic,
    NumberOrString, TextEdit, Url, WorkspaceEdit,
};

use crate::fix;
use crate::lsp::capabilities::FIX_ALL;
use crate::lsp::commands;
use crate::lsp::diagnostics;
use crate::lsp::documents::PartMapper;
use crate::lsp::locations::Locations;
use crate::lsp::snapshot::{DocumentContext, Snapshot};

/// The data from which the edit of an action is computed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DeferredEdit {
    uri: Url,
    version: i32,
    kind: EditKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum EditKind {
    FixAll,
    Fix(FindingKey),
    SuppressLine(FindingKey),
    SuppressFile(FindingKey),
}

/// Identifies a finding by its rule and range.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FindingKey {
    code: String,
    start: u32,
    end: u32,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &CodeActionParams) -> Result<Option<CodeActionResponse>> {
    Ok(list(snapshot, params))
}

fn list(snapshot: &Snapshot, params: &CodeActionParams) -> Option<CodeActionResponse> {
    let uri = &params.text_document.uri;
    let context = snapshot.document(uri)?;
    let mapper = context.mapper()?;
    let range = mapper.text_range(params.range);
    let is_requested = |kind: &CodeActionKind| {
        let only = params.context.only.as_deref();
        only.is_none_or(|only| only.iter().any(|wanted| is_within(kind, wanted)))
    };
    let findings = context.engine.findings(context.document);
    let mut list = Vec::new();
    let deferred = |kind| DeferredEdit { uri: uri.clone(), version: mapper.part.version, kind };
    if is_requested(&CodeActionKind::QUICKFIX) {
        // Neovim sends the position of the cursor, and the diagnostics of the whole line.
        let matching = findings.iter().filter(|finding| {
            finding.location.range.intersect(range).is_some()
                || params.context.diagnostics.iter().any(|given| is_of(given, finding, &mapper))
        });
        let locations = Locations::new(snapshot, &context);
        for finding in matching.filter(|finding| mapper.contains(finding.location.range.start())) {
            let diagnostic = diagnostics::diagnostic(&locations, &mapper, finding);
            for action in actions::actions(finding) {
                let mut code_action = new(action.title, CodeActionKind::QUICKFIX, Some(diagnostic.clone()));
                code_action.is_preferred = action.preferred.then_some(true);
                list.push((code_action, deferred(edit_kind(finding, action.kind))));
            }
        }
    }
    if is_requested(&FIX_ALL) && !fix::choose(&findings, Applicability::Safe).0.is_empty() {
        list.push((
            new("Apply all safe fixes of ag-lsp".to_owned(), FIX_ALL, None),
            deferred(EditKind::FixAll),
        ));
    }
    let mut response: CodeActionResponse = list
        .into_iter()
        .filter_map(|(mut action, deferred)| {
            match snapshot.client.resolves_edits {
                true => action.data = serde_json::to_value(&deferred).ok(),
                false => action.edit = Some(edit(snapshot, &context, &deferred)?),
            }
            Some(CodeActionOrCommand::CodeAction(action))
        })
        .collect();
    if is_requested(&commands::VIEW)
        && let Some(symbol) = symbols::symbol_at(context.engine.db(), context.document, range.start())
    {
        for command in commands::for_function(snapshot, uri, &symbol, params.range.start) {
            let mut action = new(command.title.clone(), commands::VIEW, None);
            action.command = Some(command);
            response.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    Some(response)
}

pub(crate) fn resolve(snapshot: &Snapshot, action: &CodeAction) -> Result<CodeAction> {
    let mut action = action.clone();
    let deferred = action.data.take().map(serde_json::from_value::<DeferredEdit>);
    let Some(deferred) = deferred.transpose().map_err(|error| Error::invalid_params(error.to_string()))?
    else {
        return Ok(action);
    };
    let context = snapshot.document(&deferred.uri).ok_or_else(Error::content_modified)?;
    let version = context.mapper().map(|mapper| mapper.part.version);
    if version != Some(deferred.version) {
        return Err(Error::content_modified());
    }
    action.edit = Some(edit(snapshot, &context, &deferred).ok_or_else(Error::content_modified)?);
    Ok(action)
}

fn new(title: String, kind: CodeActionKind, diagnostic: Option<Diagnostic>) -> CodeAction {
    CodeAction {
        title,
        kind: Some(kind),
        diagnostics: diagnostic.map(|diagnostic| vec![diagnostic]),
        ..CodeAction::default()
    }
}

/// Returns whether the client's diagnostic shows this finding.
fn is_of(given: &Diagnostic, finding: &Finding, mapper: &PartMapper<'_>) -> bool {
    given.source.as_deref() == Some(diagnostics::SOURCE)
        && given.code == Some(NumberOrString::String(finding.code.to_owned()))
        && given.range == mapper.range(finding.location.range)
}

/// Returns whether `kind` is `wanted` or a kind within it: `quickfix.a` is within `quickfix`.
fn is_within(kind: &CodeActionKind, wanted: &CodeActionKind) -> bool {
    let rest = kind.as_str().strip_prefix(wanted.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.as_str().is_empty())
}

fn edit_kind(finding: &Finding, kind: ActionKind) -> EditKind {
    let range = finding.location.range;
    let key = FindingKey {
        code: finding.code.to_owned(),
        start: range.start().to_u32(),
        end: range.end().to_u32(),
    };
    match kind {
        ActionKind::Fix => EditKind::Fix(key),
        ActionKind::SuppressLine => EditKind::SuppressLine(key),
        ActionKind::SuppressFile => EditKind::SuppressFile(key),
    }
}

fn edit(snapshot: &Snapshot, context: &DocumentContext, deferred: &DeferredEdit) -> Option<WorkspaceEdit> {
    let findings = context.engine.findings(context.document);
    let edits = match &deferred.kind {
        EditKind::FixAll => fix::choose(&findings, Applicability::Safe).0,
        EditKind::Fix(key) => finding_edits(context, &findings, key, ActionKind::Fix)?,
        EditKind::SuppressLine(key) => finding_edits(context, &findings, key, ActionKind::SuppressLine)?,
        EditKind::SuppressFile(key) => finding_edits(context, &findings, key, ActionKind::SuppressFile)?,
    };
    let mappers = PartMapper::all(&context.source, snapshot.client.encoding);
    let mut changes: HashMap<Url, Vec<TextEdit>> = HashMap::new();
    for Edit { range, text } in edits {
        let mapper = mappers.iter().find(|mapper| mapper.extent().contains_range(range))?;
        changes.entry(mapper.part.uri.clone()).or_default().push(TextEdit::new(mapper.range(range), text));
    }
    Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}

fn finding_edits(
    context: &DocumentContext,
    findings: &[Finding],
    key: &FindingKey,
    kind: ActionKind,
) -> Option<Vec<Edit>> {
    let finding = findings.iter().find(|finding| {
        let range = finding.location.range;
        finding.code == key.code && range.start().to_u32() == key.start && range.end().to_u32() == key.end
    })?;
    Some(actions::edits(context.engine.db(), context.document, finding, kind))
}
