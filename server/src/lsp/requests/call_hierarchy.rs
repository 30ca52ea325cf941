//! `textDocument/prepareCallHierarchy` and `callHierarchy/*`: what is staged from a function, and from
//! where it is staged.

use std::borrow::Cow;

use ag_ide::calls;
use ag_ide::calls::{Caller, Calls};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem,
    CallHierarchyOutgoingCall, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, Range,
    SymbolKind,
};

use crate::lsp::documents::{self, Source};
use crate::lsp::snapshot::{Snapshot, Spot};

pub(crate) fn prepare(
    snapshot: &Snapshot,
    params: &CallHierarchyPrepareParams,
) -> Result<Option<Vec<CallHierarchyItem>>> {
    let at = &params.text_document_position_params;
    let item = || {
        let spot = snapshot.at(&at.text_document.uri)?;
        let function = calls::function_at(spot.engine.db(), spot.document, spot.offset(at.position)?)?;
        Some(vec![item(snapshot, &spot, &function)?])
    };
    Ok(item())
}

pub(crate) fn outgoing(
    snapshot: &Snapshot,
    params: &CallHierarchyOutgoingCallsParams,
) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
    let calls = || {
        let spot = snapshot.at(&params.item.uri)?;
        let function = asked(&spot, &params.item)?;
        let outgoing = calls::outgoing(spot.engine.db(), &function).into_iter().filter_map(|calls| {
            let from_ranges = ranges(snapshot, &spot, &function, &calls);
            Some(CallHierarchyOutgoingCall { to: item(snapshot, &spot, &calls.function)?, from_ranges })
        });
        Some(outgoing.collect())
    };
    Ok(calls())
}

pub(crate) fn incoming(
    snapshot: &Snapshot,
    params: &CallHierarchyIncomingCallsParams,
) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
    let calls = || {
        let spot = snapshot.at(&params.item.uri)?;
        let function = asked(&spot, &params.item)?;
        let incoming = calls::incoming(spot.engine.db(), &function).into_iter().filter_map(|calls| {
            let from_ranges = ranges(snapshot, &spot, &calls.function, &calls);
            Some(CallHierarchyIncomingCall { from: item(snapshot, &spot, &calls.function)?, from_ranges })
        });
        Some(incoming.collect())
    };
    Ok(calls())
}

/// The function that an item of ours is about, as the text is now.
fn asked(spot: &Spot, item: &CallHierarchyItem) -> Option<Caller> {
    let offset = spot.offset(item.selection_range.start)?;
    let function = calls::function_at(spot.engine.db(), spot.document, offset)?;
    (function.path.qualname == item.name.as_str()).then_some(function)
}

fn source<'a>(snapshot: &'a Snapshot, spot: &Spot, function: &Caller) -> Option<Cow<'a, Source>> {
    snapshot.source(spot.engine, spot.engine.file(function.document))
}

fn item(snapshot: &Snapshot, spot: &Spot, function: &Caller) -> Option<CallHierarchyItem> {
    let source = source(snapshot, spot, function)?;
    let encoding = snapshot.client.encoding;
    let name = documents::location(&source, function.name_range, encoding)?;
    let whole = documents::location(&source, function.range, encoding)?;
    Some(CallHierarchyItem {
        name: function.path.qualname.to_string(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: Some(function.detail.clone()),
        uri: name.uri,
        range: whole.range,
        selection_range: name.range,
        data: None,
    })
}

/// The places of calls, which are in the calling function's file.
fn ranges(snapshot: &Snapshot, spot: &Spot, calling: &Caller, calls: &Calls) -> Vec<Range> {
    let Some(source) = source(snapshot, spot, calling) else { return Vec::new() };
    let range = |place: &ruff_text_size::TextRange| {
        Some(documents::location(&source, *place, snapshot.client.encoding)?.range)
    };
    calls.places.iter().filter_map(range).collect()
}
