//! The settings of a project: `[tool.ag-lsp]` in `pyproject.toml`, or `ag-lsp.toml`.
//!
//! [`Options`] represents one file or the command line, key by key, and is the source of the JSON schema. [`Settings`]
//! is the result of merging several [`Options`].

mod discovery;
mod error;
mod options;

use ag_rules::selection::{RuleTable, Selection, Selector};
use ag_staging::options::StagingOptions;
pub use discovery::{ConfigFile, closest, project_root};
pub use error::ConfigError;
pub use options::Options;

use std::borrow::Cow;

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};
use ruff_db::system::{SystemPath, SystemPathBuf};

use ag_index::dialect::Dialect;

/// Folders without code of the project.
pub const DEFAULT_EXCLUDE: &[&str] = &[
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
];

/// The resolved configuration of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which rules run, and how severe they are.
    pub rules: RuleTable,
    /// The rules that are disabled for files that match a glob. Globs are relative to the project's root.
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,
    /// The enabled dialects. By default, all are enabled.
    pub dialects: Vec<Dialect>,
    /// Functions that are roots by configuration: `pkg.module.function`, `pkg.module.Class.method`.
    pub roots: Vec<String>,
    /// Whether every function of the given files is a root (`--roots all`).
    pub all_roots: bool,
    /// Whether types are inferred in all files of a large project, as in a small one.
    pub thorough: bool,
    /// Whether functions are followed as values in a large project, too. This takes seconds.
    pub follows_values: bool,
    /// Whether imports from files of the project that are not analyzed have unknown types. This is the case before the
    /// whole project is analyzed, while only the files that are open in an editor are.
    pub isolated: bool,
    /// The import roots inside the project. If the list is empty, they are the project's root and `src/`.
    pub src: Vec<SystemPathBuf>,
    /// A virtual environment or an interpreter. By default, it is the active one, otherwise `.venv`.
    pub python: Option<SystemPathBuf>,
    /// Globs of excluded files and folders.
    pub exclude: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: RuleTable::default(),
            per_file_ignores: Vec::new(),
            dialects: Dialect::ALL.to_vec(),
            roots: Vec::new(),
            all_roots: false,
            thorough: false,
            follows_values: false,
            isolated: false,
            src: Vec::new(),
            python: None,
            exclude: DEFAULT_EXCLUDE.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Settings {
    /// Returns the options of the staging analysis.
    pub fn staging(&self) -> StagingOptions {
        StagingOptions {
            dialects: self.dialects.clone(),
            roots: self.roots.clone(),
            all_roots: self.all_roots,
            thorough: self.thorough,
            follows_values: self.follows_values,
            isolated: self.isolated,
        }
    }

    /// Merges options. The last ones have the highest precedence. Relative paths are resolved against `root`.
    pub fn resolve(layers: &[Options], root: &SystemPath) -> Self {
        let selections: Vec<Selection> = layers.iter().map(Options::selection).collect();
        let mut settings = Self { rules: RuleTable::resolve(&selections), ..Self::default() };
        let mut extend_exclude = Vec::new();
        for layer in layers {
            if let Some(dialects) = &layer.dialects {
                settings.dialects.clone_from(dialects);
            }
            if let Some(thorough) = layer.thorough {
                settings.thorough = thorough;
            }
            if let Some(roots) = &layer.roots {
                settings.roots.clone_from(roots);
            }
            if let Some(src) = &layer.src {
                settings.src = src.iter().map(|path| SystemPath::absolute(path, root)).collect();
            }
            if let Some(python) = &layer.python {
                settings.python = Some(SystemPath::absolute(python, root));
            }
            if let Some(exclude) = &layer.exclude {
                settings.exclude.clone_from(exclude);
            }
            extend_exclude.extend_from_slice(&layer.extend_exclude);
            let ignores = &layer.per_file_ignores;
            settings
                .per_file_ignores
                .extend(ignores.iter().map(|(glob, rules)| (glob.clone(), rules.clone())));
        }
        settings.exclude.append(&mut extend_exclude);
        settings
    }

    /// Returns the rules for one file. `relative` is its path relative to the project's root.
    pub fn rules_for(&self, relative: &SystemPath) -> Cow<'_, RuleTable> {
        let mut rules = Cow::Borrowed(&self.rules);
        for (glob, ignored) in &self.per_file_ignores {
            if parse_glob(glob).is_some_and(|glob| matches(&glob.compile_matcher(), relative)) {
                rules.to_mut().switch_off(ignored);
            }
        }
        rules
    }
}

/// The globs of excluded files and folders, compiled for a directory walk.
#[derive(Clone, Debug)]
pub struct Exclusion(GlobSet);

impl Exclusion {
    pub fn new(settings: &Settings) -> Self {
        let mut globs = GlobSetBuilder::new();
        for glob in settings.exclude.iter().filter_map(|glob| parse_glob(glob)) {
            globs.add(glob);
        }
        Self(globs.build().unwrap_or_else(|_| GlobSet::empty()))
    }

    /// Returns whether a file or folder is excluded. `relative` is its path relative to the project's root.
    pub fn covers(&self, relative: &SystemPath) -> bool {
        self.0.is_match(relative.as_std_path())
            || relative.file_name().is_some_and(|name| self.0.is_match(name))
    }
}

/// Parses a glob. Options reject invalid globs when they are parsed, so the result is never `None` here.
fn parse_glob(glob: &str) -> Option<Glob> {
    Glob::new(glob.strip_suffix('/').unwrap_or(glob)).ok()
}

/// Returns whether a glob matches the path, the name or a parent folder of a file: `tests/*`, `*_test.py`.
fn matches(glob: &GlobMatcher, relative: &SystemPath) -> bool {
    relative.ancestors().any(|path| {
        glob.is_match(path.as_std_path()) || path.file_name().is_some_and(|name| glob.is_match(name))
    })
}
