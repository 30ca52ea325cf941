//! `textDocument/inlayHint`: `staged` or `python` after decisions, and assumed types of parameters.

use ag_ide::hints;
use ag_ide::hints::HintKind;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, InlayHintTooltip};

use crate::lsp::locations::Locations;
use crate::lsp::markdown;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    Ok(hints(snapshot, params))
}

fn hints(snapshot: &Snapshot, params: &InlayHintParams) -> Option<Vec<InlayHint>> {
    let context = snapshot.document(&params.text_document.uri)?;
    let mapper = context.mapper()?;
    let options = snapshot.options.inlay_hints;
    let wanted = |kind| match kind {
        HintKind::Staged => options.staged,
        HintKind::Python => options.python,
        HintKind::Assumed => options.assumed,
    };
    let range = mapper.text_range(params.range).intersect(mapper.extent())?;
    let hints = hints::hints(context.engine.db(), context.document, range, &wanted);
    let locations = Locations::new(snapshot, &context);
    let hint = |hint: hints::Hint| {
        let is_type = hint.kind == HintKind::Assumed;
        let why = markdown::why(&locations, &hint.why);
        let tooltip = markdown::content(snapshot, format!("{}\n\n{why}", hint.summary));
        InlayHint {
            position: mapper.range(ruff_text_size::TextRange::empty(hint.offset)).start,
            label: InlayHintLabel::String(hint.label),
            kind: is_type.then_some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: Some(InlayHintTooltip::MarkupContent(tooltip)),
            padding_left: Some(!is_type),
            padding_right: None,
            data: None,
        }
    };
    Some(hints.into_iter().map(hint).collect())
}
