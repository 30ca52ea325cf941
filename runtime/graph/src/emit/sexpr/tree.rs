//! S-expressions as trees, without the meaning of a graph. The text is untrusted: the depth of a tree is bounded.

use crate::ir::text::ParseError;

/// The maximum nesting depth: 200 nested regions of five levels each.
const DEPTH: usize = 1000;

#[derive(Debug)]
pub(super) struct Sexpr {
    pub(super) form: Form,
    /// The line where it starts, counted from one.
    pub(super) line: u32,
}

#[derive(Debug)]
pub(super) enum Form {
    /// A name or a number.
    Symbol(String),
    Str(String),
    List(Vec<Sexpr>),
}

/// Parses a text that has one S-expression. A comment starts with `;`.
pub(super) fn parse(text: &str) -> Result<Sexpr, ParseError> {
    let mut open: Vec<(u32, Vec<Sexpr>)> = vec![(1, Vec::new())];
    for (index, content) in text.lines().enumerate() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut rest = content.trim_start();
        while let Some(first) = rest.chars().next().filter(|first| *first != ';') {
            let length = match first {
                '(' if open.len() > DEPTH => {
                    return Err(ParseError::new(line, format!("nested deeper than {DEPTH} levels")));
                }
                '(' => {
                    open.push((line, Vec::new()));
                    1
                }
                ')' => {
                    close(&mut open).ok_or_else(|| ParseError::new(line, "unexpected `)`"))?;
                    1
                }
                _ => {
                    let (form, length) = atom(first, rest)
                        .ok_or_else(|| ParseError::new(line, "a string does not end on its line"))?;
                    if let Some((_, items)) = open.last_mut() {
                        items.push(Sexpr { form, line });
                    }
                    length
                }
            };
            rest = rest[length..].trim_start();
        }
    }
    match &mut *open {
        [(_, items)] if items.len() == 1 => items.pop().ok_or_else(|| ParseError::new(1, "empty text")),
        [(_, items)] => Err(ParseError::new(1, format!("expected one S-expression, found {}", items.len()))),
        [.., (line, _)] => Err(ParseError::new(*line, "this `(` is not closed")),
        [] => Err(ParseError::new(1, "empty text")),
    }
}

/// Appends the innermost open list to the list around it.
fn close(open: &mut Vec<(u32, Vec<Sexpr>)>) -> Option<()> {
    if open.len() < 2 {
        return None;
    }
    let (line, items) = open.pop()?;
    open.last_mut()?.1.push(Sexpr { form: Form::List(items), line });
    Some(())
}

/// Returns a string (as in JSON) or a symbol, and its length.
fn atom(first: char, rest: &str) -> Option<(Form, usize)> {
    if first == '"' {
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let text = strings.next()?.ok()?;
        return Some((Form::Str(text), strings.byte_offset()));
    }
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | '"' | ';');
    let length = rest.find(ends).unwrap_or(rest.len());
    Some((Form::Symbol(rest[..length].to_owned()), length))
}
