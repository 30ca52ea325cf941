//! Notebooks: the notifications `notebookDocument/*`, with types for the fields that are used. The Python
//! cells of a notebook are joined and analyzed as one text.

use std::sync::Arc;

use serde::Deserialize;
use tower_lsp::lsp_types::{
    TextDocumentContentChangeEvent, TextDocumentItem, Url, VersionedTextDocumentIdentifier,
};

use super::documents::{self, Part, Source, path_of};
use super::owner::Owner;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DidOpen {
    notebook_document: Notebook,
    cell_text_documents: Vec<TextDocumentItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DidChange {
    notebook_document: Identifier,
    change: Change,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DidClose {
    notebook_document: Identifier,
}

#[derive(Deserialize)]
struct Notebook {
    uri: Url,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Identifier {
    uri: Url,
}

#[derive(Deserialize)]
struct Cell {
    document: Url,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    cells: Option<CellChanges>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CellChanges {
    structure: Option<Structure>,
    text_content: Vec<TextContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Structure {
    array: Splice,
    #[serde(default)]
    did_open: Vec<TextDocumentItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Splice {
    start: usize,
    delete_count: usize,
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct TextContent {
    document: VersionedTextDocumentIdentifier,
    changes: Vec<TextDocumentContentChangeEvent>,
}

/// Returns the parts of cells. A cell that is not Python gets an empty text.
fn parts(cells: &[Cell], texts: &[TextDocumentItem], known: &[Part]) -> Vec<Part> {
    let part = |cell: &Cell| {
        let opened = texts.iter().find(|text| text.uri == cell.document);
        match opened {
            Some(text) => {
                let is_python = text.language_id == "python";
                let (uri, version) = (text.uri.clone(), text.version);
                Part { uri, version, text: if is_python { text.text.clone() } else { String::new() } }
            }
            None => known.iter().find(|part| part.uri == cell.document).cloned().unwrap_or_else(|| Part {
                uri: cell.document.clone(),
                version: 0,
                text: String::new(),
            }),
        }
    };
    cells.iter().map(part).collect()
}

impl Owner {
    pub(crate) fn open_notebook(&mut self, params: DidOpen) {
        let uri = params.notebook_document.uri;
        let Some(path) = path_of(&uri) else { return };
        let parts = parts(&params.notebook_document.cells, &params.cell_text_documents, &[]);
        Arc::make_mut(&mut self.documents).open(uri.clone(), Source { path, parts, is_notebook: true });
        self.mark_edited(uri);
    }

    pub(crate) fn change_notebook(&mut self, params: DidChange) {
        let (uri, encoding) = (params.notebook_document.uri, self.client.encoding);
        let Some(cells) = params.change.cells else { return };
        let documents = Arc::make_mut(&mut self.documents);
        if let Some(Structure { array, did_open }) = cells.structure {
            let known = documents.get(&uri).map(|source| source.parts.clone()).unwrap_or_default();
            documents.splice(&uri, array.start, array.delete_count, parts(&array.cells, &did_open, &known));
        }
        for content in cells.text_content {
            let VersionedTextDocumentIdentifier { uri: cell, version } = content.document;
            let Some(source) = documents.get_mut(&uri) else { return };
            if let Some(part) = source.parts.iter_mut().find(|part| part.uri == cell) {
                documents::edit(&mut part.text, content.changes, encoding);
                part.version = version;
            }
        }
        self.mark_edited(uri);
    }

    pub(crate) fn close_notebook(&mut self, params: &DidClose) {
        self.close_source(&params.notebook_document.uri);
    }
}
