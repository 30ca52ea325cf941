//! `ag-lsp explain`: the manual page of a rule.

use ag_analysis::rules::{FixAvailability, Rule, registry};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::ExitStatus;
use crate::printer::Printer;

/// Explains a rule; without one, lists them.
#[derive(Args)]
pub(crate) struct Explain {
    /// The code or the name of a rule.
    #[arg(value_name = "RULE", value_parser = rule)]
    rule: Option<&'static Rule>,

    /// Explain every rule.
    #[arg(long, conflicts_with = "rule")]
    all: bool,

    /// How the explanation is written.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct Item {
    code: &'static str,
    name: &'static str,
    summary: &'static str,
    severity: &'static str,
    default: bool,
    since: &'static str,
    fix: FixAvailability,
    dialects: Vec<&'static str>,
    explanation: String,
}

fn rule(text: &str) -> Result<&'static Rule, String> {
    registry::find(text).ok_or_else(|| match text.parse::<ag_analysis::config::Selector>() {
        Ok(_) => "this stands for several rules: name one".to_owned(),
        Err(error) => error.to_string(),
    })
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let rules = self.rule.as_ref().map_or(registry::RULES, std::slice::from_ref);
        let listed = self.rule.is_none() && !self.all;
        let text = match self.output_format {
            Format::Json if self.rule.is_some() => serde_json::to_string_pretty(&rules.first().map(|rule| item(rule)))? + "\n",
            Format::Json => serde_json::to_string_pretty(&rules.iter().map(|rule| item(rule)).collect::<Vec<_>>())? + "\n",
            Format::Text if listed => rules.iter().map(|rule| line(rule)).collect(),
            Format::Text => rules.iter().map(|rule| page(rule)).collect::<Vec<_>>().join("\n"),
        };
        Printer::new(None)?.write(&text)?;
        Ok(ExitStatus::Clean)
    }
}

fn line(rule: &Rule) -> String {
    let off = if rule.default { "" } else { " (off by default)" };
    format!("{}  {:28} {}{off}\n", rule.code, rule.name, rule.summary)
}

/// A rule in Markdown, from its title on.
pub(super) fn page(rule: &Rule) -> String {
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
        rule.summary.trim_end_matches('.'),
        rule.severity.as_str(),
        rule.since,
        dialects(rule).join(", "),
        docs(rule),
    )
}

/// Doc comments start each line with a space.
fn docs(rule: &Rule) -> String {
    let lines = rule.docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn dialects(rule: &Rule) -> Vec<&'static str> {
    rule.dialects.iter().map(|dialect| dialect.as_str()).collect()
}

fn item(rule: &Rule) -> Item {
    Item {
        code: rule.code,
        name: rule.name,
        summary: rule.summary,
        severity: rule.severity.as_str(),
        default: rule.default,
        since: rule.since,
        fix: rule.fix,
        dialects: dialects(rule),
        explanation: docs(rule),
    }
}
