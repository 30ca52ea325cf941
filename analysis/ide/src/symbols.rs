//! The staged functions of a document, for the outline and code lenses.

use ruff_text_size::TextRange;

use super::function::FunctionAnalysis;
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
    /// Whether it is a top-level root of the runtime `autograph`, so that its graph can be drawn.
    pub has_graph: bool,
}

/// Returns the roots of a document and the functions reachable from roots, in source order.
pub fn symbols(db: &dyn Db, document: Document) -> Vec<Symbol> {
    let symbol = |function: FunctionAnalysis| Symbol {
        qualname: function.entry.path.qualname.to_string(),
        detail: words::stage(function.stage),
        range: function.entry.range,
        name_range: function.entry.name_range,
        is_root: function.stage.root.is_some(),
        is_method: function.entry.class.is_some(),
        has_graph: function.stage.root.is_some()
            && function.stage.dialect == Dialect::Autograph
            && function.entry.parent.is_none(),
    };
    FunctionAnalysis::all(db, document).map(symbol).collect()
}

/// Returns the staged function at an offset.
pub fn symbol_at(db: &dyn Db, document: Document, offset: ruff_text_size::TextSize) -> Option<Symbol> {
    let around = symbols(db, document).into_iter().filter(|symbol| symbol.range.contains_inclusive(offset));
    around.min_by_key(|symbol| symbol.range.len())
}
