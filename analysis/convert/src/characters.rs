//! Character offsets, as Python counts them.

use ruff_text_size::{TextRange, TextSize};

/// Converts byte offsets to character offsets.
pub struct Characters<'a> {
    text: &'a str,
    /// The number of characters before every [`STRIDE`]th byte; empty for ASCII text.
    before: Vec<usize>,
}

const STRIDE: usize = 256;

impl<'a> Characters<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut before = Vec::new();
        if !text.is_ascii() {
            let mut count = 0;
            for stride in text.as_bytes().chunks(STRIDE) {
                before.push(count);
                count += starts(stride);
            }
        }
        Self { text, before }
    }

    pub fn range(&self, range: TextRange) -> [usize; 2] {
        [self.offset(range.start()), self.offset(range.end())]
    }

    fn offset(&self, offset: TextSize) -> usize {
        let offset = offset.to_usize();
        let Some(before) = self.before.get(offset / STRIDE).or(self.before.last()) else { return offset };
        let stride = (offset / STRIDE).min(self.before.len() - 1) * STRIDE;
        before + starts(self.text.as_bytes().get(stride..offset).unwrap_or_default())
    }
}

/// Returns the number of characters that start in a slice of UTF-8 text.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}
