//! The identifiers that a piece of code may mention, found without parsing: all words outside comments
//! and docstrings.
//!
//! ```python
//! x = getattr(layer, "scale")   # x, getattr, layer, scale
//! ```
//!
//! Words in strings are included, because a string may be an annotation or an attribute name. Words in triple-quoted
//! strings are not included. The result is an over-approximation: it includes keywords and numbers, and omits no
//! identifier.

/// Returns the words of `text`, which must start outside a string.
pub fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            _ if is_word(byte) => {
                at += bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
                words.push(&text[start..at]);
            }
            b'#' => at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at),
            b'"' | b'\'' => {
                let is_long = bytes.get(at..at + 3) == Some(&[byte; 3]);
                // The braces of an f-string contain code.
                let has_code = bytes[..at].iter().rev().take(2).any(|prefix| b"fFtT".contains(prefix));
                at = end_of_string(bytes, at, if is_long { 3 } else { 1 });
                if !is_long || has_code {
                    let inside = text[start..at].split(|c: char| !c.is_alphanumeric() && c != '_');
                    words.extend(inside.filter(|word| !word.is_empty()));
                }
            }
            _ => at += 1,
        }
    }
    words
}

/// Returns the end of the string that starts at `start` with `quotes` quotes: one or three. If a string with one quote
/// is not terminated, it ends at the end of its line.
fn end_of_string(bytes: &[u8], start: usize, quotes: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + quotes;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' if quotes == 1 => return at,
            _ if byte == quote
                && bytes[at..].iter().take(quotes).filter(|b| **b == quote).count() == quotes =>
            {
                return at + quotes;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_and_short_strings_are_words() {
        assert_eq!(words("x = self.größe['rate'] + 1"), ["x", "self", "größe", "rate", "1"]);
        assert_eq!(words("f\"{a.b!r} {c['d']}\""), ["f", "a", "b", "r", "c", "d"]);
    }

    #[test]
    fn comments_and_docstrings_are_excluded() {
        assert_eq!(words("\"\"\"Of `x`.\n\nIt's \\\"\"\" y.\"\"\"\nz  # of w\nv"), ["z", "v"]);
        assert_eq!(words("'#'; f'''{a}'''; ''; b"), ["f", "a", "b"]);
    }

    #[test]
    fn incomplete_code_has_words() {
        assert_eq!(words("x = 'é\ny = \"\"\"z"), ["x", "é", "y"]);
        assert_eq!(words("'\\"), Vec::<&str>::new());
    }
}
