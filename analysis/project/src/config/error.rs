//! Configuration errors with location, key and remedy.

use std::fmt;

use ruff_db::system::SystemPathBuf;
use toml::de::{DeTable, DeValue};

use ag_rules::selection::similar;

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file; `None` if the text came from the command line.
    pub path: Option<SystemPathBuf>,
    /// Line and column, one-based.
    pub position: Option<(usize, usize)>,
    /// The affected key: `tool.ag-lsp.select`.
    pub key: Option<String>,
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl ConfigError {
    pub(super) fn io(path: SystemPathBuf, error: &std::io::Error) -> Self {
        let help = Some("pass the path of a readable TOML file".to_owned());
        Self { path: Some(path), position: None, key: None, message: error.to_string(), help }
    }

    pub(super) fn from_toml(error: &toml::de::Error, text: &str) -> Self {
        let start = error.span().map(|span| span.start);
        let key = start.and_then(|offset| key_at(text, offset));
        let (message, help) = reword(error.message(), key.as_deref());
        Self { path: None, position: start.map(|offset| position(text, offset)), key, message, help }
    }

    pub(super) fn in_file(mut self, path: SystemPathBuf) -> Self {
        self.path = Some(path);
        self
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.position) {
            (Some(path), Some((line, column))) => write!(f, "{path}:{line}:{column}: ")?,
            (Some(path), None) => write!(f, "{path}: ")?,
            (None, _) => {}
        }
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

/// Rewords serde's message "unknown field `selct`, expected one of `select`, `ignore`". The first name in the message
/// is the name that was found; the other names are valid.
fn reword(message: &str, key: Option<&str>) -> (String, Option<String>) {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = if message.starts_with("unknown field") {
        "unknown key"
    } else if message.starts_with("unknown variant") {
        "unknown value"
    } else if message.starts_with("unknown rule") {
        return (message.to_owned(), Some("`ag-lsp explain` lists the rules".to_owned()));
    } else {
        let message =
            message.trim().replace('\n', "; ").replace("a sequence", "a list").replace("a map", "a table");
        let option =
            key.map(|key| key.rsplit("ag-lsp.").next().unwrap_or(key).split('.').next().unwrap_or(key));
        return (message, option.map(|option| format!("`ag-lsp config {option}` shows the valid values")));
    };
    let found = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    let help = match similar(found, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!(
            "valid values are {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    (format!("{unknown} `{found}`"), Some(help))
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Returns the dotted path of the innermost key whose name or value covers `offset`.
fn key_at(text: &str, offset: usize) -> Option<String> {
    fn descend(table: &DeTable, offset: usize, path: &mut Vec<String>) {
        for (key, value) in table {
            // The span of `[tool.ag-lsp]` covers only the header, so tables are visited even if their span does not
            // contain the offset.
            let depth = path.len();
            path.push(key.get_ref().to_string());
            if let DeValue::Table(inner) = value.get_ref() {
                descend(inner, offset, path);
                if path.len() > depth + 1 {
                    return;
                }
            }
            if key.span().contains(&offset) || value.span().contains(&offset) {
                return;
            }
            path.truncate(depth);
        }
    }
    let table = DeTable::parse(text).ok()?;
    let mut path = Vec::new();
    descend(table.get_ref(), offset, &mut path);
    (!path.is_empty()).then(|| path.join("."))
}
