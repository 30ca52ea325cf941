//! `textDocument/codeLens`: over each root, its converted code and why it is staged.

use ag_analysis::ide::symbols;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeLens, CodeLensParams};

use crate::lsp::commands;
use crate::lsp::snapshot::Snapshot;

pub(crate) fn answer(snapshot: &Snapshot, params: &CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    Ok(lenses(snapshot, params))
}

fn lenses(snapshot: &Snapshot, params: &CodeLensParams) -> Option<Vec<CodeLens>> {
    if !snapshot.options.code_lens.enable {
        return Some(Vec::new());
    }
    let uri = &params.text_document.uri;
    let spot = snapshot.at(uri)?;
    let face = spot.face()?;
    let mut lenses = Vec::new();
    let symbols = symbols::symbols(spot.engine.db(), spot.document);
    for symbol in symbols.iter().filter(|symbol| symbol.is_root && face.holds(symbol.name_range.start())) {
        let range = face.range(symbol.name_range);
        let commands = commands::about(snapshot, uri, &symbol.qualname, range.start);
        lenses.extend(commands.into_iter().map(|command| CodeLens {
            range,
            command: Some(command),
            data: None,
        }));
    }
    Some(lenses)
}
