//! What a run found, ready to be shown: places have lines and columns, files have names.
//!
//! Each output format is a file of its own: a function from a [`Report`] to text.

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
pub(crate) use source::{Place, Source};
pub(crate) use statistics::statistics;
pub(crate) use summary::{plural, summary};

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The source with the findings in it, the reasons, and the fixes.
    Full,
    /// A line for each finding.
    Concise,
    /// By file.
    Grouped,
    /// One JSON array.
    Json,
    /// A JSON object for each line.
    JsonLines,
    /// GitHub Actions' annotations.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// `JUnit`'s XML.
    Junit,
    /// Reviewdog's JSON.
    Rdjson,
    /// SARIF 2.1.0.
    Sarif,
}

impl Format {
    /// Whether people read it, who like a closing sentence.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Full | Self::Concise | Self::Grouped)
    }
}

/// The findings of a run, by path and position.
pub(crate) struct Report {
    pub(crate) violations: Vec<Violation>,
}

pub(crate) struct Violation {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) place: Place,
    pub(crate) labels: Vec<Remark>,
    pub(crate) why: Vec<Remark>,
    pub(crate) help: Option<String>,
    pub(crate) fix: Option<Fix>,
}

/// A further sentence about a violation.
pub(crate) struct Remark {
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
}

impl Remark {
    /// The sentence with its place: "`x` is a Tensor (model.py:3:7)".
    pub(crate) fn sentence(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({})", self.message, place.shown()),
            None => self.message.clone(),
        }
    }
}

/// A repair; edits are sorted and do not overlap.
pub(crate) struct Fix {
    pub(crate) message: String,
    pub(crate) applicability: Applicability,
    pub(crate) edits: Vec<(Place, String)>,
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

/// The mark of a violation that can be fixed, with a space behind it.
fn fixable(violation: &Violation) -> String {
    match violation.fix.as_ref().map(|fix| mark(fix.applicability)) {
        None | Some("") => String::new(),
        Some(mark) => format!("{mark} "),
    }
}

/// `[*]`: `--fix` repairs it; `[-]`: `--unsafe-fixes` does.
fn mark(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Safe => "[*]",
        Applicability::Unsafe => "[-]",
        Applicability::Display => "",
    }
}

/// JSON as people may read it, ending with a newline.
fn pretty(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

#[cfg(test)]
mod tests;
