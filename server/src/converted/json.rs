//! The JSON of `ag-lsp convert`: one object per function, method and lambda.

use ag_convert as convert;
use ag_convert::{Characters, Kind, SpanKind};
use ruff_source_file::LineIndex;
use serde::Serialize;

/// The fields before the source map.
#[derive(Serialize)]
struct Head<'a> {
    file: &'a str,
    qualname: &'a str,
    kind: Kind,
    /// The line of `def`, `async` or `lambda`, without decorators; lines count from 1.
    line: usize,
    /// The column in characters, counted from 0 as in Python's `ast`.
    column: usize,
    converted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    text: &'a str,
}

/// Appends the object of a function to `out`.
pub(super) fn write(
    out: &mut Vec<u8>,
    file: &str,
    source: &str,
    original: &Characters<'_>,
    lines: &LineIndex,
    function: &convert::Function,
) -> serde_json::Result<()> {
    let convert::Function { info, reason, text, map } = function;
    let start = lines.source_location(info.start, source, ruff_source_file::PositionEncoding::Utf32);
    let head = Head {
        file,
        qualname: &info.qualname,
        kind: info.kind,
        line: start.line.get(),
        column: start.character_offset.to_zero_indexed(),
        converted: reason.is_none(),
        reason: reason.as_ref().map(ToString::to_string),
        text,
    };
    serde_json::to_writer(&mut *out, &head)?;
    // Remove the brace at the end of the head, because more fields follow.
    out.pop();
    out.extend_from_slice(b",\"map\":[");
    write_map(out, map, &Characters::new(text), original);
    out.extend_from_slice(b"],\"free_variables\":");
    let names: Vec<&str> = info.free_variables.iter().map(|name| name.as_str()).collect();
    serde_json::to_writer(&mut *out, &names)?;
    out.push(b'}');
    Ok(())
}

/// The spans, separated by commas. They are most of the output, and serde takes three times as long to write them.
fn write_map(
    out: &mut Vec<u8>,
    map: &convert::SourceMap,
    generated: &Characters<'_>,
    original: &Characters<'_>,
) {
    for (position, span) in map.spans().iter().enumerate() {
        let separator: &[u8] = if position == 0 { b"" } else { b"," };
        out.extend_from_slice(separator);
        write_span(out, generated.range(span.generated), original.range(span.original), span.kind);
    }
}

/// Writes a span as offsets in characters, in the function's text (`generated`) and in the file (`original`).
fn write_span(out: &mut Vec<u8>, generated: [usize; 2], original: [usize; 2], kind: SpanKind) {
    out.extend_from_slice(b"{\"generated\":[");
    write_pair(out, generated);
    out.extend_from_slice(b"],\"original\":[");
    write_pair(out, original);
    out.extend_from_slice(b"],\"kind\":\"");
    out.extend_from_slice(kind.name().as_bytes());
    out.extend_from_slice(b"\"}");
}

fn write_pair(out: &mut Vec<u8>, [start, end]: [usize; 2]) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(start).as_bytes());
    out.push(b',');
    out.extend_from_slice(digits.format(end).as_bytes());
}
