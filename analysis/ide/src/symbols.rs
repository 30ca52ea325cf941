//! The staged functions of a document, for the outline and code lenses.

use ruff_text_size::TextRange;

use super::function::StagedHere;
use super::words;
use ag_db::Db;
use ag_db::Document;
use ag_index::dialect::Dialect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub qualname: String,
    /// "a tf.function (tensorflow)".
    pub detail: String,
    pub range: TextRange,
    pub name_range: TextRange,
    pub is_root: bool,
    pub is_method: bool,
    /// A top-level root of the AutoGraph runtime, whose graph can be drawn.
    pub has_graph: bool,
}

/// In source order; roots and the functions reachable from them.
pub fn symbols(db: &dyn Db, document: Document) -> Vec<Symbol> {
    let symbol = |here: StagedHere| Symbol {
        qualname: here.entry.path.qualname.to_string(),
        detail: words::stage(here.stage),
        range: here.entry.range,
        name_range: here.entry.name_range,
        is_root: here.stage.root.is_some(),
        is_method: here.entry.class.is_some(),
        has_graph: here.stage.root.is_some()
            && here.stage.dialect == Dialect::Autograph
            && here.entry.parent.is_none(),
    };
    StagedHere::all(db, document).map(symbol).collect()
}

/// The staged function around an offset.
pub fn symbol_at(db: &dyn Db, document: Document, offset: ruff_text_size::TextSize) -> Option<Symbol> {
    let around = symbols(db, document).into_iter().filter(|symbol| symbol.range.contains_inclusive(offset));
    around.min_by_key(|symbol| symbol.range.len())
}
