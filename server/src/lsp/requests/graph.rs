//! Resolves the function and the inputs of `ag-lsp/graph` and `ag-lsp.showGraph`.

use std::ffi::OsString;
use std::path::PathBuf;

use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::TextDocumentIdentifier;

use super::graph_inputs;
use super::run::{SavedFile, saved_file};
use crate::lsp::commands::GraphParams;
use crate::lsp::snapshot::Snapshot;

/// The resolved request: the function to trace, and its inputs.
pub(crate) struct GraphRequest {
    pub(crate) file: SavedFile,
    pub(crate) function: String,
    pub(crate) inputs: String,
    pub(crate) python: Option<PathBuf>,
}

pub(crate) fn answer(snapshot: &Snapshot, of: &GraphParams) -> Result<GraphRequest> {
    let params = graph_inputs::Params {
        text_document: TextDocumentIdentifier::new(of.uri.clone()),
        function: Some(of.function.clone()),
        position: None,
    };
    let unknown =
        || Error::invalid_params(format!("`{}` is not a root such as an `@ag.function`", of.function));
    let proposed = graph_inputs::answer(snapshot, &params)?.ok_or_else(unknown)?;
    Ok(GraphRequest {
        file: saved_file(snapshot, &of.uri)?,
        function: proposed.function,
        inputs: of.inputs.clone().unwrap_or(proposed.inputs),
        python: of.python.clone(),
    })
}

/// Splits a line into inputs. An input starts at `name=` outside brackets and quotes.
pub(crate) fn split(line: &str) -> Vec<OsString> {
    let mut inputs: Vec<String> = Vec::new();
    let (mut depth, mut quote) = (0_usize, None);
    for (at, letter) in line.char_indices() {
        let is_outside = depth == 0 && quote.is_none();
        if is_outside && starts_input(line, at) {
            inputs.push(String::new());
        }
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            ('[' | '(' | '{', None) => depth += 1,
            (']' | ')' | '}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        match inputs.last_mut() {
            Some(input) => input.push(letter),
            None if letter.is_whitespace() => {}
            None => inputs.push(letter.to_string()),
        }
    }
    let trimmed = inputs.iter().map(|input| input.trim_end_matches([' ', '\t', ',', ';']).trim());
    trimmed.filter(|input| !input.is_empty()).map(OsString::from).collect()
}

/// Returns whether `name=` starts at this offset.
fn starts_input(line: &str, at: usize) -> bool {
    let is_name = |letter: char| letter == '_' || letter.is_alphanumeric();
    let (before, rest) = line.split_at(at);
    let starts = before.chars().next_back().is_none_or(|it| it.is_whitespace() || matches!(it, ',' | ';'));
    let after = rest.trim_start_matches(is_name);
    starts && after.len() < rest.len() && after.starts_with('=') && !after.starts_with("==")
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_line_is_split_into_inputs() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  x=f32[32,10] n=3 ", &["x=f32[32,10]", "n=3"]),
            ("x=f32[32, 10], name='a b=c'; k=(1, 2)", &["x=f32[32, 10]", "name='a b=c'", "k=(1, 2)"]),
            ("x", &["x"]),
            ("x=[1, 2 y=3", &["x=[1, 2 y=3"]),
            ("x=']' y=\"'\" z=1", &["x=']'", "y=\"'\"", "z=1"]),
            ("größe=2 ü=i64[]", &["größe=2", "ü=i64[]"]),
            ("a==b c=1", &["a==b", "c=1"]),
        ];
        for (line, inputs) in cases {
            assert_eq!(split(line), *inputs, "{line}");
        }
    }
}
