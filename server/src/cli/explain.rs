//! `ag-lsp explain`: the manual page of a rule, and the list of rules.

use std::iter;

use ag_index::dialect::Dialect;
use ag_rules::selection::Selector;
use ag_rules::{FixAvailability, Rule, registry};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::ExitStatus;
use crate::manual;
use crate::printer::Printer;

/// Explain a rule, or list the rules.
#[derive(Args)]
pub(crate) struct Explain {
    /// The code or the name of a rule, in any case; a prefix (AG1) lists the rules that start with it.
    #[arg(value_name = "RULE", value_parser = selector)]
    rules: Option<Selector>,

    /// Explain every rule.
    #[arg(long, conflicts_with = "rules")]
    all: bool,

    /// The output format.
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

/// Converts codes and prefixes to upper case, and names to lower case.
fn selector(text: &str) -> Result<Selector, String> {
    let upper = text.to_ascii_uppercase();
    let is_code = upper == "ALL"
        || upper.strip_prefix("AG").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let selector = if is_code { upper.parse() } else { text.to_ascii_lowercase().parse() };
    selector.map_err(|error: ag_rules::selection::SelectorError| error.to_string())
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let is_meant = |rule: &&Rule| self.rules.as_ref().is_none_or(|selector| selector.matches(rule));
        let rules: Vec<&Rule> = registry::RULES.iter().copied().filter(is_meant).collect();
        let one = match (&self.rules, rules.as_slice()) {
            (Some(Selector::Rule(_)), [rule]) => Some(*rule),
            _ => None,
        };
        let text = match (self.output_format, one) {
            (Format::Json, Some(rule)) => serde_json::to_string_pretty(&item(rule))? + "\n",
            (Format::Json, None) => {
                serde_json::to_string_pretty(&rules.iter().map(|rule| item(rule)).collect::<Vec<_>>())? + "\n"
            }
            (Format::Text, Some(rule)) => manual::page(rule),
            (Format::Text, None) if self.all => {
                rules.iter().map(|rule| manual::page(rule)).collect::<Vec<_>>().join("\n")
            }
            (Format::Text, None) => table(&rules),
        };
        Printer::new(None)?.write(&text)?;
        Ok(ExitStatus::Clean)
    }
}

/// Returns a line for each rule, in columns.
fn table(rules: &[&Rule]) -> String {
    let header = ["code", "name", "severity", "fix", "dialects", "summary"].map(str::to_owned);
    let rows: Vec<_> = iter::once(header).chain(rules.iter().map(|rule| row(rule))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let cells = iter::zip(row, widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(rule: &Rule) -> [String; 6] {
    let fix = match rule.fix {
        FixAvailability::None => "-",
        FixAvailability::Sometimes => "sometimes",
        FixAvailability::Always => "always",
    };
    let dialects = match rule.dialects.len() == Dialect::ALL.len() {
        true => "all".to_owned(),
        false => manual::dialects(rule).join(", "),
    };
    let off = if rule.default { "" } else { " (off by default)" };
    [
        rule.code.to_owned(),
        rule.name.to_owned(),
        rule.severity.as_str().to_owned(),
        fix.to_owned(),
        dialects,
        format!("{}{off}", rule.summary),
    ]
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
