//! The settings of a project: `[tool.ag-lsp]` in `pyproject.toml`, or `ag-lsp.toml`.
//!
//! [`Options`] is what a file says, key by key (and the source of the JSON schema); [`Settings`]
//! is what it means after defaults and the command line.

mod options;
mod selection;

pub use options::{ConfigError, Options};
pub use selection::{RuleTable, Selector, SelectorError};

use ruff_db::system::SystemPathBuf;

use crate::staging::dialect::Dialect;

/// Everything a run is told, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which rules run, and how severe they are.
    pub rules: RuleTable,
    /// Rules switched off for files that match a glob, relative to the project's root.
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,
    /// Dialects that are looked for; all by default.
    pub dialects: Vec<Dialect>,
    /// Functions that are roots by configuration: `pkg.module.function`, `pkg.module.Class.method`.
    pub roots: Vec<String>,
    /// Every function of the given files is a root (`--roots all`).
    pub all_roots: bool,
    /// Import roots inside the project, by default the root and `src/`.
    pub src: Vec<SystemPathBuf>,
    /// A virtual environment or an interpreter; by default the active one, then `.venv`.
    pub python: Option<SystemPathBuf>,
    /// Globs of files and folders that are passed over.
    pub exclude: Vec<String>,
}
