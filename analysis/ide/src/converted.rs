//! Converted code. Editors show it beside the original.

use ruff_text_size::{TextLen, TextRange, TextSize};

use ag_convert::{Converter, OperatorSet, Options, SourceMap, View};
use ag_db::Db;
use ag_db::{Document, source_type, text};
use ag_index::assumptions::Stage;
use ag_index::definitions::Definitions;
use ag_index::dialect::Dialect;
use ag_index::index::{file_index, parse};
use ag_staging::results::stages_of;

/// The converted text of a document, or of one function of it.
#[derive(Clone, Debug)]
pub struct Converted {
    pub text: String,
    pub map: SourceMap,
    /// The functions that are not converted, with the reason.
    pub kept: Vec<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub qualname: String,
    /// The range of the function in the original text.
    pub range: TextRange,
    pub message: String,
}

/// Converts a document, or only `function`. Returns `None` if the document has no such function, or is nested too
/// deeply.
pub fn converted(db: &dyn Db, document: Document, function: Option<&str>, view: View) -> Option<Converted> {
    let source = text(db, document);
    let options = Options { view, operator_set: operator_set(db, document, function), ..Options::default() };
    let converter = Converter::new(source.as_str(), source_type(db, document), &options).ok()?;
    let kept = |info: ag_convert::FunctionInfo, reason: Option<ag_convert::Reason>| {
        reason.map(|reason| Kept {
            qualname: info.qualname,
            range: info.name_range,
            message: reason.to_string(),
        })
    };
    let converted = match function {
        Some(qualname) => {
            let (info, reason, text, map) = converter.function_in_place(qualname)?;
            Converted { text, map, kept: kept(info, reason).into_iter().collect() }
        }
        None => {
            let module = converter.module();
            let kept = module.functions.into_iter().filter_map(|(info, reason)| kept(info, reason)).collect();
            Converted { text: module.text, map: module.map, kept }
        }
    };
    Some(match tracer(db, document, function) {
        None => converted,
        Some(tracer) => {
            let note =
                format!("# {tracer} this code and does not convert it. AutoGraph would convert it to:\n");
            let map = converted.map.shifted(note.text_len());
            Converted { text: note + &converted.text, map, ..converted }
        }
    })
}

/// Returns a framework that traces the code without converting it, as subject and verb: `JAX traces`. The code is
/// `function`, or all staged functions of the file.
fn tracer(db: &dyn Db, document: Document, function: Option<&str>) -> Option<&'static str> {
    let stages = stages_of(db, document);
    let shown =
        || stages.iter().filter(|(path, _)| function.is_none_or(|function| path.qualname == function));
    let (_, first) = shown().next()?;
    let same = shown().all(|(_, stage)| stage.dialect == first.dialect);
    match first.dialect {
        _ if !same => None,
        Dialect::Torch => Some("PyTorch compiles"),
        Dialect::Jax => Some("JAX traces"),
        Dialect::Keras => Some("Keras 3 traces"),
        Dialect::Tensorflow | Dialect::Autograph | Dialect::Pennylane => None,
    }
}

/// Returns the operators that converted code calls. These are the operators of the runtime if it stages `function` (or
/// all staged functions of the file), and those of TensorFlow otherwise.
fn operator_set(db: &dyn Db, document: Document, function: Option<&str>) -> OperatorSet {
    let own = |stage: &Stage| stage.dialect == Dialect::Autograph;
    let stages = stages_of(db, document);
    let is_own = match function {
        Some(qualname) => stages.iter().any(|(path, stage)| path.qualname == qualname && own(stage)),
        None => !stages.is_empty() && stages.values().all(own),
    };
    if is_own { OperatorSet::AutoGraph } else { OperatorSet::TensorFlow }
}

/// Returns the qualified name of the innermost function at an offset.
pub fn function_at(db: &dyn Db, document: Document, offset: TextSize) -> Option<String> {
    let index = file_index(db, document);
    let function = index.definitions.function_at(offset)?;
    Some(index.definitions.functions.get(function)?.path.qualname.to_string())
}

/// A function or class of a text that is not a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub name: String,
    pub range: TextRange,
    pub name_range: TextRange,
    pub is_class: bool,
}

/// Returns the definitions of a converted text in source order.
pub fn outline(text: &str) -> Vec<Definition> {
    let Some(parsed) = parse(text, ruff_python_ast::PySourceType::Python) else { return Vec::new() };
    let definitions = Definitions::collect(text, parsed.suite());
    let functions = definitions.functions.into_iter().map(|entry| Definition {
        name: entry.path.qualname.to_string(),
        range: entry.range,
        name_range: entry.name_range,
        is_class: false,
    });
    let classes = definitions.classes.into_iter().map(|entry| Definition {
        name: entry.qualname.to_string(),
        range: entry.range,
        name_range: entry.name_range,
        is_class: true,
    });
    let mut outline: Vec<Definition> = functions.chain(classes).collect();
    outline.sort_by_key(|definition| definition.range.start());
    outline
}
