//! Converts offsets to lines and columns.

use std::sync::Arc;

use ag_project::Engine;
use ruff_db::files::File;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_notebook::NotebookIndex;
use ruff_source_file::{LineIndex, OneIndexed};
use ruff_text_size::{TextRange, TextSize};
use serde::Serialize;

/// A file with findings.
pub(crate) struct Source {
    /// The absolute path.
    pub(crate) path: SystemPathBuf,
    /// The path for display: relative to the current directory if the file is below it.
    pub(crate) display_path: String,
    /// The text of the file: empty if it could not be read, the concatenated cells for a notebook.
    text: String,
    cells: Option<NotebookIndex>,
    lines: LineIndex,
}

/// Rows and columns count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Position {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Source {
    pub(crate) fn new(
        path: SystemPathBuf,
        cwd: &SystemPath,
        text: String,
        cells: Option<NotebookIndex>,
    ) -> Arc<Self> {
        let display_path = path.strip_prefix(cwd).unwrap_or(&path).to_string();
        let lines = LineIndex::from_source_text(&text);
        Arc::new(Self { path, display_path, text, cells, lines })
    }

    /// Returns the current text of a file in the engine.
    pub(crate) fn of_file(engine: &Engine, file: File, cwd: &SystemPath) -> Arc<Self> {
        let text = engine.text(file);
        let cells = text.as_notebook().map(|notebook| notebook.index().clone());
        Self::new(engine.path(file), cwd, text.as_str().to_owned(), cells)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the row within the whole text, and the row within the cell.
    fn rows(&self, offset: TextSize) -> (OneIndexed, OneIndexed) {
        let row = self.lines.line_index(offset);
        (row, self.cells.as_ref().and_then(|cells| cells.cell_row(row)).unwrap_or(row))
    }

    pub(crate) fn position(&self, offset: TextSize) -> Position {
        let column = self.lines.line_column(offset, self.text()).column.get();
        Position { row: self.rows(offset).1.get(), column }
    }

    /// Returns a position whose column is in bytes of UTF-8.
    pub(crate) fn byte_position(&self, offset: TextSize) -> Position {
        let (row, cell_row) = self.rows(offset);
        let column = offset - self.lines.line_start(row, self.text());
        Position { row: cell_row.get(), column: column.to_usize() + 1 }
    }

    /// Returns the cell of a notebook; cells count from 1.
    pub(crate) fn cell(&self, offset: TextSize) -> Option<usize> {
        self.cells.as_ref()?.cell(self.lines.line_index(offset)).map(OneIndexed::get)
    }

    /// Returns the lines that `range` touches, with `context` lines before and after, within one cell.
    pub(crate) fn window(&self, range: TextRange, context: usize) -> TextRange {
        let text = self.text();
        let cell = self.cell(range.start());
        let exists = |row: &OneIndexed| {
            row.get() <= self.lines.line_count() && self.cell(self.lines.line_start(*row, text)) == cell
        };
        let first = self.lines.line_index(range.start());
        let last = self.lines.line_index(range.end());
        let above = (0..=context).map(|distance| first.saturating_sub(distance)).take_while(exists).last();
        let below = (0..=context).map(|distance| last.saturating_add(distance)).take_while(exists).last();
        let start = self.lines.line_start(above.unwrap_or(first), text);
        let end = self.lines.line_end(below.unwrap_or(last), text);
        let lines = text[TextRange::new(start, end.max(start))].trim_end_matches(['\r', '\n']);
        TextRange::at(start, TextSize::of(lines))
    }
}

/// A range of a file.
#[derive(Clone)]
pub(crate) struct Location {
    pub(crate) source: Arc<Source>,
    pub(crate) range: TextRange,
}

impl Location {
    /// Clamps the range to the text: the engine may report a range of an older, longer text.
    pub(crate) fn new(source: &Arc<Source>, range: TextRange) -> Self {
        let end = TextSize::of(source.text());
        let range = TextRange::new(range.start().min(end), range.end().min(end));
        Self { source: Arc::clone(source), range }
    }

    pub(crate) fn start(&self) -> Position {
        self.source.position(self.range.start())
    }

    pub(crate) fn end(&self) -> Position {
        self.source.position(self.range.end())
    }

    pub(crate) fn cell(&self) -> Option<usize> {
        self.source.cell(self.range.start())
    }

    pub(crate) fn is_in(&self, source: &Arc<Source>) -> bool {
        Arc::ptr_eq(&self.source, source)
    }

    /// Returns the location for display: `model.py:3:7`, `notebook.ipynb:cell 2:3:7`.
    pub(crate) fn display_location(&self) -> String {
        let Position { row, column } = self.start();
        format!("{}:{row}:{column}", self.file())
    }

    /// Returns the file name, with the cell if the file is a notebook.
    pub(crate) fn file(&self) -> String {
        match self.cell() {
            Some(cell) => format!("{}:cell {cell}", self.source.display_path),
            None => self.source.display_path.clone(),
        }
    }
}
