//! The JSON of `ag-lsp convert`: an entry for each function, method and lambda.

use ag_analysis::convert::{self, Kind, SpanKind};
use ruff_source_file::LineIndex;
use ruff_text_size::{TextRange, TextSize};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Function {
    file: String,
    qualname: String,
    kind: Kind,
    /// Of `def`, `async` or `lambda`, decorators excluded; from 1.
    line: usize,
    /// In characters, from 0 as in Python's `ast`.
    column: usize,
    converted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    text: String,
    map: Vec<Span>,
    free_variables: Vec<String>,
}

/// Offsets count characters: of `text`, and of the file.
#[derive(Serialize)]
struct Span {
    generated: [usize; 2],
    original: [usize; 2],
    kind: SpanKind,
}

impl Function {
    pub(super) fn new(
        file: &str,
        source: &str,
        original: &Characters<'_>,
        lines: &LineIndex,
        function: convert::Function,
    ) -> Self {
        let convert::Function { place, reason, text, map } = function;
        let start = lines.source_location(place.start, source, ruff_source_file::PositionEncoding::Utf32);
        let generated = Characters::new(&text);
        let spans = map.spans().iter().map(|span| Span {
            generated: generated.range(span.generated),
            original: original.range(span.original),
            kind: span.kind,
        });
        Self {
            file: file.to_owned(),
            qualname: place.qualname,
            kind: place.kind,
            line: start.line.get(),
            column: start.character_offset.to_zero_indexed(),
            converted: reason.is_none(),
            reason: reason.map(|reason| reason.to_string()),
            map: spans.collect(),
            free_variables: place.free_variables.iter().map(ToString::to_string).collect(),
            text,
        }
    }
}

/// Byte offsets to character offsets.
pub(super) struct Characters<'a> {
    text: &'a str,
    /// The characters before each [`STRIDE`] of bytes; empty where bytes are characters.
    before: Vec<usize>,
}

const STRIDE: usize = 256;

impl<'a> Characters<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut before = Vec::new();
        if !text.is_ascii() {
            let mut count = 0;
            for stride in text.as_bytes().chunks(STRIDE) {
                before.push(count);
                count += starts(stride);
            }
        }
        Self { text, before }
    }

    fn range(&self, range: TextRange) -> [usize; 2] {
        [self.offset(range.start()), self.offset(range.end())]
    }

    fn offset(&self, offset: TextSize) -> usize {
        let offset = offset.to_usize();
        let Some(before) = self.before.get(offset / STRIDE).or(self.before.last()) else { return offset };
        let stride = (offset / STRIDE).min(self.before.len() - 1) * STRIDE;
        before + starts(self.text.as_bytes().get(stride..offset).unwrap_or_default())
    }
}

/// How many characters start in a piece of UTF-8.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}
