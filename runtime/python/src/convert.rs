//! `convert`: converts the functions of a source file.

use ag_convert::{Characters, Converter, Features, Kind, OperatorSet, Options};
use pyo3::exceptions::{PySyntaxError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use ruff_python_ast::PySourceType;
use ruff_source_file::{LineIndex, PositionEncoding};

/// Converts every function, method and lambda of a source separately. Returns dictionaries with `qualname`,
/// `kind`, `line` (of `def`, from 1), `column` (from 0), `converted`, `reason` (why it is not converted, or
/// None), `text`, `free_variables`, and `map`: (generated start, generated end, original start, original end,
/// kind), in characters.
#[pyfunction]
#[pyo3(signature = (source, features = Vec::new()))]
pub(super) fn convert<'py>(
    py: Python<'py>,
    source: &str,
    features: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let mut chosen = Features::default();
    for feature in &features {
        if !chosen.enable(feature) {
            return Err(PyValueError::new_err(format!("unknown feature {feature:?}")));
        }
    }
    let options = Options { operator_set: OperatorSet::AutoGraph, features: chosen, ..Options::default() };
    let converter = Converter::new(source, PySourceType::Python, &options)
        .map_err(|too_deep| PySyntaxError::new_err(too_deep.to_string()))?;
    let (lines, original) = (LineIndex::from_source_text(source), Characters::new(source));
    let list = PyList::empty(py);
    for function in converter.functions() {
        let start = lines.source_location(function.info.start, source, PositionEncoding::Utf32);
        let generated = Characters::new(&function.text);
        let map: Vec<(usize, usize, usize, usize, &str)> = function
            .map
            .spans()
            .iter()
            .map(|span| {
                let ([from, to], [of, end]) =
                    (generated.range(span.generated), original.range(span.original));
                (from, to, of, end, span.kind.name())
            })
            .collect();
        let entry = PyDict::new(py);
        entry.set_item("qualname", &function.info.qualname)?;
        entry.set_item("kind", kind(function.info.kind))?;
        entry.set_item("line", start.line.get())?;
        entry.set_item("column", start.character_offset.to_zero_indexed())?;
        entry.set_item("converted", function.reason.is_none())?;
        entry.set_item("reason", function.reason.map(|reason| reason.to_string()))?;
        entry.set_item("text", &function.text)?;
        entry.set_item("map", map)?;
        let free: Vec<String> = function.info.free_variables.iter().map(ToString::to_string).collect();
        entry.set_item("free_variables", free)?;
        list.append(entry)?;
    }
    Ok(list)
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "function",
        Kind::Method => "method",
        Kind::Lambda => "lambda",
    }
}
