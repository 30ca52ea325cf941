//! Completes rule names in suppression comments.

use ruff_text_size::{TextRange, TextSize};

use ag_db::Db;
use ag_db::{Document, text};
use ag_rules::{Check, Rule, registry};

pub struct Completion {
    /// The range of the prefix that has been typed so far.
    pub range: TextRange,
    pub rules: Vec<&'static Rule>,
}

/// Completes the rules of a suppression comment: `# ag: ignore[AG1▮`.
pub fn completion(db: &dyn Db, document: Document, offset: TextSize) -> Option<Completion> {
    let source = text(db, document);
    let before = source.as_str().get(..offset.to_usize())?;
    let line = before.rsplit(['\n', '\r']).next()?;
    let (_, comment) = line.split_once('#')?;
    let directive = comment.rsplit('#').next()?.trim_start().strip_prefix("ag:")?.trim_start();
    let rest = directive.strip_prefix("ignore")?;
    let listed = rest.strip_prefix("-file").unwrap_or(rest).trim_start().strip_prefix('[')?;
    if listed.contains(']') {
        return None;
    }
    let typed = listed.rsplit(',').next().unwrap_or(listed).trim_start();
    let range = TextRange::new(offset - TextSize::of(typed), offset);
    let rules = registry::RULES.iter().copied().filter(|rule| !matches!(rule.check, Check::Engine)).collect();
    Some(Completion { range, rules })
}
