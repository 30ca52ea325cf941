//! The JSON of `ag-lsp convert`: one object per function, method and lambda.

use ag_convert as convert;
use ag_convert::{Characters, Kind, SpanKind};
use ruff_source_file::LineIndex;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Function {
    file: String,
    qualname: String,
    kind: Kind,
    /// The line of `def`, `async` or `lambda`, without decorators; lines count from 1.
    line: usize,
    /// In characters; columns count from 0, as in Python's `ast`.
    column: usize,
    converted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    text: String,
    map: Vec<Span>,
    free_variables: Vec<String>,
}

/// Offsets in characters, in `text` (`generated`) and in the file (`original`).
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
        let convert::Function { info, reason, text, map } = function;
        let start = lines.source_location(info.start, source, ruff_source_file::PositionEncoding::Utf32);
        let generated = Characters::new(&text);
        let spans = map.spans().iter().map(|span| Span {
            generated: generated.range(span.generated),
            original: original.range(span.original),
            kind: span.kind,
        });
        Self {
            file: file.to_owned(),
            qualname: info.qualname,
            kind: info.kind,
            line: start.line.get(),
            column: start.character_offset.to_zero_indexed(),
            converted: reason.is_none(),
            reason: reason.map(|reason| reason.to_string()),
            map: spans.collect(),
            free_variables: info.free_variables.iter().map(ToString::to_string).collect(),
            text,
        }
    }
}
