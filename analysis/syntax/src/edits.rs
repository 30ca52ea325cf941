//! Text edits, and edits that insert a line before or after a statement with the same indentation.

use ruff_text_size::{TextRange, TextSize};

/// Replaces `range` with `text`. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    pub range: TextRange,
    pub text: String,
}

impl Edit {
    pub fn insert(at: TextSize, text: impl Into<String>) -> Self {
        Self { range: TextRange::empty(at), text: text.into() }
    }

    pub fn replace(range: TextRange, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    pub fn delete(range: TextRange) -> Self {
        Self { range, text: String::new() }
    }
}

/// Returns the indentation of the statement at `offset`; `None` if other code precedes it on the line: `y = 1` in
/// `if x: y = 1`.
pub fn indentation(text: &str, offset: TextSize) -> Option<&str> {
    let before = text.get(..usize::from(offset))?;
    let line = before.get(before.rfind('\n').map_or(0, |newline| newline + 1)..)?;
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

/// Returns the edit that inserts `line` before the statement at `offset`, with the indentation of the statement.
pub fn line_before(text: &str, offset: TextSize, line: &str) -> Option<Edit> {
    let indentation = indentation(text, offset)?;
    Some(Edit::insert(offset, format!("{line}\n{indentation}")))
}

/// Returns the edit that inserts `line` after `statement` and its trailing comment, with the indentation of the
/// statement.
pub fn line_after(text: &str, statement: TextRange, line: &str) -> Option<Edit> {
    let indentation = indentation(text, statement.start())?;
    let rest = text.get(usize::from(statement.end())..)?;
    let rest = rest.split('\n').next()?.trim_end_matches('\r');
    let trailing = rest.trim_start();
    if !trailing.is_empty() && !trailing.starts_with('#') {
        return None;
    }
    Some(Edit::insert(statement.end() + TextSize::of(rest), format!("\n{indentation}{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, edit: Option<Edit>) -> Option<String> {
        let edit = edit?;
        let mut text = text.to_owned();
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
        Some(text)
    }

    fn range_of(text: &str, statement: &str) -> TextRange {
        let start = text.find(statement).expect("the statement is in the text");
        TextRange::at(TextSize::try_from(start).expect("a short text"), TextSize::of(statement))
    }

    #[test]
    fn inserted_lines_have_the_indentation_of_the_statement() {
        let text = "def f(x):\n    y = x  # kept\n    return y";
        let edited = apply(text, line_before(text, range_of(text, "y = x").start(), "y = 0"));
        assert_eq!(edited.as_deref(), Some("def f(x):\n    y = 0\n    y = x  # kept\n    return y"));
        let edited = apply(text, line_after(text, range_of(text, "y = x"), "z = y"));
        assert_eq!(edited.as_deref(), Some("def f(x):\n    y = x  # kept\n    z = y\n    return y"));
        let edited = apply(text, line_after(text, range_of(text, "return y"), "pass"));
        assert_eq!(edited.as_deref(), Some(&*format!("{text}\n    pass")));
    }

    #[test]
    fn no_line_is_inserted_next_to_a_statement_that_shares_its_line() {
        let text = "def f(x):\n    if x: y = 1; z = 2";
        assert_eq!(line_before(text, range_of(text, "y = 1").start(), "a = 0"), None);
        assert_eq!(line_after(text, range_of(text, "y = 1"), "a = 0"), None);
        assert_eq!(line_before(text, TextSize::new(99), "a = 0"), None);
    }
}
