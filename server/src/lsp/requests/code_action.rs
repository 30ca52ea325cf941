//! `textDocument/codeAction` and `codeAction/resolve`: repairs, suppressions, and what is offered anywhere
//! inside a staged function. Edits are made when an action is chosen, if the client can wait for them.

use std::collections::HashMap;

use ag_analysis::check::Finding;
use ag_analysis::diagnostic::{Applicability, Edit};
use ag_analysis::ide::actions::{self, ActionKind};
use ag_analysis::ide::symbols;
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
use crate::lsp::documents::Face;
use crate::lsp::places::Places;
use crate::lsp::snapshot::{Snapshot, Spot};

/// What an action without its edit must remember.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Promise {
    uri: Url,
    version: i32,
    deed: Deed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Deed {
    FixAll,
    Fix(Place),
    SuppressLine(Place),
    SuppressFile(Place),
}

/// A finding, by what it says and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    code: String,
    start: u32,
    end: u32,
}

pub(crate) fn answer(snapshot: &Snapshot, params: &CodeActionParams) -> Result<Option<CodeActionResponse>> {
    Ok(list(snapshot, params))
}

fn list(snapshot: &Snapshot, params: &CodeActionParams) -> Option<CodeActionResponse> {
    let uri = &params.text_document.uri;
    let spot = snapshot.at(uri)?;
    let face = spot.face()?;
    let range = face.text_range(params.range);
    let wants = |kind: &CodeActionKind| {
        let only = params.context.only.as_deref();
        only.is_none_or(|only| only.iter().any(|wanted| is_within(kind, wanted)))
    };
    let findings = spot.engine.findings(spot.document);
    let mut list = Vec::new();
    let promise = |deed| Promise { uri: uri.clone(), version: face.part.version, deed };
    if wants(&CodeActionKind::QUICKFIX) {
        // Neovim sends the position of the cursor, and the diagnostics of the whole line.
        let near = findings.iter().filter(|finding| {
            finding.location.range.intersect(range).is_some()
                || params.context.diagnostics.iter().any(|given| is_of(given, finding, &face))
        });
        let places = Places::new(snapshot, &spot);
        for finding in near.filter(|finding| face.holds(finding.location.range.start())) {
            let shown = diagnostics::diagnostic(&places, &face, finding);
            for action in actions::actions(finding) {
                let mut offered = new(action.title, CodeActionKind::QUICKFIX, Some(shown.clone()));
                offered.is_preferred = action.preferred.then_some(true);
                list.push((offered, promise(deed(finding, action.kind))));
            }
        }
    }
    if wants(&FIX_ALL) && !fix::choose(&findings, Applicability::Safe).0.is_empty() {
        list.push((new("Apply all safe fixes of ag-lsp".to_owned(), FIX_ALL, None), promise(Deed::FixAll)));
    }
    let mut response: CodeActionResponse = list
        .into_iter()
        .filter_map(|(mut action, promise)| {
            match snapshot.client.resolves_edits {
                true => action.data = serde_json::to_value(&promise).ok(),
                false => action.edit = Some(edit(snapshot, &spot, &promise)?),
            }
            Some(CodeActionOrCommand::CodeAction(action))
        })
        .collect();
    if wants(&commands::VIEW)
        && let Some(symbol) = symbols::symbol_at(spot.engine.db(), spot.document, range.start())
    {
        for command in commands::about(snapshot, uri, &symbol, params.range.start) {
            let mut action = new(command.title.clone(), commands::VIEW, None);
            action.command = Some(command);
            response.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    Some(response)
}

pub(crate) fn resolve(snapshot: &Snapshot, action: &CodeAction) -> Result<CodeAction> {
    let mut action = action.clone();
    let promise = action.data.take().map(serde_json::from_value::<Promise>);
    let Some(promise) = promise.transpose().map_err(|error| Error::invalid_params(error.to_string()))? else {
        return Ok(action);
    };
    let spot = snapshot.at(&promise.uri).ok_or_else(Error::content_modified)?;
    let version = spot.face().map(|face| face.part.version);
    if version != Some(promise.version) {
        return Err(Error::content_modified());
    }
    action.edit = Some(edit(snapshot, &spot, &promise).ok_or_else(Error::content_modified)?);
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

/// Whether the client's diagnostic shows this finding.
fn is_of(given: &Diagnostic, finding: &Finding, face: &Face) -> bool {
    given.source.as_deref() == Some(diagnostics::SOURCE)
        && given.code == Some(NumberOrString::String(finding.code.to_owned()))
        && given.range == face.range(finding.location.range)
}

/// `quickfix.a` is within `quickfix`.
fn is_within(kind: &CodeActionKind, wanted: &CodeActionKind) -> bool {
    let rest = kind.as_str().strip_prefix(wanted.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.as_str().is_empty())
}

fn deed(finding: &Finding, kind: ActionKind) -> Deed {
    let range = finding.location.range;
    let place =
        Place { code: finding.code.to_owned(), start: range.start().to_u32(), end: range.end().to_u32() };
    match kind {
        ActionKind::Fix => Deed::Fix(place),
        ActionKind::SuppressLine => Deed::SuppressLine(place),
        ActionKind::SuppressFile => Deed::SuppressFile(place),
    }
}

fn edit(snapshot: &Snapshot, spot: &Spot, promise: &Promise) -> Option<WorkspaceEdit> {
    let findings = spot.engine.findings(spot.document);
    let edits = match &promise.deed {
        Deed::FixAll => fix::choose(&findings, Applicability::Safe).0,
        Deed::Fix(place) => of_finding(spot, &findings, place, ActionKind::Fix)?,
        Deed::SuppressLine(place) => of_finding(spot, &findings, place, ActionKind::SuppressLine)?,
        Deed::SuppressFile(place) => of_finding(spot, &findings, place, ActionKind::SuppressFile)?,
    };
    let faces = Face::all(&spot.source, snapshot.client.encoding);
    let mut changes: HashMap<Url, Vec<TextEdit>> = HashMap::new();
    for Edit { range, text } in edits {
        let face = faces.iter().find(|face| face.extent().contains_range(range))?;
        changes.entry(face.part.uri.clone()).or_default().push(TextEdit::new(face.range(range), text));
    }
    Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}

fn of_finding(spot: &Spot, findings: &[Finding], place: &Place, kind: ActionKind) -> Option<Vec<Edit>> {
    let finding = findings.iter().find(|finding| {
        let range = finding.location.range;
        finding.code == place.code
            && range.start().to_u32() == place.start
            && range.end().to_u32() == place.end
    })?;
    Some(actions::edits(spot.engine.db(), spot.document, finding, kind))
}
