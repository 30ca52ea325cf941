//! Detects source text nested too deeply for recursive tree walks, without recursion.
//!
//! Syntax trees are walked and dropped recursively. A text whose nesting or operator chains
//! (`1 + 1 + …`) exceed `LIMIT` is not parsed, which prevents stack overflows.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// The maximum sum of open blocks, open brackets and operators in the current chain. Generated code
/// contains chains of a few thousand operators.
const LIMIT: usize = 2_000;

/// The weight of an `and` or `or`. Type inference takes seconds for a condition with three hundred of them.
const CONDITION: usize = 12;

/// The nesting limits of CPython for blocks and brackets. CPython does not compile deeper nesting.
const BLOCKS: usize = 100;
const BRACKETS: usize = 200;

/// Returns whether the syntax tree of `text` would be too deep for recursive walks.
pub fn is_too_deep(text: &str) -> bool {
    looks_deep(text.as_bytes()) && is_deep(text)
}

/// The classes of bytes for [`looks_deep`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Other,
    Open,
    Close,
    Comma,
    Line,
}

const BYTE_CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    classes[b'(' as usize] = ByteClass::Open;
    classes[b'[' as usize] = ByteClass::Open;
    classes[b'{' as usize] = ByteClass::Open;
    classes[b')' as usize] = ByteClass::Close;
    classes[b']' as usize] = ByteClass::Close;
    classes[b'}' as usize] = ByteClass::Close;
    classes[b',' as usize] = ByteClass::Comma;
    classes[b'\n' as usize] = ByteClass::Line;
    classes
};

/// Returns whether a text may be deep. This is a cheap over-approximation of [`is_deep`] on bytes, so that ordinary
/// files are not lexed twice. The contents of strings may cause a false positive. [`is_deep`] then rejects it.
fn looks_deep(bytes: &[u8]) -> bool {
    const SEGMENT: usize = LIMIT / 2;
    const INDENTATION: usize = 200;
    // The start of the current segment. Operator chains do not extend over several segments.
    let (mut brackets, mut segment) = (0usize, 0usize);
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_indented = |line: &[u8]| {
        line.get(INDENTATION).is_some_and(is_space) && line.iter().take(INDENTATION).all(is_space)
    };
    if is_indented(bytes) {
        return true;
    }
    let mut at = 0;
    loop {
        // Seven of eight bytes are of the class `Other`.
        let rest = &bytes[at..];
        let Some(others) = rest.iter().position(|byte| BYTE_CLASSES[*byte as usize] != ByteClass::Other)
        else {
            return bytes.len() - segment > SEGMENT;
        };
        let end = at + others;
        at = end + 1;
        let ends_segment = match BYTE_CLASSES[rest[others] as usize] {
            ByteClass::Open => {
                brackets += 1;
                false
            }
            ByteClass::Close => {
                brackets = brackets.saturating_sub(1);
                false
            }
            ByteClass::Line => {
                if is_indented(&bytes[at..]) {
                    return true;
                }
                if brackets > 0 {
                    continue;
                }
                true
            }
            ByteClass::Comma | ByteClass::Other => true,
        };
        if brackets > BRACKETS || end - segment > SEGMENT {
            return true;
        }
        if ends_segment {
            segment = end;
        }
    }
}

/// Returns whether open blocks, open brackets and the current operator chain exceed a limit at any token.
fn is_deep(text: &str) -> bool {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut blocks = 0usize;
    // The length of the chain at each open bracket. The last entry belongs to the innermost bracket.
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
                // A call or subscript continues the chain: `f()()()`.
                extend_chain(&mut chains, &mut chained, 1);
            }
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi => {
                if let Some(last) = chains.last_mut() {
                    chained -= *last;
                    *last = 0;
                }
            }
            TokenKind::And | TokenKind::Or => extend_chain(&mut chains, &mut chained, CONDITION),
            _ if kind.is_operator() || kind.is_keyword() => extend_chain(&mut chains, &mut chained, 1),
            _ => {}
        }
        if blocks > BLOCKS || chains.len() > BRACKETS + 1 || blocks + chained > LIMIT {
            return true;
        }
    }
}

fn extend_chain(chains: &mut [usize], chained: &mut usize, by: usize) {
    if let Some(last) = chains.last_mut() {
        *last += by;
        *chained += by;
    }
}

#[cfg(test)]
mod tests {
    use super::is_too_deep;

    #[test]
    fn ordinary_code_is_not_too_deep() {
        assert!(!is_too_deep("def f(x):\n    return [x + 1, (x * 2).sum()]\n"));
        let table = format!("TABLE = [{}]\n", "(1, -2, 'a.b.c'), ".repeat(5_000));
        assert!(!is_too_deep(&table));
        let prose = format!("'''{}'''\n", "a sentence (with. dots) and - dashes\n".repeat(2_000));
        assert!(!is_too_deep(&prose));
    }

    #[test]
    fn deeply_nested_code_is_too_deep() {
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
