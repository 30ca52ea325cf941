//! Rule selectors, and the table of enabled rules that they resolve to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::{Check, Rule, registry};
use ag_db::diagnostic::Severity;

/// One or more rules, as written by users.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// `ALL`.
    All,
    /// `AG`, `AG1`, `AG10`.
    Prefix(String),
    /// The code of one rule, given by its code (`AG101`) or name (`undefined-branch`).
    Rule(&'static str),
}

impl Selector {
    pub fn matches(&self, rule: &Rule) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => rule.code.starts_with(prefix.as_str()),
            Self::Rule(code) => rule.code == *code,
        }
    }

    /// Returns how specific the selector is. If two selectors conflict, the one with the larger number takes
    /// precedence.
    fn specificity(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Prefix(prefix) => prefix.len(),
            Self::Rule(_) => usize::MAX,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "ALL",
            Self::Prefix(prefix) => prefix,
            Self::Rule(code) => code,
        })
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let text = text.trim();
        if text == "ALL" {
            return Ok(Self::All);
        }
        if let Some(rule) = registry::find(text) {
            return Ok(Self::Rule(rule.code));
        }
        let prefix = text.strip_prefix("AG").is_some_and(|digits| digits.len() < 3);
        if prefix && registry::RULES.iter().any(|rule| rule.code.starts_with(text)) {
            return Ok(Self::Prefix(text.to_owned()));
        }
        let known = registry::RULES.iter().flat_map(|rule| [rule.code, rule.name]).chain(["ALL"]);
        Err(SelectorError { text: text.to_owned(), similar: similar(text, known) })
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An error that the visitor creates has the position of the string; a later error has the position of the list.
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Selector;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a rule")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Selector, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl schemars::JsonSchema for Selector {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Selector".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(ALL|AG[0-9]{0,3}|[a-z]+(-[a-z0-9]+)*)$",
        })
    }
}

/// The text names no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown rule `{text}`{}", self.similar.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default())]
pub struct SelectorError {
    text: String,
    similar: Option<&'static str>,
}

/// Returns the candidate most similar to `text`.
pub fn similar<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&text.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// The configured severity of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Off,
    Info,
    Warning,
    Error,
}

impl Level {
    fn severity(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::Info => Some(Severity::Info),
            Self::Warning => Some(Severity::Warning),
            Self::Error => Some(Severity::Error),
        }
    }
}

/// The rule options of one source (a file or the command line).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Replaces earlier selections.
    pub select: Option<Vec<Selector>>,
    pub extend_select: Vec<Selector>,
    pub ignore: Vec<Selector>,
    pub severity: BTreeMap<Selector, Level>,
}

/// For each rule of the registry, whether it is enabled and its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleTable {
    /// One entry per rule of [`registry::RULES`]; `None` if the rule is disabled.
    severities: Vec<Option<Severity>>,
}

impl Default for RuleTable {
    /// Returns the rules enabled by default.
    fn default() -> Self {
        Self::resolve(&[])
    }
}

impl RuleTable {
    /// Returns all rules, with their default severities.
    pub fn all() -> Self {
        Self { severities: registry::RULES.iter().map(|rule| Some(rule.severity)).collect() }
    }

    /// Merges selections, the highest precedence last.
    ///
    /// Within a selection, the more specific selector wins, and `ignore` wins a tie. A later `select` replaces
    /// earlier ones, but an earlier `ignore` still applies unless the later selector is at least as specific:
    /// with `ignore = ["AG101"]` in the file, `--select AG1` excludes AG101 and `--select AG101` runs it.
    pub fn resolve(selections: &[Selection]) -> Self {
        Self { severities: registry::RULES.iter().map(|rule| resolve_rule(rule, selections)).collect() }
    }

    /// Returns the severity of an enabled rule.
    pub fn enabled(&self, code: &str) -> Option<Severity> {
        let index = registry::RULES.binary_search_by_key(&code, |rule| rule.code).ok()?;
        *self.severities.get(index)?
    }

    pub fn switch_off(&mut self, selectors: &[Selector]) {
        for (rule, severity) in registry::RULES.iter().zip(&mut self.severities) {
            if selectors.iter().any(|selector| selector.matches(rule)) {
                *severity = None;
            }
        }
    }
}

fn resolve_rule(rule: &Rule, selections: &[Selection]) -> Option<Severity> {
    let best = |selectors: &[Selector]| {
        selectors.iter().filter(|selector| selector.matches(rule)).map(Selector::specificity).max()
    };
    // Files that cannot be checked are reported whatever the selection is.
    let unselected = matches!(rule.check, Check::Engine) && rule.severity == Severity::Error;
    let mut enabled = rule.default;
    let mut severity = Some(rule.severity);
    // The most specific `ignore` so far.
    let mut ignored = None;
    for selection in selections {
        let selected =
            best(selection.select.as_deref().unwrap_or_default()).max(best(&selection.extend_select));
        let ignore = best(&selection.ignore);
        if ignore.is_some() && ignore >= selected {
            enabled = false;
            ignored = ignored.max(ignore);
        } else if selected.is_some() {
            enabled = selected >= ignored;
        } else if selection.select.is_some() {
            enabled = unselected;
        }
        let level = selection.severity.iter().filter(|(selector, _)| selector.matches(rule));
        if let Some((_, level)) = level.max_by_key(|(selector, _)| selector.specificity()) {
            severity = level.severity();
        }
    }
    severity.filter(|_| enabled)
}
