//! `textDocument/codeLens`: over each root, its converted code, why it is staged, and its graph; where a program starts,
//! that it can be run.

use ag_ide::{programs, symbols};
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
        let commands = commands::about(snapshot, uri, symbol, range.start);
        lenses.extend(commands.into_iter().map(|command| CodeLens {
            range,
            command: Some(command),
            data: None,
        }));
    }
    let start = programs::start(spot.engine.db(), spot.document).filter(|start| face.holds(start.start()));
    if let Some((start, command)) = start.zip(commands::run(snapshot, uri)) {
        lenses.push(CodeLens { range: face.range(start), command: Some(command), data: None });
    }
    Some(lenses)
}
