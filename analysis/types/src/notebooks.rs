//! Reads notebooks that violate details of the format, but that Jupyter opens.
//!
//! Some tools that edit or merge notebooks leave fields such as `outputs` in a Markdown cell. Others omit `metadata`,
//! or write a list for it. Jupyter at most warns about such notebooks, so their code is checked, too.

use ruff_notebook::{Notebook, NotebookError};
use serde_json::{Map, Value, json};

/// The fields of a notebook.
const NOTEBOOK_FIELDS: [&str; 4] = ["cells", "metadata", "nbformat", "nbformat_minor"];
/// The fields of a Markdown or raw cell.
const TEXT_CELL_FIELDS: [&str; 5] = ["attachments", "cell_type", "id", "metadata", "source"];
/// The fields of a code cell.
const CODE_CELL_FIELDS: [&str; 6] = ["cell_type", "execution_count", "id", "metadata", "outputs", "source"];

/// Reads a notebook that the strict reader rejected with `error`. Unknown fields are ignored. Fields that are missing
/// or have the wrong type are replaced by empty ones.
pub(crate) fn read_leniently(text: &str, error: NotebookError) -> Result<Notebook, NotebookError> {
    let Ok(Value::Object(mut notebook)) = serde_json::from_str(text) else { return Err(error) };
    notebook.retain(|field, _| NOTEBOOK_FIELDS.contains(&field.as_str()));
    or_empty(&mut notebook, "metadata", json!({}));
    for cell in notebook.get_mut("cells").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(cell) = cell.as_object_mut() else { return Err(error) };
        let is_code = cell.get("cell_type").is_some_and(|kind| kind == "code");
        let fields: &[&str] = if is_code { &CODE_CELL_FIELDS } else { &TEXT_CELL_FIELDS };
        cell.retain(|field, _| fields.contains(&field.as_str()));
        or_empty(cell, "metadata", json!({}));
        if is_code {
            or_empty(cell, "outputs", json!([]));
            or_empty(cell, "execution_count", Value::Null);
        }
    }
    Notebook::from_source_code(&Value::Object(notebook).to_string()).map_err(|_| error)
}

fn or_empty(fields: &mut Map<String, Value>, field: &str, empty: Value) {
    let value = fields.entry(field).or_insert_with(|| empty.clone());
    let has_right_type = match &empty {
        Value::Object(_) => value.is_object(),
        Value::Array(_) => value.is_array(),
        _ => value.is_null() || value.is_u64(),
    };
    if !has_right_type {
        *value = empty;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Notebook, NotebookError> {
        read_leniently(text, Notebook::from_source_code(text).unwrap_err())
    }

    #[test]
    fn unknown_and_missing_fields() {
        let text = json!({
            "cells": [
                { "cell_type": "markdown", "metadata": {}, "source": ["# x"], "outputs": [], "execution_count": 1 },
                { "cell_type": "code", "source": ["x = 1\n", "y = 2"], "collapsed": true },
            ],
            "nbformat": 4, "nbformat_minor": 5, "comments": [],
        });
        assert_eq!(read(&text.to_string()).unwrap().source_code(), "x = 1\ny = 2\n");
    }

    #[test]
    fn fields_of_the_wrong_type() {
        let text = json!({
            "cells": [
                { "cell_type": "markdown", "metadata": [], "source": ["# x"] },
                {
                    "cell_type": "code", "metadata": [], "source": ["x = 1"], "outputs": {},
                    "execution_count": "*",
                },
            ],
            "metadata": null, "nbformat": 4, "nbformat_minor": 5,
        });
        assert_eq!(read(&text.to_string()).unwrap().source_code(), "x = 1\n");
    }

    #[test]
    fn other_files() {
        for text in ["{\"cells\": [", "[]", "{\"cells\": [1]}", "{\"cells\": [{\"cell_type\": \"code\"}]}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
