//! Prints the heads of compound statements.

use ruff_text_size::{TextRange, TextSize};

use super::Printer;

impl Printer<'_, '_> {
    /// Copies the head of a compound statement, from `start` to its colon. `last` is the end of its last child. Between
    /// `last` and the colon there are only brackets, whitespace and comments.
    pub(super) fn header(&mut self, start: TextSize, last: TextSize, walk: impl FnOnce(&mut Self)) {
        let colon = colon(self.source.text, last);
        self.splice(TextRange::new(start, colon), walk);
        self.push(":");
        self.trailing(colon + TextSize::from(1));
        self.push("\n");
    }
}

/// Returns the first colon after `offset` that is not in a comment.
fn colon(text: &str, offset: TextSize) -> TextSize {
    let bytes = text.as_bytes();
    let mut at = offset.to_usize();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b':' => break,
            b'#' => at = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end),
            _ => at += 1,
        }
    }
    TextSize::try_from(at.min(bytes.len())).unwrap_or(offset)
}
