//! Tokens of a graph's text.

use super::parse::ParseError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// Letters, digits, dots, underscores and colons: `aten.add.Tensor`, `dtype:f32`, `0:3:4`.
    Word(String),
    /// `%x.3`, without the `%`.
    Value(String),
    /// `@main`, without the `@`.
    Function(String),
    Int(i64),
    Float(f64),
    Str(String),
    /// One of `( ) { } [ ] , : = - > ? *`, or `@` before a device.
    Sign(char),
}

#[derive(Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) line: u32,
}

pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ParseError> {
    let mut tokens = Vec::new();
    for (index, content) in text.lines().enumerate() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut rest = content;
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else { break };
            if first == '#' {
                break;
            }
            let (token, length) = token(first, rest)
                .ok_or_else(|| ParseError::new(line, format!("unexpected character `{first}`")))?;
            tokens.push(Placed { token, line });
            rest = &rest[length..];
        }
    }
    Ok(tokens)
}

fn token(first: char, rest: &str) -> Option<(Token, usize)> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    let name = |text: &str| text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    match first {
        '"' => {
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let text = strings.next()?.ok()?;
            Some((Token::Str(text), strings.byte_offset()))
        }
        '%' | '@' => {
            let length = name(&rest[1..]);
            let text = rest[1..=length].to_owned();
            let token = if first == '%' { Token::Value(text) } else { Token::Function(text) };
            (length > 0).then_some((token, length + 1))
        }
        '0'..='9' => Some(number(rest)),
        '-' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => Some(number(rest)),
        '-' if rest[1..].starts_with("inf") => Some((Token::Float(f64::NEG_INFINITY), 4)),
        'a'..='z' | 'A'..='Z' | '_' => {
            let length = name(rest);
            let word = &rest[..length];
            Some((
                if word == "nan" {
                    Token::Float(f64::NAN)
                } else if word == "inf" {
                    Token::Float(f64::INFINITY)
                } else {
                    Token::Word(word.to_owned())
                },
                length,
            ))
        }
        '(' | ')' | '{' | '}' | '[' | ']' | ',' | ':' | '=' | '-' | '>' | '?' | '*' => {
            Some((Token::Sign(first), 1))
        }
        _ => None,
    }
}

/// `3`, `-3`, `1.5`, `1e-05`. An integer that does not fit 64 bits is not a number.
fn number(rest: &str) -> (Token, usize) {
    let bytes = rest.as_bytes();
    let mut length = 1;
    while let Some(next) = bytes.get(length) {
        let after_exponent = matches!(bytes[length - 1], b'e' | b'E');
        let continues = next.is_ascii_digit()
            || matches!(next, b'.' | b'e' | b'E')
            || after_exponent && matches!(next, b'-' | b'+');
        if !continues {
            break;
        }
        length += 1;
    }
    let text = &rest[..length];
    let token = match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(value), _) => Token::Int(value),
        (_, Ok(value)) if text.contains(['.', 'e', 'E']) => Token::Float(value),
        _ => Token::Word(text.to_owned()),
    };
    (token, length)
}
