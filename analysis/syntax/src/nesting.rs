//! How deeply a text nests, found without recursion: the guard of everything that walks a tree.
//!
//! Trees are walked and dropped recursively. A text nested (or chained: `1 + 1 + …`) beyond
//! `LIMIT` is not parsed at all.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// Brackets, blocks and operator chains together; chains of a few thousand operators occur in
/// generated code.
const LIMIT: usize = 2_000;

/// What an `and` or `or` counts for: the type engine takes seconds for a condition of three hundred.
const CONDITION: usize = 12;

/// More blocks, or more brackets, inside each other are no Python: CPython refuses to compile them.
const BLOCKS: usize = 100;
const BRACKETS: usize = 200;

/// Whether a tree of this text would be too deep to walk.
pub fn is_too_deep(text: &str) -> bool {
    looks_deep(text.as_bytes()) && is_deep(text)
}

/// What a byte means to [`looks_deep`]; most mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Nothing,
    Open,
    Close,
    Comma,
    Line,
}

const MARKS: [Mark; 256] = {
    let mut marks = [Mark::Nothing; 256];
    marks[b'(' as usize] = Mark::Open;
    marks[b'[' as usize] = Mark::Open;
    marks[b'{' as usize] = Mark::Open;
    marks[b')' as usize] = Mark::Close;
    marks[b']' as usize] = Mark::Close;
    marks[b'}' as usize] = Mark::Close;
    marks[b',' as usize] = Mark::Comma;
    marks[b'\n' as usize] = Mark::Line;
    marks
};

/// A cheap over-approximation on bytes, so that ordinary files are not lexed twice. String contents
/// may make it say yes; then the lexer decides.
fn looks_deep(bytes: &[u8]) -> bool {
    const SEGMENT: usize = LIMIT / 2;
    const INDENTATION: usize = 200;
    // Where the present segment begins, which an operator chain cannot leave.
    let (mut brackets, mut segment) = (0usize, 0usize);
    let is_indented =
        |line: &[u8]| line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count() > INDENTATION;
    if is_indented(bytes) {
        return true;
    }
    for (at, byte) in bytes.iter().enumerate() {
        match MARKS[*byte as usize] {
            Mark::Nothing => continue,
            Mark::Open => brackets += 1,
            Mark::Close => brackets = brackets.saturating_sub(1),
            Mark::Comma => {}
            Mark::Line if is_indented(&bytes[at + 1..]) => return true,
            Mark::Line if brackets > 0 => continue,
            Mark::Line => {}
        }
        if brackets > BRACKETS || at - segment > SEGMENT {
            return true;
        }
        if matches!(MARKS[*byte as usize], Mark::Comma | Mark::Line) {
            segment = at;
        }
    }
    bytes.len() - segment > SEGMENT
}

/// Whether open blocks, open brackets and the current chain of operators are too many anywhere.
fn is_deep(text: &str) -> bool {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut blocks = 0usize;
    // Chain length at each open bracket; the last one is the innermost.
    let mut chains = vec![0usize];
    let mut chained = 0usize;
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return false,
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                chains.push(0);
                chained += 1;
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                if chains.len() > 1 {
                    chained -= chains.pop().unwrap_or(0) + 1;
                }
                // A call or subscript after it continues the chain: `f()()()`.
                bump(&mut chains, &mut chained, 1);
            }
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi => {
                if let Some(last) = chains.last_mut() {
                    chained -= *last;
                    *last = 0;
                }
            }
            TokenKind::And | TokenKind::Or => bump(&mut chains, &mut chained, CONDITION),
            _ if kind.is_operator() || kind.is_keyword() => bump(&mut chains, &mut chained, 1),
            _ => {}
        }
        if blocks > BLOCKS || chains.len() > BRACKETS + 1 || blocks + chained > LIMIT {
            return true;
        }
    }
}

fn bump(chains: &mut [usize], chained: &mut usize, by: usize) {
    if let Some(last) = chains.last_mut() {
        *last += by;
        *chained += by;
    }
}

#[cfg(test)]
mod tests {
    use super::is_too_deep;

    #[test]
    fn ordinary_code_is_walked() {
        assert!(!is_too_deep("def f(x):\n    return [x + 1, (x * 2).sum()]\n"));
        let table = format!("TABLE = [{}]\n", "(1, -2, 'a.b.c'), ".repeat(5_000));
        assert!(!is_too_deep(&table));
        let prose = format!("'''{}'''\n", "a sentence (with. dots) and - dashes\n".repeat(2_000));
        assert!(!is_too_deep(&prose));
    }

    #[test]
    fn deep_code_is_not() {
        assert!(is_too_deep(&format!("x = {}1{}\n", "(".repeat(300), ")".repeat(300))));
        assert!(is_too_deep(&format!("x = {}1\n", "1 + ".repeat(50_000))));
        assert!(is_too_deep(&format!("x = {}1\n", "not ".repeat(50_000))));
        assert!(is_too_deep(&format!("x = a{}\n", "()".repeat(50_000))));
        assert!(is_too_deep(&format!("x = a{}\n", " and a".repeat(300))));
        assert!(!is_too_deep(&format!("x = a{}\n", " and a".repeat(100))));
        let blocks: String = (0..300).map(|n| format!("{}if x:\n", " ".repeat(n))).collect();
        assert!(is_too_deep(&blocks));
    }
}
