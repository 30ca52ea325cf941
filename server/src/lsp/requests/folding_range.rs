//! `textDocument/foldingRange` in a converted document: its functions and classes.

use ag_ide::converted;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeParams};

use crate::lsp::converted::ConvertedUri;
use crate::lsp::position::Lines;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
    Ok(ranges(snapshot, params))
}

fn ranges(snapshot: &Snapshot, params: &FoldingRangeParams) -> Option<Vec<FoldingRange>> {
    let target = ConvertedUri::parse(snapshot, &params.text_document.uri)?;
    let (_, converted) = target.convert(snapshot)?;
    let lines = Lines::new(&converted.text, snapshot.client.encoding);
    let fold = |definition: converted::Definition| {
        let range = lines.range(definition.range);
        (range.start.line < range.end.line).then(|| FoldingRange {
            start_line: range.start.line,
            end_line: range.end.line,
            ..FoldingRange::default()
        })
    };
    Some(converted::outline(&converted.text).into_iter().filter_map(fold).collect())
}
