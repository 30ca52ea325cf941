//! Prints comments and blank lines. They belong to the statement that is below them or to the left of them.

use ruff_text_size::{TextRange, TextSize};

use super::Printer;

impl Printer<'_, '_> {
    /// Prints the comments and blank lines above a statement, once.
    pub(super) fn leading(&mut self, statement: TextSize) {
        if statement == TextSize::default() || !self.commented.insert(statement) {
            return;
        }
        let text = self.source.text;
        let line = line_start(text, statement);
        if !text[TextRange::new(line, statement)].trim().is_empty() {
            return;
        }
        let mut start = line;
        while let Some(end) = start.checked_sub(TextSize::from(1)) {
            let above = line_start(text, end);
            let content = text[TextRange::new(above, end)].trim();
            let is_trivia = content.is_empty() || content.starts_with('#');
            if !is_trivia || self.source.is_in_string(above) || self.source.is_in_string(end) {
                break;
            }
            start = above;
        }
        let mut at_start = self.at_block_start;
        for comment in text[TextRange::new(start, line)].lines() {
            let comment = comment.trim();
            if !comment.is_empty() {
                self.start_line();
                self.push(comment);
            } else if at_start {
                continue;
            }
            at_start = false;
            self.push("\n");
        }
    }

    /// Prints the comment to the right of `end`, once.
    pub(super) fn trailing(&mut self, end: TextSize) {
        let rest = self.source.text.get(end.to_usize()..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let comment = line.trim_start_matches([' ', '\t', ';']);
        if comment.starts_with('#') && self.commented_ends.insert(end) {
            self.push("  ");
            self.push(comment.trim_end());
        }
    }
}

fn line_start(text: &str, offset: TextSize) -> TextSize {
    let before = &text.as_bytes()[..offset.to_usize()];
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    TextSize::try_from(start).unwrap_or_default()
}

/// Returns the indentation of the line at `offset`.
pub(super) fn column(text: &str, offset: TextSize) -> usize {
    let line = &text[line_start(text, offset).to_usize()..];
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
