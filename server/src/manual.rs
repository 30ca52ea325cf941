//! The documentation of a rule as Markdown, for terminals, web pages and SARIF.

use ag_rules::{FixAvailability, Rule};

/// Returns the documentation with its title.
pub(crate) fn page(rule: &Rule) -> String {
    let fix = match rule.fix {
        FixAvailability::None => "No fix is available.",
        FixAvailability::Sometimes => "A fix is sometimes available.",
        FixAvailability::Always => "A fix is always available.",
    };
    let default = if rule.default { "on" } else { "off" };
    format!(
        "# {} ({})\n\n{}.\n\nSeverity: {}; {default} by default; since {}. Dialects: {}. {fix}\n\n{}\n",
        rule.name,
        rule.code,
        capitalised(rule.summary.trim_end_matches('.')),
        rule.severity.as_str(),
        rule.since,
        dialects(rule).join(", "),
        body(rule),
    )
}

/// Returns the rule's doc comment; each of its lines starts with a space.
pub(crate) fn body(rule: &Rule) -> String {
    let lines = rule.docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

pub(crate) fn dialects(rule: &Rule) -> Vec<&'static str> {
    rule.dialects.iter().map(|dialect| dialect.as_str()).collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
