//! Finds the configuration: the closest file, in a folder or one of its ancestors.

use ruff_db::system::{System, SystemPath, SystemPathBuf};

use super::error::ConfigError;
use super::options::Options;

/// The names of configuration files. If a folder has several, the first one is used.
const NAMES: [&str; 3] = [".ag-lsp.toml", "ag-lsp.toml", "pyproject.toml"];

/// A configuration and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    pub path: SystemPathBuf,
    pub options: Options,
}

impl ConfigFile {
    /// Reads one file; `None` for a `pyproject.toml` without `[tool.ag-lsp]`.
    pub fn read(system: &dyn System, path: &SystemPath) -> Result<Option<Self>, ConfigError> {
        let text =
            system.read_to_string(path).map_err(|error| ConfigError::io(path.to_path_buf(), &error))?;
        let options = match path.file_name() {
            Some("pyproject.toml") => Options::from_pyproject(&text),
            _ => Options::from_toml(&text).map(Some),
        };
        let options = options.map_err(|error| error.in_file(path.to_path_buf()))?;
        Ok(options.map(|options| Self { path: path.to_path_buf(), options }))
    }
}

/// Returns the configuration that is closest to `folder`, in it or in an ancestor. A broken `pyproject.toml` that does
/// not mention ag-lsp is skipped, and its error is passed to `warn`.
pub fn closest(
    system: &dyn System,
    folder: &SystemPath,
    warn: &mut dyn FnMut(ConfigError),
) -> Result<Option<ConfigFile>, ConfigError> {
    for folder in folder.ancestors() {
        for path in NAMES.map(|name| folder.join(name)) {
            if !system.is_file(&path) {
                continue;
            }
            match ConfigFile::read(system, &path) {
                Ok(None) => {}
                Ok(Some(found)) => return Ok(Some(found)),
                Err(error) if belongs_to_other_tools(system, &path) => warn(error),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// Returns whether a file is a `pyproject.toml` that does not mention ag-lsp.
fn belongs_to_other_tools(system: &dyn System, path: &SystemPath) -> bool {
    path.file_name() == Some("pyproject.toml")
        && system.read_to_string(path).is_ok_and(|text| !text.contains("ag-lsp"))
}

/// Returns the root of the project that contains `folder`: the closest folder with a configuration or `.git`.
pub fn project_root(system: &dyn System, folder: &SystemPath) -> Option<SystemPathBuf> {
    let marked = |folder: &&SystemPath| {
        NAMES.iter().any(|name| system.is_file(&folder.join(name)))
            || system.path_exists(&folder.join(".git"))
    };
    folder.ancestors().find(marked).map(SystemPath::to_path_buf)
}
