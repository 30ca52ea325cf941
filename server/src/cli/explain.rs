//! `ag-lsp explain`: the manual page of a rule.

use ag_rules::{FixAvailability, Rule, registry};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::ExitStatus;
use crate::manual;
use crate::printer::Printer;

/// Explain a rule, or list them all.
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
    registry::find(text).ok_or_else(|| match text.parse::<ag_rules::selection::Selector>() {
        Ok(_) => "this stands for several rules: name one".to_owned(),
        Err(error) => error.to_string(),
    })
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let rules = self.rule.as_ref().map_or(registry::RULES, std::slice::from_ref);
        let listed = self.rule.is_none() && !self.all;
        let text = match self.output_format {
            Format::Json if self.rule.is_some() => {
                serde_json::to_string_pretty(&rules.first().map(|rule| item(rule)))? + "\n"
            }
            Format::Json => {
                serde_json::to_string_pretty(&rules.iter().map(|rule| item(rule)).collect::<Vec<_>>())? + "\n"
            }
            Format::Text if listed => rules.iter().map(|rule| line(rule)).collect(),
            Format::Text => rules.iter().map(|rule| manual::page(rule)).collect::<Vec<_>>().join("\n"),
        };
        Printer::new(None)?.write(&text)?;
        Ok(ExitStatus::Clean)
    }
}

fn line(rule: &Rule) -> String {
    let off = if rule.default { "" } else { " (off by default)" };
    format!("{}  {:28} {}{off}\n", rule.code, rule.name, rule.summary)
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
        dialects: manual::dialects(rule),
        explanation: manual::body(rule),
    }
}
