//! Original and converted code in two columns.

use ag_convert::{SourceMap, SpanKind};
use ruff_source_file::LineIndex;
use ruff_text_size::TextSize;

/// The maximum width of the left column; longer lines are cut.
const WIDTH: usize = 76;

/// Puts each line of the source beside the first line that was generated from it.
pub(super) fn write(
    source: &str,
    lines: &LineIndex,
    text: &str,
    map: &SourceMap,
    only_function: bool,
) -> String {
    let converted: Vec<&str> = text.lines().collect();
    let converted_lines = LineIndex::from_source_text(text);
    // For each converted line, the source line of the first text that is copied into it.
    let mut origin: Vec<Option<usize>> = vec![None; converted.len()];
    for span in map.spans().iter().filter(|span| span.kind != SpanKind::Synthesized) {
        let blanks = text[span.generated].len() - text[span.generated].trim_start().len();
        let blanks = TextSize::try_from(blanks).unwrap_or_default();
        let line = converted_lines.line_index(span.generated.start() + blanks).to_zero_indexed();
        let from = lines.line_index(span.original.start() + blanks).to_zero_indexed();
        // A span of several lines has the same number of lines on both sides.
        let count = text[span.generated].trim_end_matches('\n').matches('\n').count();
        for offset in 0..=count {
            if let Some(slot) = origin.get_mut(line + offset) {
                slot.get_or_insert(from + offset);
            }
        }
    }
    let shown = origin.iter().flatten();
    let (first, last) = match only_function {
        true => (shown.clone().min().copied().unwrap_or(0), shown.max().copied().unwrap_or(0)),
        false => (0, source.lines().count().saturating_sub(1)),
    };
    let originals: Vec<&str> = source.lines().collect();
    let width = originals
        .get(first..=last.min(originals.len().saturating_sub(1)))
        .unwrap_or_default()
        .iter()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
        .min(WIDTH);
    let mut out = String::new();
    let mut row = |left: &str, right: &str| {
        let cut: String = left.chars().take(width).collect();
        let line = format!("{cut:width$} │ {right}");
        out.push_str(line.trim_end());
        out.push('\n');
    };
    let mut next = first;
    for (line, from) in converted.iter().zip(&origin) {
        match from {
            Some(from) if *from >= next && *from <= last => {
                for skipped in next..*from {
                    row(originals.get(skipped).unwrap_or(&""), "");
                }
                row(originals.get(*from).unwrap_or(&""), line);
                next = from + 1;
            }
            _ => row("", line),
        }
    }
    for rest in next..=last {
        row(originals.get(rest).unwrap_or(&""), "");
    }
    out
}
