//! The staged functions of a document with their decisions, for `ag-lsp stages`, hints and hover.

use ag_db::finding::Note;
use ag_db::{Db, Document};
use ag_index::assumptions::{Source, Stage};
use ag_index::facts::Binding;
use ag_index::index::{FunctionId, file_index};
use ag_index::locate::notes;
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;

use crate::construct::ConstructKind;
use ag_index::definitions::FunctionEntry;

use crate::queries::constructs;
use crate::results::stages_of;

/// A function and its decisions, for `ag-lsp stages`, hints and hover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFunction {
    pub qualname: Name,
    /// The name after `def`.
    pub name_range: TextRange,
    pub stage: Stage,
    pub parameters: Vec<StagedParameter>,
    pub constructs: Vec<StagedConstruct>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedParameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    pub why: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConstruct {
    pub kind: ConstructKind,
    pub range: TextRange,
    /// The condition or iterable.
    pub test_range: TextRange,
    pub binding: Binding,
    pub why: Vec<Note>,
}

/// Returns the staged functions of a document in source order.
pub fn stages(db: &dyn Db, document: Document) -> Vec<StagedFunction> {
    let index = file_index(db, document);
    let stages = stages_of(db, document);
    let staged = |entry: &FunctionEntry| {
        let stage = stages.get(&entry.path)?;
        let function = FunctionId::new(db, document, entry.path.clone());
        let base = entry.range.start();
        Some(StagedFunction {
            qualname: entry.path.qualname.clone(),
            name_range: entry.name_range,
            stage: stage.clone(),
            parameters: stage
                .parameters
                .iter()
                .map(|parameter| StagedParameter {
                    name: parameter.name.clone(),
                    source: parameter.source,
                    binding: parameter.binding,
                    why: notes(db, &parameter.why),
                })
                .collect(),
            constructs: constructs(db, function)
                .iter()
                .map(|construct| StagedConstruct {
                    kind: construct.kind,
                    range: construct.range + base,
                    test_range: construct.test_range + base,
                    binding: construct.binding,
                    why: notes(db, &construct.why),
                })
                .collect(),
        })
    };
    index.definitions.functions.iter().filter_map(staged).collect()
}
