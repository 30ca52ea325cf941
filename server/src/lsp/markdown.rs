//! Explanations as text: Markdown for clients that show it, else the same without its marks.

use std::fmt::Write;

use ag_analysis::check::Note;
use ag_analysis::ide::hover::Paragraph;
use tower_lsp::lsp_types::{MarkupContent, MarkupKind};

use super::documents;
use super::snapshot::{Snapshot, Spot};

pub(crate) fn content(snapshot: &Snapshot, text: String) -> MarkupContent {
    match snapshot.client.markdown {
        true => MarkupContent { kind: MarkupKind::Markdown, value: text },
        false => MarkupContent { kind: MarkupKind::PlainText, value: plain(&text) },
    }
}

/// Paragraphs with a blank line between them.
pub(crate) fn text(snapshot: &Snapshot, spot: &Spot, paragraphs: &[Paragraph]) -> String {
    let paragraph = |paragraph: &Paragraph| match paragraph {
        Paragraph::Text(text) => text.clone(),
        Paragraph::Code(code) => format!("```python\n{}\n```", code.trim_end()),
        Paragraph::Why(notes) => why(snapshot, spot, notes),
    };
    paragraphs.iter().map(paragraph).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A list with a line each: "- `x` is a Tensor, line 3".
pub(crate) fn why(snapshot: &Snapshot, spot: &Spot, notes: &[Note]) -> String {
    let mut out = String::new();
    for note in notes {
        let _ = writeln!(out, "- {}{}", note.message, place(snapshot, spot, note).unwrap_or_default());
    }
    out.trim_end().to_owned()
}

fn place(snapshot: &Snapshot, spot: &Spot, note: &Note) -> Option<String> {
    let place = note.location.as_ref()?;
    let here = place.file == spot.engine.file(spot.document);
    let source = match here {
        true => std::borrow::Cow::Borrowed(&*spot.source),
        false => snapshot.source(spot.engine, place.file)?,
    };
    let location = documents::location(&source, place.range, snapshot.client.encoding)?;
    let line = location.range.start.line + 1;
    let link = format!("{}#L{line}", location.uri);
    Some(match (here, snapshot.client.markdown) {
        (true, true) => format!(", [line {line}]({link})"),
        (true, false) => format!(", line {line}"),
        (false, true) => format!(", [{}:{line}]({link})", source.path.file_name().unwrap_or_default()),
        (false, false) => format!(", {}:{line}", source.path.file_name().unwrap_or_default()),
    })
}

/// What this server writes has no other marks.
fn plain(markdown: &str) -> String {
    let lines = markdown.lines().filter(|line| !line.starts_with("```"));
    lines.map(|line| line.replace("**", "").replace('`', "")).collect::<Vec<_>>().join("\n")
}
