//! Explanations as text: Markdown for clients that show it, else the same without its marks.

use std::fmt::Write;

use ag_db::finding::Note;
use ag_ide::hover::Paragraph;
use tower_lsp::lsp_types::{MarkupContent, MarkupKind};

use super::places::Places;
use super::snapshot::Snapshot;

pub(crate) fn content(snapshot: &Snapshot, text: String) -> MarkupContent {
    match snapshot.client.markdown {
        true => MarkupContent { kind: MarkupKind::Markdown, value: text },
        false => MarkupContent { kind: MarkupKind::PlainText, value: plain(&text) },
    }
}

/// Paragraphs with a blank line between them.
pub(crate) fn text(places: &Places, paragraphs: &[Paragraph]) -> String {
    let paragraph = |paragraph: &Paragraph| match paragraph {
        Paragraph::Text(text) => text.clone(),
        Paragraph::Code(code) => format!("```python\n{}\n```", code.trim_end()),
        Paragraph::Why(notes) => why(places, notes),
    };
    paragraphs.iter().map(paragraph).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A list with a line each: "- `x` is a Tensor, line 3".
pub(crate) fn why(places: &Places, notes: &[Note]) -> String {
    let mut out = String::new();
    for note in notes {
        let _ = writeln!(out, "- {}{}", note.message, place(places, note).unwrap_or_default());
    }
    out.trim_end().to_owned()
}

fn place(places: &Places, note: &Note) -> Option<String> {
    let place = note.location.as_ref()?;
    let location = places.location(place)?;
    let line = location.range.start.line + 1;
    let shown = match places.is_here(place) {
        true => format!("line {line}"),
        false => format!("{}:{line}", location.uri.path().rsplit('/').next().unwrap_or_default()),
    };
    Some(match places.snapshot.client.markdown {
        true => format!(", [{shown}]({}#L{line})", location.uri),
        false => format!(", {shown}"),
    })
}

/// What this server writes has no other marks.
fn plain(markdown: &str) -> String {
    let lines = markdown.lines().filter(|line| !line.starts_with("```"));
    lines.map(|line| line.replace("**", "").replace('`', "")).collect::<Vec<_>>().join("\n")
}
