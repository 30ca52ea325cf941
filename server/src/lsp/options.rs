//! The section `ag-lsp` of the editor's settings.

use ag_project::config::Options;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All settings are optional. They override the project's configuration.
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

/// The kinds of inlay hints that are shown.
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

/// The default view of converted code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ConvertedView {
    #[default]
    Simplified,
    Full,
}

/// The files whose diagnostics are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DiagnosticMode {
    #[default]
    OpenFilesOnly,
    Workspace,
}

/// The level of messages in the client's log.
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
    /// Reads `initializationOptions`, a response to `workspace/configuration`, or the parameters of
    /// `didChangeConfiguration`. The value may be the section itself or an object that contains it.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let section = value.get("ag-lsp").unwrap_or(value);
        if section.is_null() {
            return Ok(Self::default());
        }
        let mut options = Self::deserialize(section)
            .map_err(|error| format!("invalid editor settings for ag-lsp: {error}"))?;
        // Settings forms represent an unset value as an empty string.
        options.configuration = options.configuration.filter(|path| !path.is_empty());
        Ok(options)
    }

    /// Returns the settings that are also configuration keys. They override the configuration file.
    pub(crate) fn layer(&self) -> Result<Options, String> {
        let mut table = serde_json::Map::new();
        for (key, value) in [("dialects", &self.dialects), ("select", &self.select), ("ignore", &self.ignore)]
        {
            if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
                table.insert(key.to_owned(), value.clone());
            }
        }
        Options::deserialize(&Value::Object(table))
            .map_err(|error| format!("invalid editor settings for ag-lsp: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_section_may_be_nested_under_its_name() {
        let section = json!({ "select": ["AG1"], "inlayHints": { "python": true } });
        let options = EditorOptions::read(&section).unwrap();
        assert!(options.inlay_hints.staged && options.inlay_hints.python);
        assert_eq!(options.layer().unwrap().select.map(|select| select.len()), Some(1));
        assert_eq!(EditorOptions::read(&json!({ "ag-lsp": section })).unwrap(), options);
    }

    #[test]
    fn invalid_values_are_errors_and_unset_values_are_defaults() {
        assert_eq!(EditorOptions::read(&Value::Null), Ok(EditorOptions::default()));
        assert_eq!(EditorOptions::read(&json!({ "configuration": "" })), Ok(EditorOptions::default()));
        assert!(EditorOptions::read(&json!({ "diagnosticMode": 3 })).is_err());
        assert!(EditorOptions::read(&json!({ "select": ["NOPE"] })).unwrap().layer().is_err());
    }
}
