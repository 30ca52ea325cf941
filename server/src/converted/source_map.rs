//! Source maps of version 3 (ECMA-426).

use std::collections::BTreeMap;

use ag_convert::{SourceMap, Span, SpanKind};
use oxc_sourcemap::SourceMapBuilder;
use ruff_source_file::{LineIndex, PositionEncoding};
use ruff_text_size::TextSize;

/// Columns count UTF-16 code units, as the format requires.
pub(super) fn write(file: &str, source: &str, text: &str, map: &SourceMap) -> String {
    let (from, to) = (LineIndex::from_source_text(source), LineIndex::from_source_text(text));
    let position = |lines: &LineIndex, text: &str, offset: TextSize| {
        let location = lines.source_location(offset, text, PositionEncoding::Utf16);
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (number(location.line.to_zero_indexed()), number(location.character_offset.to_zero_indexed()))
    };
    let mut builder = SourceMapBuilder::default();
    builder.set_file(file);
    let id = builder.add_source_and_content(file, source);
    // Keyed by position: of the spans that start at one position, the innermost comes last and takes precedence.
    let mut tokens = BTreeMap::new();
    for span in map.spans() {
        // A copied span of several lines gets a token at the start of each line.
        for offset in line_starts(text, span) {
            let generated = position(&to, text, span.generated.start() + offset);
            let original = position(&from, source, span.original.start() + offset);
            if span.kind != SpanKind::Synthesized || !tokens.contains_key(&generated) {
                tokens.insert(generated, original);
            }
        }
    }
    for ((line, column), (from_line, from_column)) in tokens {
        builder.add_token(line, column, from_line, from_column, Some(id), None);
    }
    builder.into_sourcemap().to_json_string()
}

/// Returns the offsets in a span at which a line starts, including the start of the span.
fn line_starts(text: &str, span: &Span) -> Vec<TextSize> {
    let mut starts = vec![TextSize::default()];
    if span.kind != SpanKind::Synthesized {
        let copied = &text[span.generated];
        let breaks = memchr::memchr_iter(b'\n', copied.as_bytes()).map(|at| at + 1);
        starts.extend(breaks.filter(|&at| at < copied.len()).filter_map(|at| TextSize::try_from(at).ok()));
    }
    starts
}
