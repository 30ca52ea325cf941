//! The Python environment in which imports are resolved: the active virtual environment, or a given one.

use ruff_db::system::{System, SystemPath, SystemPathBuf};
use ruff_python_ast::PythonVersion;
use ty_site_packages::{PythonEnvironment, SysPrefixPathOrigin};

/// A Python version and its folders of installed packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    pub python_version: PythonVersion,
    pub site_packages: Vec<SystemPathBuf>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { python_version: PythonVersion::PY312, site_packages: Vec::new() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    #[error("`{path}` is not a Python environment: {reason}")]
    NotAnEnvironment { path: SystemPathBuf, reason: String },
}

/// Returns the environment to use: `python` (a virtual environment or an interpreter) if given, else the active one
/// (`VIRTUAL_ENV`, conda), else `.venv` under `root`, else one without packages. No interpreter is run.
pub fn discover(
    system: &dyn System,
    root: &SystemPath,
    python: Option<&SystemPath>,
) -> Result<Environment, EnvironmentError> {
    let found = match python {
        Some(path) => Some(
            PythonEnvironment::new(path, SysPrefixPathOrigin::PythonCliFlag, system).map_err(|error| {
                EnvironmentError::NotAnEnvironment { path: path.to_path_buf(), reason: error.to_string() }
            })?,
        ),
        None => PythonEnvironment::discover(Some(root), system).unwrap_or_default(),
    };
    let mut environment = Environment::default();
    let Some(found) = found else { return Ok(environment) };
    // The system's Python is used only if it is configured explicitly.
    if python.is_none() && !found.is_virtual() {
        return Ok(environment);
    }
    if let Ok(paths) = found.site_packages_paths(system) {
        if let Some(version) = paths.python_version_from_layout() {
            environment.python_version = version.version;
        }
        environment.site_packages = paths.into_vec();
    }
    if let Some(version) = found.python_version_from_metadata() {
        environment.python_version = version.version;
    }
    Ok(environment)
}
