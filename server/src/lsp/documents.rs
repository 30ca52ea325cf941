//! The editor's open documents: files, notebooks with their cells, and unsaved texts. An edit is applied
//! here immediately and passed to the engine before the next analysis.

use std::sync::Arc;

use ag_project::Engine;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashMap;
use tower_lsp::lsp_types::{Location, Range, TextDocumentContentChangeEvent, Url};

use super::position::{Encoding, Lines, size};

/// A text with its own URI: a file or a notebook cell.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) uri: Url,
    pub(crate) version: i32,
    pub(crate) text: String,
}

/// An open file or notebook, or a file on disk.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: SystemPathBuf,
    /// One part for a file; one per Python cell for a notebook.
    pub(crate) parts: Vec<Part>,
    pub(crate) is_notebook: bool,
}

impl Source {
    /// Returns the analyzed text. The cells of a notebook are joined, each followed by a line break.
    pub(crate) fn text(&self) -> String {
        match self.parts.as_slice() {
            [part] if !self.is_notebook => part.text.clone(),
            parts => parts.iter().map(|part| format!("{}\n", part.text)).collect(),
        }
    }

    /// Each part with its start offset in the analyzed text.
    fn parts_with_offsets(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += part.text.len() + usize::from(self.is_notebook);
            Some((start, part))
        })
    }
}

/// Maps between offsets of a source's analyzed text and positions in one of its parts.
pub(crate) struct PartMapper<'a> {
    pub(crate) part: &'a Part,
    start: usize,
    lines: Lines<'a>,
}

impl<'a> PartMapper<'a> {
    /// Returns a mapper for each part of a source, in order.
    pub(crate) fn all(source: &'a Source, encoding: Encoding) -> Vec<Self> {
        let new =
            |(start, part): (usize, &'a Part)| Self { part, start, lines: Lines::new(&part.text, encoding) };
        source.parts_with_offsets().map(new).collect()
    }

    /// Returns the mapper of the part with this URI.
    pub(crate) fn for_uri(source: &'a Source, uri: &Url, encoding: Encoding) -> Option<Self> {
        let (start, part) = source.parts_with_offsets().find(|(_, part)| part.uri == *uri)?;
        Some(Self { part, start, lines: Lines::new(&part.text, encoding) })
    }

    /// Returns the part's range in the analyzed text. The end offset belongs to the part.
    pub(crate) fn extent(&self) -> TextRange {
        TextRange::new(size(self.start), size(self.start + self.part.text.len()))
    }

    pub(crate) fn contains(&self, offset: TextSize) -> bool {
        self.extent().contains_inclusive(offset)
    }

    pub(crate) fn range(&self, range: TextRange) -> Range {
        let local = |offset: TextSize| offset.to_usize().saturating_sub(self.start);
        Range::new(self.lines.position(local(range.start())), self.lines.position(local(range.end())))
    }

    pub(crate) fn offset(&self, position: tower_lsp::lsp_types::Position) -> TextSize {
        size(self.lines.offset(position) + self.start)
    }

    pub(crate) fn text_range(&self, range: Range) -> TextRange {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        TextRange::new(start, end.max(start))
    }
}

/// The editor's documents. Cloning is cheap: unedited documents are shared.
#[derive(Clone, Default)]
pub(crate) struct Documents {
    /// The open sources, by the URI of the file or notebook.
    open: FxHashMap<Url, Arc<Source>>,
    /// Maps a cell to its notebook.
    notebooks: FxHashMap<Url, Url>,
    by_path: FxHashMap<SystemPathBuf, Url>,
    /// Configuration files. They are open only for completion of keys.
    configurations: FxHashMap<Url, Arc<Part>>,
}

impl Documents {
    pub(crate) fn open(&mut self, uri: Url, source: Source) {
        if source.is_notebook {
            self.notebooks.extend(source.parts.iter().map(|part| (part.uri.clone(), uri.clone())));
        }
        self.by_path.insert(source.path.clone(), uri.clone());
        self.open.insert(uri, Arc::new(source));
    }

    pub(crate) fn open_configuration(&mut self, part: Part) {
        self.configurations.insert(part.uri.clone(), Arc::new(part));
    }

    pub(crate) fn configuration(&self, uri: &Url) -> Option<&Part> {
        self.configurations.get(uri).map(|part| &**part)
    }

    pub(crate) fn configuration_mut(&mut self, uri: &Url) -> Option<&mut Part> {
        self.configurations.get_mut(uri).map(Arc::make_mut)
    }

    /// Returns the closed source, if it was open.
    pub(crate) fn close(&mut self, uri: &Url) -> Option<Arc<Source>> {
        self.configurations.remove(uri);
        let source = self.open.remove(uri)?;
        self.by_path.remove(&source.path);
        self.notebooks.retain(|_, notebook| notebook != uri);
        Some(source)
    }

    /// Returns the source with this URI, or the notebook that contains the cell with this URI.
    pub(crate) fn get(&self, uri: &Url) -> Option<&Arc<Source>> {
        self.open.get(self.notebooks.get(uri).unwrap_or(uri))
    }

    pub(crate) fn get_mut(&mut self, uri: &Url) -> Option<&mut Source> {
        let uri = self.notebooks.get(uri).unwrap_or(uri);
        self.open.get_mut(uri).map(Arc::make_mut)
    }

    pub(crate) fn get_by_path(&self, path: &SystemPath) -> Option<&Arc<Source>> {
        self.open.get(self.uri_of(path)?)
    }

    /// Returns the URI of an open file or notebook, as the client spells it.
    pub(crate) fn uri_of(&self, path: &SystemPath) -> Option<&Url> {
        self.by_path.get(path)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Url, &Arc<Source>)> {
        self.open.iter()
    }

    /// Replaces `removed` cells from index `start` by `cells`.
    pub(crate) fn splice(&mut self, uri: &Url, start: usize, removed: usize, cells: Vec<Part>) {
        self.notebooks.extend(cells.iter().map(|cell| (cell.uri.clone(), uri.clone())));
        let Some(source) = self.open.get_mut(uri).map(Arc::make_mut) else { return };
        let start = start.min(source.parts.len());
        let end = start.saturating_add(removed).min(source.parts.len());
        let removed: Vec<Part> = source.parts.splice(start..end, cells).collect();
        for part in removed {
            if !source.parts.iter().any(|kept| kept.uri == part.uri) {
                self.notebooks.remove(&part.uri);
            }
        }
    }
}

/// Applies the edits of one notification in order. Each refers to the text after the previous one.
pub(crate) fn edit(text: &mut String, changes: Vec<TextDocumentContentChangeEvent>, encoding: Encoding) {
    for change in changes {
        match change.range {
            None => *text = change.text,
            Some(range) => {
                let range = Lines::new(text, encoding).text_range(range);
                text.replace_range(std::ops::Range::<usize>::from(range), &change.text);
            }
        }
    }
}

/// Returns the path under which the engine knows a URI: the file's path, or a synthetic path if there is no file.
pub(crate) fn path_of(uri: &Url) -> Option<SystemPathBuf> {
    if uri.scheme() != "file" {
        return Some(SystemPathBuf::from(format!("/{}", uri.as_str())));
    }
    let path = uri.to_file_path().ok()?;
    SystemPathBuf::from_path_buf(path).ok()
}

/// Returns the source of a file that is not open in the editor. `None` for texts that are not on disk.
pub(crate) fn unopened(engine: &Engine, path: &SystemPath) -> Option<Source> {
    let uri = Url::from_file_path(path.as_std_path()).ok()?;
    let document = engine.document(path)?;
    let text = engine.text(engine.file(document));
    // Only the editor knows the URIs of cells.
    if text.is_notebook() {
        return None;
    }
    let part = Part { uri, version: 0, text: text.as_str().to_owned() };
    Some(Source { path: path.to_path_buf(), parts: vec![part], is_notebook: false })
}

/// Converts a range of a source to a location of the protocol.
pub(crate) fn location(source: &Source, range: TextRange, encoding: Encoding) -> Option<Location> {
    let mappers = PartMapper::all(source, encoding);
    let mapper = mappers.iter().find(|mapper| mapper.contains(range.start()))?;
    Some(Location::new(mapper.part.uri.clone(), mapper.range(range)))
}

#[cfg(test)]
mod tests {
    use tower_lsp::lsp_types::Position;

    use super::*;

    fn change(range: Option<[u32; 4]>, text: &str) -> TextDocumentContentChangeEvent {
        let range = range.map(|[line, column, end_line, end]| {
            Range::new(Position::new(line, column), Position::new(end_line, end))
        });
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    #[test]
    fn edits_apply_in_order() {
        let mut text = "a = 1\nb = 2\n".to_owned();
        let changes = vec![
            change(Some([0, 4, 0, 5]), "'𝕏'"),
            change(Some([0, 5, 0, 7]), "y"),
            change(Some([9, 9, 9, 9]), "c\n"),
        ];
        edit(&mut text, changes, Encoding::Utf16);
        assert_eq!(text, "a = 'y'\nb = 2\nc\n");
        edit(&mut text, vec![change(None, "new")], Encoding::Utf16);
        assert_eq!(text, "new");
    }

    #[test]
    fn a_reversed_edit_range_inserts() {
        let mut text = "abc".to_owned();
        edit(&mut text, vec![change(Some([0, 2, 0, 1]), "-")], Encoding::Utf8);
        assert_eq!(text, "ab-c");
    }

    fn notebook() -> (Url, Documents) {
        let uri = Url::parse("file:///n.ipynb").unwrap();
        let cell = |name: &str, text: &str| Part {
            uri: Url::parse(&format!("vscode-notebook-cell:/n.ipynb#{name}")).unwrap(),
            version: 1,
            text: text.to_owned(),
        };
        let parts = vec![cell("a", "x = 1"), cell("b", "y = 2\nz = 3"), cell("c", "")];
        let mut documents = Documents::default();
        documents.open(uri.clone(), Source { path: "/n.ipynb".into(), parts, is_notebook: true });
        (uri, documents)
    }

    #[test]
    fn notebook_offsets_map_to_cells() {
        let (uri, documents) = notebook();
        let source = documents.get(&uri).unwrap();
        let text = source.text();
        assert_eq!(text, "x = 1\ny = 2\nz = 3\n\n");
        let at = size(text.find('z').unwrap());
        let found = location(source, TextRange::empty(at), Encoding::Utf16).unwrap();
        assert_eq!(found.uri.fragment(), Some("b"));
        assert_eq!(found.range.start, Position::new(1, 0));
        let mapper = PartMapper::for_uri(source, &found.uri, Encoding::Utf16).unwrap();
        assert_eq!(mapper.offset(found.range.start), at);
    }

    #[test]
    fn cells_are_inserted_and_removed() {
        let (uri, mut documents) = notebook();
        let last = documents.get(&uri).unwrap().parts[2].clone();
        documents.splice(&uri, 1, 9, vec![last.clone()]);
        assert_eq!(documents.get(&uri).unwrap().text(), "x = 1\n\n");
        assert!(documents.get(&last.uri).is_some());
        assert!(documents.close(&uri).is_some());
        assert!(
            documents.get(&last.uri).is_none()
                && documents.get_by_path(SystemPath::new("/n.ipynb")).is_none()
        );
    }
}
