//! The report of a run: findings with file names, lines and columns.
//!
//! Each output format has a separate file, with a function that renders a [`Report`] as text.

mod collect;
mod concise;
mod full;
mod github;
mod gitlab;
mod grouped;
mod json;
mod junit;
mod rdjson;
mod sarif;
pub(crate) mod source;
mod statistics;
mod summary;

use ag_db::diagnostic::{Applicability, Severity};
use clap::ValueEnum;

pub(crate) use collect::collect;
pub(crate) use source::{Location, Source};
pub(crate) use statistics::statistics;
pub(crate) use summary::{plural, summary};

/// The output format of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The source with the findings, their why-chains, and the fixes.
    Full,
    /// One line per finding.
    Concise,
    /// Grouped by file.
    Grouped,
    /// One JSON array.
    Json,
    /// One JSON object per line.
    JsonLines,
    /// Annotations of GitHub Actions.
    Github,
    /// The code quality report of GitLab.
    Gitlab,
    /// `JUnit` XML.
    Junit,
    /// The JSON of reviewdog.
    Rdjson,
    /// SARIF 2.1.0.
    Sarif,
}

impl Format {
    /// Returns whether people read the format. Such output ends with a summary.
    pub(crate) fn is_human_readable(self) -> bool {
        matches!(self, Self::Full | Self::Concise | Self::Grouped)
    }
}

/// The findings of a run, sorted by path and position.
pub(crate) struct Report {
    pub(crate) violations: Vec<Violation>,
}

pub(crate) struct Violation {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) location: Location,
    pub(crate) labels: Vec<RelatedMessage>,
    pub(crate) why: Vec<RelatedMessage>,
    pub(crate) help: Option<String>,
    pub(crate) fix: Option<Fix>,
}

/// A label, or a step of the why-chain.
pub(crate) struct RelatedMessage {
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
}

impl RelatedMessage {
    /// Returns the message with its location: "`x` is a Tensor (model.py:3:7)".
    pub(crate) fn sentence(&self) -> String {
        match &self.location {
            Some(location) => format!("{} ({})", self.message, location.display_location()),
            None => self.message.clone(),
        }
    }
}

/// A fix; its edits are sorted and do not overlap.
pub(crate) struct Fix {
    pub(crate) message: String,
    pub(crate) applicability: Applicability,
    pub(crate) edits: Vec<(Location, String)>,
}

pub(crate) fn render(report: &Report, format: Format) -> anyhow::Result<String> {
    Ok(match format {
        Format::Full => full::render(report),
        Format::Concise => concise::render(report),
        Format::Grouped => grouped::render(report),
        Format::Json => json::render(report)?,
        Format::JsonLines => json::render_lines(report)?,
        Format::Github => github::render(report),
        Format::Gitlab => gitlab::render(report)?,
        Format::Junit => junit::render(report)?,
        Format::Rdjson => rdjson::render(report)?,
        Format::Sarif => sarif::render(report)?,
    })
}

/// Returns the mark of a violation that has a fix, followed by a space.
fn fixable(violation: &Violation) -> String {
    match violation.fix.as_ref().map(|fix| mark(fix.applicability)) {
        None | Some("") => String::new(),
        Some(mark) => format!("{mark} "),
    }
}

/// Returns the mark of a fix: `[*]` if `--fix` applies it, `[-]` if only `--unsafe-fixes` applies it.
fn mark(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Safe => "[*]",
        Applicability::Unsafe => "[-]",
        Applicability::Display => "",
    }
}

/// Indented JSON that ends with a newline.
fn pretty(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

#[cfg(test)]
mod tests;
