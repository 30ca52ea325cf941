//! The section `ag-lsp` of an editor's configuration.

use ag_project::config::Options;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All optional; what is not said is as it is in the project's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EditorOptions {
    /// The path of an `ag-lsp.toml`, instead of the one found in the project.
    pub(crate) configuration: Option<String>,
    dialects: Option<Value>,
    select: Option<Value>,
    ignore: Option<Value>,
    pub(crate) inlay_hints: InlayHintOptions,
    pub(crate) code_lens: CodeLensOptions,
    pub(crate) converted_view: ConvertedView,
    pub(crate) diagnostic_mode: DiagnosticMode,
    pub(crate) log_level: LogLevel,
}

/// Which hints are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct InlayHintOptions {
    pub(crate) staged: bool,
    pub(crate) python: bool,
    pub(crate) assumed: bool,
}

impl Default for InlayHintOptions {
    fn default() -> Self {
        Self { staged: true, python: false, assumed: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct CodeLensOptions {
    pub(crate) enable: bool,
}

impl Default for CodeLensOptions {
    fn default() -> Self {
        Self { enable: true }
    }
}

/// How converted code is shown unless a request says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ConvertedView {
    #[default]
    Simplified,
    Full,
}

/// Whose diagnostics are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DiagnosticMode {
    #[default]
    OpenFilesOnly,
    Workspace,
}

/// What is told to the client's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Error,
    #[default]
    Warn,
    Info,
    Debug,
}

impl EditorOptions {
    /// From `initializationOptions`, an answer to `workspace/configuration` or the parameter of
    /// `didChangeConfiguration`; the section may stand by itself or under its name.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let section = value.get("ag-lsp").unwrap_or(value);
        if section.is_null() {
            return Ok(Self::default());
        }
        let mut options = Self::deserialize(section)
            .map_err(|error| format!("the editor's settings of ag-lsp: {error}"))?;
        // Forms of settings have no other way to say nothing.
        options.configuration = options.configuration.filter(|path| !path.is_empty());
        Ok(options)
    }

    /// The part that a configuration file could have said; it wins over the file.
    pub(crate) fn layer(&self) -> Result<Options, String> {
        let mut table = serde_json::Map::new();
        for (key, value) in [("dialects", &self.dialects), ("select", &self.select), ("ignore", &self.ignore)]
        {
            if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
                table.insert(key.to_owned(), value.clone());
            }
        }
        Options::deserialize(&Value::Object(table))
            .map_err(|error| format!("the editor's settings of ag-lsp: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_section_stands_by_itself_or_under_its_name() {
        let section = json!({ "select": ["AG1"], "inlayHints": { "python": true } });
        let options = EditorOptions::read(&section).unwrap();
        assert!(options.inlay_hints.staged && options.inlay_hints.python);
        assert_eq!(options.layer().unwrap().select.map(|select| select.len()), Some(1));
        assert_eq!(EditorOptions::read(&json!({ "ag-lsp": section })).unwrap(), options);
    }

    #[test]
    fn a_wrong_value_is_told_and_nothing_is_the_default() {
        assert_eq!(EditorOptions::read(&Value::Null), Ok(EditorOptions::default()));
        assert_eq!(EditorOptions::read(&json!({ "configuration": "" })), Ok(EditorOptions::default()));
        assert!(EditorOptions::read(&json!({ "diagnosticMode": 3 })).is_err());
        assert!(EditorOptions::read(&json!({ "select": ["NOPE"] })).unwrap().layer().is_err());
    }
}
