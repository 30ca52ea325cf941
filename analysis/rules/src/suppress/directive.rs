//! Parses `# ag: ignore…` comments.

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Parsed;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::lines::{Line, Lines};
use crate::selection::Selector;
use crate::{Rule, registry};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    File,
    Line(Line),
}

/// A single `# ag: ignore…`. A comment may contain several directives, and pragmas of other tools.
#[derive(Debug)]
pub(super) struct Directive {
    pub(super) scope: Scope,
    /// The range from the `#` to the closing bracket, or to the end of `ignore` or `ignore-file` if there are no
    /// brackets.
    pub(super) range: TextRange,
    /// The listed rules; `None` if the directive applies to every rule.
    pub(super) list: Option<List>,
    pub(super) errors: Vec<DirectiveError>,
}

impl Directive {
    pub(super) fn covers(&self, code: &str) -> bool {
        match &self.list {
            None => self.errors.is_empty(),
            Some(list) => list.codes.iter().any(|listed| listed.rule.is_some_and(|rule| rule.code == code)),
        }
    }
}

#[derive(Debug)]
pub(super) struct List {
    /// The text between the brackets.
    pub(super) range: TextRange,
    pub(super) codes: Vec<Code>,
}

#[derive(Debug)]
pub(super) struct Code {
    pub(super) range: TextRange,
    /// The rule with this code or name; `None` if there is no such rule.
    pub(super) rule: Option<&'static Rule>,
}

/// An error in a directive.
#[derive(Debug)]
pub(super) struct DirectiveError {
    pub(super) range: TextRange,
    pub(super) message: String,
}

pub(super) fn collect(text: &str, parsed: &Parsed<ModModule>, lines: &Lines) -> Vec<Directive> {
    let mut directives = Vec::new();
    let head = head(parsed);
    let comments = parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Comment);
    for comment in comments.map(Ranged::range) {
        let starts = text[comment].match_indices('#');
        for start in starts.map(|(index, _)| comment.start() + size(index)) {
            let rest = TextRange::new(start, comment.end());
            if let Some((mut directive, for_file)) = read(text, rest) {
                directive.scope = match for_file {
                    true => Scope::File,
                    false => Scope::Line(lines.physical(start)),
                };
                if for_file && !(start < head && lines.is_on_own_line(start, text)) {
                    let message = "`ignore-file` must be on its own line before the first statement";
                    directive
                        .errors
                        .push(DirectiveError { range: directive.range, message: message.to_owned() });
                    directive.list = None;
                }
                directives.push(directive);
            }
        }
    }
    directives
}

/// Returns the start of the first statement other than a docstring.
fn head(parsed: &Parsed<ModModule>) -> TextSize {
    let mut statements = parsed.suite().iter();
    let first = statements.next();
    let docstring =
        first.and_then(|first| first.as_expr_stmt()).filter(|first| first.value.is_string_literal_expr());
    let first = if docstring.is_some() { statements.next() } else { first };
    first.map_or(TextSize::from(u32::MAX), Ranged::start)
}

/// Parses `# ag: ignore[AG101, …]` or `# ag: ignore-file[AG101, …]` at the start of `range`. The flag is true for
/// `ignore-file`.
fn read(text: &str, range: TextRange) -> Option<(Directive, bool)> {
    let comment = &text[range];
    let rest =
        comment.strip_prefix('#')?.trim_start().strip_prefix("ag:")?.trim_start().strip_prefix("ignore")?;
    let (rest, for_file) = match rest.strip_prefix("-file") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    if rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_')) {
        return None;
    }
    let at = |rest: &str| range.end() - TextSize::of(rest);
    let mut directive = Directive {
        scope: Scope::File,
        range: TextRange::new(range.start(), at(rest)),
        list: None,
        errors: Vec::new(),
    };
    if let Some(inside) = rest.trim_start().strip_prefix('[') {
        let Some(length) = inside.find(']') else {
            directive
                .errors
                .push(DirectiveError { range: directive.range, message: "unclosed `[`".to_owned() });
            return Some((directive, for_file));
        };
        let list = TextRange::at(at(inside), size(length));
        directive.range = TextRange::new(range.start(), list.end() + TextSize::of(']'));
        let (codes, mut errors) = codes(text, list);
        directive.errors.append(&mut errors);
        directive.list = Some(List { range: list, codes });
    }
    Some((directive, for_file))
}

fn codes(text: &str, list: TextRange) -> (Vec<Code>, Vec<DirectiveError>) {
    let mut codes = Vec::new();
    let mut errors = Vec::new();
    let mut start = list.start();
    for item in text[list].split(',') {
        let name = item.trim();
        let at = start + TextSize::of(item) - TextSize::of(item.trim_start());
        start += TextSize::of(item) + TextSize::of(',');
        if name.is_empty() {
            continue;
        }
        let range = TextRange::at(at, TextSize::of(name));
        let rule = registry::find(name);
        match name.parse::<Selector>() {
            Ok(_) if rule.is_some() => {}
            Ok(_) => errors.push(DirectiveError {
                range,
                message: format!("`{name}` is a group of rules; list each rule"),
            }),
            Err(error) => errors.push(DirectiveError { range, message: error.to_string() }),
        }
        codes.push(Code { range, rule });
    }
    if codes.is_empty() {
        errors.push(DirectiveError { range: list, message: "no rule between the brackets".to_owned() });
    }
    (codes, errors)
}

/// Returns an offset in a comment; parsed texts are shorter than 4 GiB.
fn size(index: usize) -> TextSize {
    TextSize::try_from(index).unwrap_or_default()
}
