//! Physical and logical lines. They are used to match comments with findings.

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};

/// The one-based number of a physical line.
pub(super) type Line = usize;

pub(super) struct Lines {
    index: LineIndex,
    /// The logical lines in source order. Each extends from its first token to the newline that ends it, including
    /// comments.
    logical: Vec<TextRange>,
}

impl Lines {
    pub(super) fn new(text: &str, tokens: &Tokens) -> Self {
        let mut logical = Vec::new();
        let mut start = None;
        for token in tokens {
            match token.kind() {
                TokenKind::Newline => {
                    let start = start.take().unwrap_or(token.start());
                    logical.push(TextRange::new(start, token.start()));
                }
                TokenKind::Indent | TokenKind::Dedent | TokenKind::NonLogicalNewline => {}
                TokenKind::Comment if start.is_none() => {}
                _ => start = start.or(Some(token.start())),
            }
        }
        Self { index: LineIndex::from_source_text(text), logical }
    }

    pub(super) fn physical(&self, offset: TextSize) -> Line {
        self.index.line_index(offset).get()
    }

    /// Returns the logical line that contains `offset`.
    pub(super) fn logical(&self, offset: TextSize) -> Option<TextRange> {
        let line = *self.logical.get(self.logical.partition_point(|line| line.end() < offset))?;
        line.contains_inclusive(offset).then_some(line)
    }

    /// Returns whether only whitespace precedes `offset` on its line.
    pub(super) fn is_on_own_line(&self, offset: TextSize, text: &str) -> bool {
        text[..offset.to_usize()].trim_end_matches([' ', '\t', '\u{c}', '\u{feff}']).ends_with(['\n', '\r'])
            || text[..offset.to_usize()].trim_matches([' ', '\t', '\u{c}', '\u{feff}']).is_empty()
    }

    /// Returns the physical lines on which a comment suppresses a finding at `range`.
    pub(super) fn anchors(&self, range: TextRange) -> [Line; 4] {
        let logical = self.logical(range.start()).unwrap_or(range);
        // A range that ends just after a newline ends on the line before it.
        let last =
            range.end().checked_sub(TextSize::from(1)).map_or(range.end(), |end| end.max(range.start()));
        [range.start(), last, logical.start(), logical.end()].map(|offset| self.physical(offset))
    }
}
