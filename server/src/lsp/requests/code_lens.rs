//! `textDocument/codeLens`: commands above each root (show converted code, explain staging, show graph) and at the entry
//! point of a program (run).

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
    let context = snapshot.document(uri)?;
    let mapper = context.mapper()?;
    let mut lenses = Vec::new();
    let symbols = symbols::symbols(context.engine.db(), context.document);
    for symbol in symbols.iter().filter(|symbol| symbol.is_root && mapper.contains(symbol.name_range.start()))
    {
        let range = mapper.range(symbol.name_range);
        let commands = commands::for_function(snapshot, uri, symbol, range.start);
        lenses.extend(commands.into_iter().map(|command| CodeLens {
            range,
            command: Some(command),
            data: None,
        }));
    }
    let start =
        programs::start(context.engine.db(), context.document).filter(|start| mapper.contains(start.start()));
    if let Some((start, command)) = start.zip(commands::for_program(snapshot, uri)) {
        lenses.push(CodeLens { range: mapper.range(start), command: Some(command), data: None });
    }
    Some(lenses)
}
