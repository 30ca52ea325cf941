//! Text edits, and the edits that add a line beside a statement with its indentation.

use ruff_text_size::{TextRange, TextSize};

/// A replacement of `range` by `text`; an empty range inserts.
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

/// The blanks before the statement at `offset`; `None` where it shares its line with something else,
/// as in `if x: y = 1`.
pub fn indentation(text: &str, offset: TextSize) -> Option<&str> {
    let before = text.get(..usize::from(offset))?;
    let line = before.get(before.rfind('\n').map_or(0, |newline| newline + 1)..)?;
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

/// Puts `line` before the statement that starts at `offset`.
pub fn line_before(text: &str, offset: TextSize, line: &str) -> Option<Edit> {
    let indentation = indentation(text, offset)?;
    Some(Edit::insert(offset, format!("{line}\n{indentation}")))
}

/// Puts `line` after the statement at `statement`, behind its comment.
pub fn line_after(text: &str, statement: TextRange, line: &str) -> Option<Edit> {
    let indentation = indentation(text, statement.start())?;
    let rest = text.get(usize::from(statement.end())..)?;
    let rest = rest.split('\n').next()?.trim_end_matches('\r');
    let blank = rest.trim_start();
    if !blank.is_empty() && !blank.starts_with('#') {
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

    fn place(text: &str, statement: &str) -> TextRange {
        let start = text.find(statement).expect("the statement is in the text");
        TextRange::at(TextSize::try_from(start).expect("a short text"), TextSize::of(statement))
    }

    #[test]
    fn lines_stand_beside_statements_with_their_indentation() {
        let text = "def f(x):\n    y = x  # kept\n    return y";
        let edited = apply(text, line_before(text, place(text, "y = x").start(), "y = 0"));
        assert_eq!(edited.as_deref(), Some("def f(x):\n    y = 0\n    y = x  # kept\n    return y"));
        let edited = apply(text, line_after(text, place(text, "y = x"), "z = y"));
        assert_eq!(edited.as_deref(), Some("def f(x):\n    y = x  # kept\n    z = y\n    return y"));
        let edited = apply(text, line_after(text, place(text, "return y"), "pass"));
        assert_eq!(edited.as_deref(), Some(&*format!("{text}\n    pass")));
    }

    #[test]
    fn a_statement_that_shares_its_line_gets_no_neighbour() {
        let text = "def f(x):\n    if x: y = 1; z = 2";
        assert_eq!(line_before(text, place(text, "y = 1").start(), "a = 0"), None);
        assert_eq!(line_after(text, place(text, "y = 1"), "a = 0"), None);
        assert_eq!(line_before(text, TextSize::new(99), "a = 0"), None);
    }
}
