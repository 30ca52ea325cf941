//! Finds the project's Python interpreter. Only the commands that run user code on request start it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use ag_project::config;
use ag_project::config::Settings;
use ruff_db::system::{OsSystem, SystemPath};

/// Checks whether the runtime is installed without importing it; reports the result as exit code.
const PROBE: &str = "import importlib.util as u, sys
spec = u.find_spec('autograph')
from importlib.machinery import PathFinder
runtime = spec and PathFinder.find_spec('autograph._runtime', spec.submodule_search_locations)
sys.exit(3 if not runtime else 4 if not u.find_spec('torch') else 0)";

/// Returns the interpreter at a path, which may be a virtual environment. The default is the first of these that
/// exists: the interpreter of the configuration, of the active environment, of a `.venv` in the folder or above it, and
/// the first on the PATH.
pub(crate) fn find(given: Option<&Path>, folder: &Path) -> anyhow::Result<PathBuf> {
    let configured = if given.is_none() { configured(folder)? } else { None };
    if let Some(given) = given.or(configured.as_deref()) {
        let inside = in_environment(given);
        return match () {
            () if given.is_file() => Ok(given.to_path_buf()),
            () if inside.is_file() => Ok(inside),
            () => anyhow::bail!("`{}` is not a Python interpreter or virtual environment", given.display()),
        };
    }
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let above = folder.ancestors().map(|folder| folder.join(".venv"));
    let found =
        active.chain(above).map(|environment| in_environment(&environment)).find(|python| python.is_file());
    let names: &[&str] = if cfg!(windows) { &["python.exe"] } else { &["python3", "python"] };
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || {
        let folders: Vec<PathBuf> = env::split_paths(&path).collect();
        names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find(|python| python.is_file())
    };
    found
        .or_else(on_path)
        .ok_or_else(|| anyhow::anyhow!("no Python found; activate an environment or pass `--python PATH`"))
}

/// Returns the interpreter of the project's configuration: `python = ".venv"`.
fn configured(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    // Configuration requires UTF-8 paths.
    let Some(folder) = SystemPath::from_std_path(folder) else { return Ok(None) };
    let Some(file) = config::closest(&OsSystem::new(folder), folder, &mut |_| {})? else { return Ok(None) };
    let root = file.path.parent().unwrap_or(folder).to_path_buf();
    let settings = Settings::resolve(&[file.options], &root);
    Ok(settings.python.map(|python| python.as_std_path().to_path_buf()))
}

/// Returns an error with installation instructions if the runtime is not installed for this interpreter.
pub(crate) fn require_runtime(python: &Path) -> anyhow::Result<()> {
    let answer = Command::new(python).args(["-c", PROBE]).output();
    let answer = answer.map_err(|error| anyhow::anyhow!("`{}` does not start: {error}", python.display()))?;
    match answer.status.code() {
        Some(0) => Ok(()),
        Some(3) => anyhow::bail!(
            "the runtime is not installed for `{python}`; in a checkout of ag-lsp, run `runtime/setup && \
             {python} -m pip install ./runtime`",
            python = python.display()
        ),
        Some(4) => anyhow::bail!(
            "torch is not installed for `{python}`; run `{python} -m pip install 'torch==2.11.*'`",
            python = python.display()
        ),
        _ => anyhow::bail!(
            "`{}` does not work: {}",
            python.display(),
            String::from_utf8_lossy(&answer.stderr).lines().last().unwrap_or("no output")
        ),
    }
}

fn in_environment(environment: &Path) -> PathBuf {
    if cfg!(windows) { environment.join("Scripts/python.exe") } else { environment.join("bin/python") }
}
