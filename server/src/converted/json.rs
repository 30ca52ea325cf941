//! The JSON of `ag-lsp convert`: an entry for each function, method and lambda.

use std::path::Path;

use ag_analysis::convert::{self, Kind, SourceMap, SpanKind};
use ruff_source_file::LineIndex;
use ruff_text_size::{TextRange, TextSize};
use serde::{Serialize, Serializer};

use crate::printer::Printer;

#[derive(Serialize)]
struct Function<'a> {
    file: &'a str,
    qualname: &'a str,
    kind: Kind,
    /// Of `def`, `async` or `lambda`, decorators excluded; from 1.
    line: usize,
    /// In characters, from 0 as in Python's `ast`.
    column: usize,
    converted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    text: &'a str,
    #[serde(serialize_with = "spans")]
    map: (&'a SourceMap, Characters, &'a Characters),
    free_variables: Vec<String>,
}

/// Offsets count characters: of `text`, and of the file.
#[derive(Serialize)]
struct Span {
    generated: [usize; 2],
    original: [usize; 2],
    kind: SpanKind,
}

/// An array that is written while there is more to come: of a large tree, the entries are many times
/// the source.
pub(crate) struct Array {
    printer: Printer,
    is_empty: bool,
}

impl Array {
    pub(crate) fn begin(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut printer = Printer::plain(file)?;
        printer.write("[")?;
        Ok(Self { printer, is_empty: true })
    }

    /// Adds the entries of a file.
    pub(crate) fn add(&mut self, entries: &[u8]) -> anyhow::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_empty) {
            self.printer.write(",")?;
        }
        self.printer.write_bytes(entries)
    }

    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.printer.write("]\n")
    }
}

/// The entries of a file, with commas between them.
pub(super) fn entries(
    file: &str,
    source: &str,
    lines: &LineIndex,
    functions: Vec<convert::Function>,
) -> serde_json::Result<Vec<u8>> {
    let original = Characters::new(source);
    let mut text = Vec::new();
    for function in &functions {
        if !text.is_empty() {
            text.push(b',');
        }
        serde_json::to_writer(&mut text, &Function::new(file, source, &original, lines, function))?;
    }
    Ok(text)
}

impl<'a> Function<'a> {
    fn new(
        file: &'a str,
        source: &str,
        original: &'a Characters,
        lines: &LineIndex,
        function: &'a convert::Function,
    ) -> Self {
        let convert::Function { place, reason, text, map } = function;
        let start = lines.source_location(place.start, source, ruff_source_file::PositionEncoding::Utf32);
        Self {
            file,
            qualname: &place.qualname,
            kind: place.kind,
            line: start.line.get(),
            column: start.character_offset.to_zero_indexed(),
            converted: reason.is_none(),
            reason: reason.as_ref().map(ToString::to_string),
            map: (map, Characters::new(text), original),
            free_variables: place.free_variables.iter().map(ToString::to_string).collect(),
            text,
        }
    }
}

fn spans<S: Serializer>(
    (map, generated, original): &(&SourceMap, Characters, &Characters),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.spans().iter().map(|span| Span {
        generated: generated.range(span.generated),
        original: original.range(span.original),
        kind: span.kind,
    }))
}

/// Byte offsets to character offsets.
struct Characters {
    /// The bytes that start no character.
    inner: Vec<usize>,
}

impl Characters {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self { inner: Vec::new() };
        }
        let bytes = text.bytes().enumerate();
        Self { inner: bytes.filter(|&(_, byte)| byte & 0xC0 == 0x80).map(|(offset, _)| offset).collect() }
    }

    fn range(&self, range: TextRange) -> [usize; 2] {
        [self.offset(range.start()), self.offset(range.end())]
    }

    fn offset(&self, offset: TextSize) -> usize {
        let offset = offset.to_usize();
        offset - self.inner.partition_point(|&inner| inner < offset)
    }
}
