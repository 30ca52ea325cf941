//! Renders explanations as Markdown, or as plain text for clients that do not support Markdown.

use std::fmt::Write;

use ag_db::finding::Note;
use ag_ide::hover::Paragraph;
use tower_lsp::lsp_types::{MarkupContent, MarkupKind};

use super::locations::Locations;
use super::snapshot::Snapshot;

pub(crate) fn content(snapshot: &Snapshot, text: String) -> MarkupContent {
    match snapshot.client.markdown {
        true => MarkupContent { kind: MarkupKind::Markdown, value: text },
        false => MarkupContent { kind: MarkupKind::PlainText, value: plain(&text) },
    }
}

/// Paragraphs, separated by blank lines.
pub(crate) fn text(locations: &Locations, paragraphs: &[Paragraph]) -> String {
    let paragraph = |paragraph: &Paragraph| match paragraph {
        Paragraph::Text(text) => text.clone(),
        Paragraph::Code(code) => format!("```python\n{}\n```", code.trim_end()),
        Paragraph::Why(notes) => why(locations, notes),
    };
    paragraphs.iter().map(paragraph).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns a list with one line per note: "- `x` is a Tensor, line 3".
pub(crate) fn why(locations: &Locations, notes: &[Note]) -> String {
    let mut out = String::new();
    for note in notes {
        let _ = writeln!(out, "- {}{}", note.message, line_of(locations, note).unwrap_or_default());
    }
    out.trim_end().to_owned()
}

fn line_of(locations: &Locations, note: &Note) -> Option<String> {
    let note_location = note.location.as_ref()?;
    let location = locations.to_lsp(note_location)?;
    let line = location.range.start.line + 1;
    let shown = match locations.is_here(note_location) {
        true => format!("line {line}"),
        false => format!("{}:{line}", location.uri.path().rsplit('/').next().unwrap_or_default()),
    };
    Some(match locations.snapshot.client.markdown {
        true => format!(", [{shown}]({}#L{line})", location.uri),
        false => format!(", {shown}"),
    })
}

/// Removes code fences, bold and code marks, the only Markdown that the server writes.
fn plain(markdown: &str) -> String {
    let lines = markdown.lines().filter(|line| !line.starts_with("```"));
    lines.map(|line| line.replace("**", "").replace('`', "")).collect::<Vec<_>>().join("\n")
}
