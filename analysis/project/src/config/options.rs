//! The keys of a configuration file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::error::ConfigError;
use ag_index::dialect::Dialect;
use ag_rules::selection::{Level, Selection, Selector};

/// The options of ag-lsp: the table `[tool.ag-lsp]` of `pyproject.toml`, or the whole of `ag-lsp.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(title = "ag-lsp")]
pub struct Options {
    /// The rules to run, instead of the default ones: codes (`AG101`), prefixes (`AG1`), names
    /// (`undefined-branch`) or `ALL`.
    ///
    /// `select = ["AG1", "AG303"]`
    pub select: Option<Vec<Selector>>,

    /// Rules to run in addition to the selected ones.
    ///
    /// `extend-select = ["unrolled-loop"]`
    pub extend_select: Vec<Selector>,

    /// Rules not to run. If `select` and `ignore` conflict, the more specific one wins.
    ///
    /// `ignore = ["AG4"]`
    pub ignore: Vec<Selector>,

    /// Rules not to run on files that match a glob, relative to the configuration file.
    ///
    /// `per-file-ignores = { "tests/*" = ["AG3"], "legacy.py" = ["ALL"] }`
    #[serde(deserialize_with = "globs_as_keys")]
    pub per_file_ignores: BTreeMap<String, Vec<Selector>>,

    /// The severity of a rule: `info`, `warning`, `error`; or `off`.
    ///
    /// `severity = { AG303 = "info", AG4 = "off" }`
    pub severity: BTreeMap<Selector, Level>,

    /// The enabled dialects; all by default.
    ///
    /// `dialects = ["tensorflow", "keras"]`
    pub dialects: Option<Vec<Dialect>>,

    /// Functions to treat as staged although no code in the project stages them: `package.module.function` or
    /// `package.module.Class.method`.
    ///
    /// `roots = ["project.training.step"]`
    pub roots: Option<Vec<String>>,

    /// Infer types in all files of a large project. By default only the code near the roots of a project of
    /// more than 256 files is analyzed, which takes a second instead of a minute and finds less.
    ///
    /// `thorough = true`
    pub thorough: Option<bool>,

    /// The folders from which the project imports its own modules, relative to the configuration file; by
    /// default its folder and `src`.
    ///
    /// `src = ["lib"]`
    pub src: Option<Vec<String>>,

    /// The virtual environment or interpreter whose packages the project imports; by default the active one,
    /// then `.venv`.
    ///
    /// `python = ".venv"`
    pub python: Option<String>,

    /// Globs of files and folders to exclude, instead of the default ones (`.git`, `.venv`, `build`,
    /// `node_modules`, …). A file named on the command line is always checked.
    ///
    /// `exclude = ["third_party"]`
    #[serde(deserialize_with = "some_globs")]
    pub exclude: Option<Vec<String>>,

    /// Globs of files and folders to exclude in addition to `exclude`.
    ///
    /// `extend-exclude = ["generated/*.py"]`
    #[serde(deserialize_with = "globs")]
    pub extend_exclude: Vec<String>,
}

impl Options {
    /// Reads the text of an `ag-lsp.toml`.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::from_toml(&error, text))
    }

    /// Reads the `[tool.ag-lsp]` table of a `pyproject.toml`, if there is one.
    pub fn from_pyproject(text: &str) -> Result<Option<Self>, ConfigError> {
        #[derive(Deserialize)]
        struct Pyproject {
            tool: Option<Tool>,
        }
        #[derive(Deserialize)]
        struct Tool {
            #[serde(rename = "ag-lsp")]
            own: Option<Options>,
        }
        let pyproject: Pyproject =
            toml::from_str(text).map_err(|error| ConfigError::from_toml(&error, text))?;
        Ok(pyproject.tool.and_then(|tool| tool.own))
    }

    pub(super) fn selection(&self) -> Selection {
        Selection {
            select: self.select.clone(),
            extend_select: self.extend_select.clone(),
            ignore: self.ignore.clone(),
            severity: self.severity.clone(),
        }
    }
}

fn checked<E: serde::de::Error>(glob: &str) -> Result<(), E> {
    match super::parse_glob(glob) {
        Some(_) => Ok(()),
        None => Err(E::custom(format!("invalid glob `{glob}`"))),
    }
}

fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let globs = Vec::<String>::deserialize(deserializer)?;
    globs.iter().try_for_each(|glob| checked(glob))?;
    Ok(globs)
}

fn some_globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    globs(deserializer).map(Some)
}

fn globs_as_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<Selector>>, D::Error> {
    let rules = BTreeMap::<String, Vec<Selector>>::deserialize(deserializer)?;
    rules.keys().try_for_each(|glob| checked(glob))?;
    Ok(rules)
}
