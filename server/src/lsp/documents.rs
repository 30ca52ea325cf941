//! What the editor has open: files, notebooks cell by cell, texts that are on no disk. An edit changes
//! text here at once; the engines are given the outcome when they are next needed.

use std::sync::Arc;

use ag_project::Engine;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashMap;
use tower_lsp::lsp_types::{Location, Range, TextDocumentContentChangeEvent, Url};

use super::position::{Encoding, Lines, size};

/// A text with an address of its own: a whole file, or a cell.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) uri: Url,
    pub(crate) version: i32,
    pub(crate) text: String,
}

/// A file that the editor has open, or a file as it is on disk.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: SystemPathBuf,
    /// One for a file; for a notebook, its cells of Python.
    pub(crate) parts: Vec<Part>,
    pub(crate) is_notebook: bool,
}

impl Source {
    /// What is analysed: the cells joined, each with a line break after it.
    pub(crate) fn text(&self) -> String {
        match self.parts.as_slice() {
            [part] if !self.is_notebook => part.text.clone(),
            parts => parts.iter().map(|part| format!("{}\n", part.text)).collect(),
        }
    }

    /// Each part with the offset at which it starts in the whole.
    fn placed(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += part.text.len() + usize::from(self.is_notebook);
            Some((start, part))
        })
    }
}

/// A part of a source with its lines: turns offsets of the whole into places of the part.
pub(crate) struct Face<'a> {
    pub(crate) part: &'a Part,
    start: usize,
    lines: Lines<'a>,
}

impl<'a> Face<'a> {
    /// All faces of a source, in its order.
    pub(crate) fn all(source: &'a Source, encoding: Encoding) -> Vec<Self> {
        let face =
            |(start, part): (usize, &'a Part)| Self { part, start, lines: Lines::new(&part.text, encoding) };
        source.placed().map(face).collect()
    }

    /// The face of the part with this address.
    pub(crate) fn of(source: &'a Source, uri: &Url, encoding: Encoding) -> Option<Self> {
        let (start, part) = source.placed().find(|(_, part)| part.uri == *uri)?;
        Some(Self { part, start, lines: Lines::new(&part.text, encoding) })
    }

    /// The part's range in the whole; its end counts as its own.
    pub(crate) fn extent(&self) -> TextRange {
        TextRange::new(size(self.start), size(self.start + self.part.text.len()))
    }

    pub(crate) fn holds(&self, offset: TextSize) -> bool {
        self.extent().contains_inclusive(offset)
    }

    pub(crate) fn range(&self, range: TextRange) -> Range {
        let back = |offset: TextSize| offset.to_usize().saturating_sub(self.start);
        Range::new(self.lines.position(back(range.start())), self.lines.position(back(range.end())))
    }

    pub(crate) fn offset(&self, position: tower_lsp::lsp_types::Position) -> TextSize {
        size(self.lines.offset(position) + self.start)
    }

    pub(crate) fn text_range(&self, range: Range) -> TextRange {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        TextRange::new(start, end.max(start))
    }
}

/// The documents of the editor. A clone is cheap: what is not edited is shared.
#[derive(Clone, Default)]
pub(crate) struct Documents {
    /// By the address of the file or the notebook.
    open: FxHashMap<Url, Arc<Source>>,
    /// Of cells: the notebook they are in.
    notebooks: FxHashMap<Url, Url>,
    by_path: FxHashMap<SystemPathBuf, Url>,
    /// Files of configuration, of which only keys are completed.
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

    /// What was open, if it was.
    pub(crate) fn close(&mut self, uri: &Url) -> Option<Arc<Source>> {
        self.configurations.remove(uri);
        let source = self.open.remove(uri)?;
        self.by_path.remove(&source.path);
        self.notebooks.retain(|_, notebook| notebook != uri);
        Some(source)
    }

    /// The source that an address is of, or is a cell of.
    pub(crate) fn get(&self, uri: &Url) -> Option<&Arc<Source>> {
        self.open.get(self.notebooks.get(uri).unwrap_or(uri))
    }

    pub(crate) fn get_mut(&mut self, uri: &Url) -> Option<&mut Source> {
        let uri = self.notebooks.get(uri).unwrap_or(uri);
        self.open.get_mut(uri).map(Arc::make_mut)
    }

    pub(crate) fn at(&self, path: &SystemPath) -> Option<&Arc<Source>> {
        self.open.get(self.address(path)?)
    }

    /// The address of an open file or notebook, as the client spells it.
    pub(crate) fn address(&self, path: &SystemPath) -> Option<&Url> {
        self.by_path.get(path)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Url, &Arc<Source>)> {
        self.open.iter()
    }

    /// Puts other cells in the place of some.
    pub(crate) fn splice(&mut self, uri: &Url, start: usize, removed: usize, cells: Vec<Part>) {
        self.notebooks.extend(cells.iter().map(|cell| (cell.uri.clone(), uri.clone())));
        let Some(source) = self.open.get_mut(uri).map(Arc::make_mut) else { return };
        let start = start.min(source.parts.len());
        let end = start.saturating_add(removed).min(source.parts.len());
        let gone: Vec<Part> = source.parts.splice(start..end, cells).collect();
        for part in gone {
            if !source.parts.iter().any(|kept| kept.uri == part.uri) {
                self.notebooks.remove(&part.uri);
            }
        }
    }
}

/// Carries out the edits of one notification, each on the outcome of the one before.
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

/// The path that stands for an address in an engine: that of a file, or a name for what is on no disk.
pub(crate) fn path_of(uri: &Url) -> Option<SystemPathBuf> {
    if uri.scheme() != "file" {
        return Some(SystemPathBuf::from(format!("/{}", uri.as_str())));
    }
    let path = uri.to_file_path().ok()?;
    SystemPathBuf::from_path_buf(path).ok()
}

/// The source of a file of the engine that no editor has open; none for what is on no disk.
pub(crate) fn closed(engine: &Engine, path: &SystemPath) -> Option<Source> {
    let uri = Url::from_file_path(path.as_std_path()).ok()?;
    let document = engine.document(path)?;
    let text = engine.text(engine.file(document));
    // The address of a cell is the editor's to give.
    if text.is_notebook() {
        return None;
    }
    let part = Part { uri, version: 0, text: text.as_str().to_owned() };
    Some(Source { path: path.to_path_buf(), parts: vec![part], is_notebook: false })
}

/// Where a range of a source is for the client.
pub(crate) fn location(source: &Source, range: TextRange, encoding: Encoding) -> Option<Location> {
    let faces = Face::all(source, encoding);
    let face = faces.iter().find(|face| face.holds(range.start()))?;
    Some(Location::new(face.part.uri.clone(), face.range(range)))
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
    fn edits_build_on_each_other() {
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
    fn an_edit_whose_end_is_before_its_start_inserts() {
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
    fn an_offset_of_a_notebook_is_in_a_cell() {
        let (uri, documents) = notebook();
        let source = documents.get(&uri).unwrap();
        let text = source.text();
        assert_eq!(text, "x = 1\ny = 2\nz = 3\n\n");
        let at = size(text.find('z').unwrap());
        let place = location(source, TextRange::empty(at), Encoding::Utf16).unwrap();
        assert_eq!(place.uri.fragment(), Some("b"));
        assert_eq!(place.range.start, Position::new(1, 0));
        let face = Face::of(source, &place.uri, Encoding::Utf16).unwrap();
        assert_eq!(face.offset(place.range.start), at);
    }

    #[test]
    fn cells_come_and_go() {
        let (uri, mut documents) = notebook();
        let last = documents.get(&uri).unwrap().parts[2].clone();
        documents.splice(&uri, 1, 9, vec![last.clone()]);
        assert_eq!(documents.get(&uri).unwrap().text(), "x = 1\n\n");
        assert!(documents.get(&last.uri).is_some());
        assert!(documents.close(&uri).is_some());
        assert!(documents.get(&last.uri).is_none() && documents.at(SystemPath::new("/n.ipynb")).is_none());
    }
}
