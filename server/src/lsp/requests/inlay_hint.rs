//! `textDocument/inlayHint`: `staged` and `python` behind decisions, assumed types of parameters.

use ag_ide::hints;
use ag_ide::hints::HintKind;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, InlayHintTooltip};

use crate::lsp::markdown;
use crate::lsp::places::Places;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    Ok(hints(snapshot, params))
}

fn hints(snapshot: &Snapshot, params: &InlayHintParams) -> Option<Vec<InlayHint>> {
    let spot = snapshot.at(&params.text_document.uri)?;
    let face = spot.face()?;
    let options = snapshot.options.inlay_hints;
    let wanted = |kind| match kind {
        HintKind::Staged => options.staged,
        HintKind::Python => options.python,
        HintKind::Assumed => options.assumed,
    };
    let range = face.text_range(params.range).intersect(face.extent())?;
    let hints = hints::hints(spot.engine.db(), spot.document, range, &wanted);
    let places = Places::new(snapshot, &spot);
    let hint = |hint: hints::Hint| {
        let is_type = hint.kind == HintKind::Assumed;
        let why = markdown::why(&places, &hint.why);
        let tooltip = markdown::content(snapshot, format!("{}\n\n{why}", hint.summary));
        InlayHint {
            position: face.range(ruff_text_size::TextRange::empty(hint.offset)).start,
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
