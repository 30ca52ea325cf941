//! `textDocument/prepareCallHierarchy` and `callHierarchy/*`: the calls between traced functions.

use std::borrow::Cow;

use ag_ide::calls;
use ag_ide::calls::{Calls, HierarchyItem};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem,
    CallHierarchyOutgoingCall, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, Range,
    SymbolKind,
};

use crate::lsp::documents::{self, Source};
use crate::lsp::snapshot::{DocumentContext, Snapshot};

pub(crate) fn prepare(
    snapshot: &Snapshot,
    params: &CallHierarchyPrepareParams,
) -> Result<Option<Vec<CallHierarchyItem>>> {
    let at = &params.text_document_position_params;
    let item = || {
        let context = snapshot.document(&at.text_document.uri)?;
        let function =
            calls::function_at(context.engine.db(), context.document, context.offset(at.position)?)?;
        Some(vec![item(snapshot, &context, &function)?])
    };
    Ok(item())
}

pub(crate) fn outgoing(
    snapshot: &Snapshot,
    params: &CallHierarchyOutgoingCallsParams,
) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
    let calls = || {
        let context = snapshot.document(&params.item.uri)?;
        let function = function_of(&context, &params.item)?;
        let outgoing = calls::outgoing(context.engine.db(), &function).into_iter().filter_map(|calls| {
            let from_ranges = ranges(snapshot, &context, &function, &calls);
            Some(CallHierarchyOutgoingCall { to: item(snapshot, &context, &calls.function)?, from_ranges })
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
        let context = snapshot.document(&params.item.uri)?;
        let function = function_of(&context, &params.item)?;
        let incoming = calls::incoming(context.engine.db(), &function).into_iter().filter_map(|calls| {
            let from_ranges = ranges(snapshot, &context, &calls.function, &calls);
            Some(CallHierarchyIncomingCall { from: item(snapshot, &context, &calls.function)?, from_ranges })
        });
        Some(incoming.collect())
    };
    Ok(calls())
}

/// Returns the function that an item refers to, in the current text.
fn function_of(context: &DocumentContext, item: &CallHierarchyItem) -> Option<HierarchyItem> {
    let offset = context.offset(item.selection_range.start)?;
    let function = calls::function_at(context.engine.db(), context.document, offset)?;
    (function.path.qualname == item.name.as_str()).then_some(function)
}

fn source<'a>(
    snapshot: &'a Snapshot,
    context: &DocumentContext,
    function: &HierarchyItem,
) -> Option<Cow<'a, Source>> {
    snapshot.source(context.engine, context.engine.file(function.document))
}

fn item(
    snapshot: &Snapshot,
    context: &DocumentContext,
    function: &HierarchyItem,
) -> Option<CallHierarchyItem> {
    let source = source(snapshot, context, function)?;
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

/// Returns the ranges of calls. They are in the caller's file.
fn ranges(
    snapshot: &Snapshot,
    context: &DocumentContext,
    caller: &HierarchyItem,
    calls: &Calls,
) -> Vec<Range> {
    let Some(source) = source(snapshot, context, caller) else { return Vec::new() };
    let range = |range: &ruff_text_size::TextRange| {
        Some(documents::location(&source, *range, snapshot.client.encoding)?.range)
    };
    calls.ranges.iter().filter_map(range).collect()
}
