//! The effect of an edit on inferred types: confined to some functions, or unbounded.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange, TextSize};

use ag_index::ids::FunctionIndex;
use ag_index::index::FileIndex;

/// One version of a file.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub text: &'a str,
    pub index: &'a FileIndex,
}

/// The functions whose types an edit may change; their positions are equal in both versions. `None` if the types
/// of other functions, here or in other files, may change as well.
pub fn between(before: Version, after: Version) -> Option<Vec<FunctionIndex>> {
    let (old, new) = (before.index, after.index);
    let same_outline = old.too_deep == new.too_deep
        && old.definitions.functions.len() == new.definitions.functions.len()
        && old
            .definitions
            .functions
            .iter()
            .zip(&new.definitions.functions)
            .all(|(old, new)| old.path == new.path && old.class == new.class && old.parent == new.parent)
        && old.roots.len() == new.roots.len()
        && old.roots.iter().zip(&new.roots).all(|(old, new)| old.scope == new.scope);
    if !same_outline {
        return None;
    }
    let mut changed = Vec::new();
    let (mut old_end, mut new_end) = (TextSize::default(), TextSize::default());
    for ((position, old), new) in old.definitions.functions.iter_enumerated().zip(&new.definitions.functions)
    {
        if let Some(parent) = old.parent {
            if changed.contains(&parent) {
                changed.push(position);
            }
            continue;
        }
        let outside = TextRange::new(old_end.min(old.range.start()), old.range.start());
        let outside_now = TextRange::new(new_end.min(new.range.start()), new.range.start());
        if !same_code(before.slice(outside), after.slice(outside_now)) {
            return None;
        }
        if before.slice(old.range) != after.slice(new.range) {
            let is_local = same_code(before.header(position), after.header(position))
                && (same_code(before.slice(old.range), after.slice(new.range))
                    || before.index.is_self_contained(position)
                        && after.index.is_self_contained(position)
                        && before.is_generator(position) == after.is_generator(position));
            if !is_local {
                return None;
            }
            changed.push(position);
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
            changed.iter().any(|function| functions[*function].range.contains_range(*range))
        })
    };
    (is_contained(before) && is_contained(after)).then_some(changed)
}

impl<'a> Version<'a> {
    fn slice(self, range: TextRange) -> &'a str {
        self.text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default()
    }

    fn is_generator(self, function: FunctionIndex) -> bool {
        self.index.signatures.get(function).is_some_and(|signature| signature.is_generator)
    }

    /// `def g(x):`
    fn header(self, function: FunctionIndex) -> &'a str {
        let start = self.index.definitions.functions[function].range.start();
        let end = self.index.signatures.get(function).map_or(start, |signature| signature.body_at);
        self.slice(TextRange::new(start, end.max(start)))
    }
}

/// Whether two texts differ in white space and comments only.
fn same_code(before: &str, after: &str) -> bool {
    before == after || tokens(before) == tokens(after)
}

fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    let code = parsed.tokens().iter().filter(|token| !token.kind().is_trivia());
    let text_of = |range: TextRange| text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
    code.map(|token| match token.kind() {
        kind @ (TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent) => (kind, String::new()),
        kind => (kind, text_of(token.range()).to_owned()),
    })
    .collect()
}
