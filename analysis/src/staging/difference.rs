//! What an edit can have changed for the inference engine: one function, or anything.
//!
//! The body of an outermost function is its own affair: without an annotation the engine takes its result
//! for unknown, and its names are local. Only by setting attributes, by `global`, `nonlocal` and `import`
//! does it reach out.
//!
//! ```python
//! def g(x):
//!     y = x + 1        # seen by `g` alone
//!     self.y = y       # seen by every function that reads `.y`
//! ```

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprContext, PySourceType, Stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::index::FileIndex;
use crate::syntax::functions::FunctionAst;

/// A state of a file.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub text: &'a str,
    pub index: &'a FileIndex,
}

/// The functions whose types may be others than before, by their position in the file index, which is the
/// same in both; `None` when others may have changed, too, here or in other files.
pub fn between(before: Version, after: Version, source_type: PySourceType) -> Option<Vec<u32>> {
    let (old, new) = (before.index, after.index);
    let same_outline = old.too_deep == new.too_deep
        && old.definitions.functions.len() == new.definitions.functions.len()
        && old.definitions.functions.iter().zip(&new.definitions.functions).all(|(old, new)| {
            old.path == new.path && old.class == new.class && old.parent == new.parent
        })
        && old.roots.len() == new.roots.len()
        && old.roots.iter().zip(&new.roots).all(|(old, new)| old.scope == new.scope);
    if !same_outline {
        return None;
    }
    let mut changed = Vec::new();
    let (mut old_end, mut new_end) = (TextSize::default(), TextSize::default());
    for (number, (old, new)) in old.definitions.functions.iter().zip(&new.definitions.functions).enumerate() {
        if let Some(parent) = old.parent {
            if changed.contains(&parent) {
                changed.push(number as u32);
            }
            continue;
        }
        let outside = TextRange::new(old_end.min(old.range.start()), old.range.start());
        let outside_now = TextRange::new(new_end.min(new.range.start()), new.range.start());
        if !same_code(before.slice(outside), after.slice(outside_now)) {
            return None;
        }
        if before.slice(old.range) != after.slice(new.range) {
            let is_own_affair = same_code(before.header(number), after.header(number))
                && (same_code(before.slice(old.range), after.slice(new.range))
                    || is_closed(before.slice(old.range), source_type)
                        && is_closed(after.slice(new.range), source_type));
            if !is_own_affair {
                return None;
            }
            changed.push(number as u32);
        }
        (old_end, new_end) = (old.range.end(), new.range.end());
    }
    let rest = |version: Version<'_>, end: TextSize| TextRange::new(end, TextSize::of(version.text).max(end));
    if !same_code(before.slice(rest(before, old_end)), after.slice(rest(after, new_end))) {
        return None;
    }
    let is_contained = |version: Version| {
        version.index.syntax_errors.iter().all(|(range, _)| {
            let functions = &version.index.definitions.functions;
            changed.iter().any(|function| functions[*function as usize].range.contains_range(*range))
        })
    };
    (is_contained(before) && is_contained(after)).then_some(changed)
}

impl<'a> Version<'a> {
    fn slice(self, range: TextRange) -> &'a str {
        self.text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default()
    }

    /// `def g(x):`
    fn header(self, function: usize) -> &'a str {
        let start = self.index.definitions.functions[function].range.start();
        let end = self.index.signatures.get(function).map_or(start, |signature| signature.body_at);
        self.slice(TextRange::new(start, end.max(start)))
    }
}

/// The same but for blanks and comments.
fn same_code(before: &str, after: &str) -> bool {
    before == after || tokens(before) == tokens(after)
}

fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    let code = parsed.tokens().iter().filter(|token| !token.kind().is_trivia());
    let said = |range: TextRange| text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
    code.map(|token| match token.kind() {
        kind @ (TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent) => (kind, String::new()),
        kind => (kind, said(token.range()).to_owned()),
    })
    .collect()
}

/// Whether nothing that a function does is seen by others.
fn is_closed(slice: &str, source_type: PySourceType) -> bool {
    let Some(ast) = FunctionAst::parse(slice.into(), source_type) else { return false };
    let mut outward = Outward(false);
    outward.visit_body(&ast.def().body);
    !outward.0
}

struct Outward(bool);

impl<'a> SourceOrderVisitor<'a> for Outward {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.0 |= matches!(
            statement,
            Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Import(_) | Stmt::ImportFrom(_)
        );
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Attribute(attribute) = expression {
            self.0 |= !matches!(attribute.ctx, ExprContext::Load);
        }
        source_order::walk_expr(self, expression);
    }
}
