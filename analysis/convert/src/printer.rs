//! Prints a rewritten tree and records its source map.
//!
//! Source text is copied with its comments and layout; text is generated only for synthesized nodes. A comment moves
//! with the statement that is below it or to the left of it. The printer depends on the tree and the source, but not on
//! the passes.

mod compound;
mod expression;
mod header;
mod statement;
mod trivia;

use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::map::{SourceMap, Span, SpanKind};

const INDENT: usize = 4;

/// A source text with the token ranges that the printer needs.
pub(super) struct Source<'a> {
    text: &'a str,
    /// The string tokens that contain line breaks, in order.
    strings: Vec<TextRange>,
    /// The ranges of names that Python mangles in a class body: `__x`.
    private: Vec<TextRange>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, tokens: &[Token]) -> Self {
        let strings = tokens
            .iter()
            .filter(|token| {
                matches!(
                    token.kind(),
                    TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle
                )
            })
            .map(Ranged::range)
            .filter(|range| memchr::memchr(b'\n', text[*range].as_bytes()).is_some())
            .collect();
        let private = tokens
            .iter()
            .filter(|token| token.kind() == TokenKind::Name && is_private(&text[token.range()]))
            .map(Ranged::range)
            .collect();
        Self { text, strings, private }
    }

    fn is_in_string(&self, offset: TextSize) -> bool {
        let before = self.strings.partition_point(|range| range.start() <= offset);
        before.checked_sub(1).is_some_and(|index| self.strings[index].contains(offset))
    }
}

/// Converted text with its map.
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) map: SourceMap,
}

pub(super) struct Printer<'s, 'a> {
    source: &'s Source<'a>,
    out: String,
    spans: Vec<Span>,
    prefix: &'s str,
    /// The prefix that mangles private names, such as `_A`, if code is printed outside its class.
    mangling: Option<String>,
    /// The indentation of statements in columns, after the prefix.
    indent: usize,
    /// The number of columns by which the current statement has moved.
    shift: isize,
    /// The source offset up to which text has been copied or skipped.
    cursor: TextSize,
    /// The number of open brackets around the current expression.
    brackets: u32,
    /// The starts of the statements above which the comments have been printed.
    commented: FxHashSet<TextSize>,
    /// The ends of code whose trailing comment has been printed.
    commented_ends: FxHashSet<TextSize>,
    /// Whether the next statement is the first of its block.
    at_block_start: bool,
}

impl<'s, 'a> Printer<'s, 'a> {
    pub(super) fn new(source: &'s Source<'a>) -> Self {
        Self {
            source,
            out: String::new(),
            spans: Vec::new(),
            prefix: "",
            mangling: None,
            indent: 0,
            shift: 0,
            cursor: TextSize::default(),
            brackets: 0,
            commented: FxHashSet::default(),
            commented_ends: FxHashSet::default(),
            at_block_start: true,
        }
    }

    /// Leaves out the comments above a statement, because the caller has copied them.
    pub(super) fn without_comments_above(mut self, statement: TextSize) -> Self {
        self.commented.insert(statement);
        self
    }

    /// Mangles private names as in the body of `class`. The code is printed outside this body.
    pub(super) fn outside_of(mut self, class: Option<&str>) -> Self {
        // Python does not mangle names in a class whose own name consists of underscores only.
        let name = class.map(|class| class.trim_start_matches('_')).filter(|name| !name.is_empty());
        self.mangling = name.map(|name| format!("_{name}"));
        self
    }

    /// Copies the source unchanged.
    pub(super) fn source_text(mut self, range: TextRange) -> Printed {
        self.shift = -(trivia::column(self.source.text, range.start()) as isize);
        self.splice(range, |_| {});
        self.finish()
    }

    /// Prints statements with `prefix`, the indentation of the enclosing block, before each line.
    pub(super) fn statements(mut self, statements: &[Stmt], prefix: &'s str) -> Printed {
        self.prefix = prefix;
        self.block(statements);
        self.finish()
    }

    /// Prints `name = expression`.
    pub(super) fn assignment(mut self, name: &str, expression: &Expr) -> Printed {
        self.out.push_str(name);
        self.out.push_str(" = ");
        self.top_expression(expression);
        self.out.push('\n');
        self.finish()
    }

    /// Prints an expression that replaces another expression inside a statement.
    pub(super) fn expression_alone(mut self, expression: &Expr) -> Printed {
        self.top_expression(expression);
        self.finish()
    }

    fn finish(self) -> Printed {
        Printed { text: self.out, map: SourceMap::new(self.spans) }
    }

    fn position(&self) -> TextSize {
        TextSize::of(self.out.as_str())
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Records a synthesized span for `original` from `start` to the end of the output.
    fn note(&mut self, start: TextSize, original: TextRange) {
        if original != TextRange::default() {
            let generated = TextRange::new(start, self.position());
            self.spans.push(Span { generated, original, kind: SpanKind::Synthesized });
        }
    }

    /// Prints an identifier, mangled if necessary.
    fn identifier(&mut self, name: &str) {
        if let Some(class) = self.mangling.as_deref().filter(|_| is_private(name)) {
            self.out.push_str(class);
        }
        self.push(name);
    }

    /// Copies the source from the cursor to `end`, with private names mangled if necessary.
    fn copy_to(&mut self, end: TextSize) {
        if self.mangling.is_some() {
            let private = &self.source.private;
            let first = private.partition_point(|name| name.start() < self.cursor);
            for &name in private[first..].iter().take_while(|name| name.end() <= end) {
                self.copy_lines(name.start());
                let start = self.position();
                self.identifier(&self.source.text[name]);
                self.note(start, name);
                self.cursor = name.end();
            }
        }
        self.copy_lines(end);
    }

    /// Copies text. Continuation lines are reindented together with their statement.
    fn copy_lines(&mut self, end: TextSize) {
        let source = self.source.text;
        while self.cursor < end {
            let start = self.cursor;
            let rest = &source[TextRange::new(start, end)];
            let line_end = memchr::memchr(b'\n', rest.as_bytes())
                .map_or(end, |at| start + TextSize::of(&rest[..at]) + TextSize::from(1));
            let generated = self.position();
            self.push(&source[TextRange::new(start, line_end)]);
            self.spans.push(Span {
                generated: TextRange::new(generated, self.position()),
                original: TextRange::new(start, line_end),
                kind: SpanKind::Verbatim,
            });
            self.cursor = line_end;
            let broken = source.as_bytes().get(line_end.to_usize().wrapping_sub(1)) == Some(&b'\n');
            if broken && !self.source.is_in_string(line_end - TextSize::from(1)) {
                self.move_line(end);
            }
        }
    }

    /// Adds or removes indentation at the start of a continuation line.
    fn move_line(&mut self, end: TextSize) {
        if self.shift > 0 {
            let rest = &self.source.text[TextRange::new(self.cursor, end)];
            if !rest.starts_with(['\n', '\r']) {
                self.out.extend(std::iter::repeat_n(' ', self.shift.unsigned_abs()));
            }
        } else {
            let rest = &self.source.text[TextRange::new(self.cursor, end)];
            let blanks = rest.bytes().take_while(|byte| *byte == b' ').count();
            let removed = blanks.min(self.shift.unsigned_abs());
            self.cursor += TextSize::try_from(removed).unwrap_or_default();
        }
    }

    fn start_line(&mut self) {
        self.out.push_str(self.prefix);
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }
}

fn is_private(name: &str) -> bool {
    name.starts_with("__") && !name.ends_with("__")
}
