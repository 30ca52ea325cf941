//! Converts between byte offsets and positions in the client's encoding. Every position has an offset: a
//! position outside the text or inside a character is rounded down.

use ruff_text_size::{TextRange, TextSize};
use tower_lsp::lsp_types::{Position, PositionEncodingKind, Range};

/// The unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// Returns the cheapest encoding that the client supports; UTF-16 by default.
    pub(crate) fn negotiate(offered: &[PositionEncodingKind]) -> Self {
        [Self::Utf8, Self::Utf32, Self::Utf16]
            .into_iter()
            .find(|encoding| offered.contains(&encoding.kind()))
            .unwrap_or(Self::Utf16)
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    pub(crate) fn len(self, text: &str) -> u32 {
        let length = match self {
            Self::Utf8 => text.len(),
            _ if text.is_ascii() => text.len(),
            _ => text.chars().map(|character| self.width(character)).sum(),
        };
        u32::try_from(length).unwrap_or(u32::MAX)
    }
}

/// A text with an index of its lines. Lines end with `\n`, `\r\n` or `\r`.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
            .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'));
        Self { text, starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect(), encoding }
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = floor(self.text, offset);
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(0, |before| self.encoding.len(before));
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), column)
    }

    pub(crate) fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line) else { return self.text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let content = self.text.get(*start..end).unwrap_or_default().trim_end_matches(['\r', '\n']);
        let wanted = position.character as usize;
        if self.encoding == Encoding::Utf8 || content.is_ascii() {
            return start + floor(content, wanted);
        }
        let mut column = 0;
        for (at, character) in content.char_indices() {
            column += self.encoding.width(character);
            if column > wanted {
                return start + at;
            }
        }
        start + content.len()
    }

    pub(crate) fn range(&self, range: TextRange) -> Range {
        Range::new(self.position(range.start().to_usize()), self.position(range.end().to_usize()))
    }

    pub(crate) fn text_range(&self, range: Range) -> TextRange {
        let (start, end) = (size(self.offset(range.start)), size(self.offset(range.end)));
        TextRange::new(start, end.max(start))
    }
}

/// Offsets beyond 4 GiB are clamped; analyzed texts are shorter.
pub(crate) fn size(offset: usize) -> TextSize {
    TextSize::try_from(offset).unwrap_or(TextSize::new(u32::MAX))
}

/// Returns the start of the character at `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `𝕏` is four bytes, two UTF-16 units and one character.
    const TEXT: &str = "é = '𝕏'\r\nx\ry\n";

    #[test]
    fn columns_use_the_negotiated_encoding() {
        let quote = TEXT.find("'\r").unwrap();
        for (encoding, column) in [(Encoding::Utf8, 10), (Encoding::Utf16, 7), (Encoding::Utf32, 6)] {
            let lines = Lines::new(TEXT, encoding);
            assert_eq!(lines.position(quote), Position::new(0, column), "{encoding:?}");
            assert_eq!(lines.offset(Position::new(0, column)), quote, "{encoding:?}");
        }
    }

    #[test]
    fn all_line_endings_are_recognized() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        assert_eq!(lines.position(TEXT.find('x').unwrap()), Position::new(1, 0));
        assert_eq!(lines.position(TEXT.find('y').unwrap()), Position::new(2, 0));
        assert_eq!(lines.position(TEXT.len()), Position::new(3, 0));
    }

    #[test]
    fn positions_outside_the_text_are_rounded_down() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        let letter = TEXT.find('𝕏').unwrap();
        assert_eq!(lines.offset(Position::new(0, 6)), letter, "between the halves of a pair");
        assert_eq!(lines.offset(Position::new(0, 99)), TEXT.find('\r').unwrap(), "beyond its line");
        assert_eq!(lines.offset(Position::new(99, 0)), TEXT.len(), "beyond the text");
        assert_eq!(lines.position(99), Position::new(3, 0));
        let bytes = Lines::new(TEXT, Encoding::Utf8);
        assert_eq!(bytes.offset(Position::new(0, 1)), 0, "within a character");
    }
}
