//! The project's Python, to run what the user asks to be run. Nothing else in the server starts a program of the user.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `pip` calls the runtime.
const DISTRIBUTION: &str = "ag-runtime";

/// Says with its exit status whether the runtime is there, without importing it.
const PROBE: &str = "import importlib.util as u, sys
spec = u.find_spec('autograph')
from importlib.machinery import PathFinder
runtime = spec and PathFinder.find_spec('autograph._runtime', spec.submodule_search_locations)
sys.exit(0 if runtime and u.find_spec('torch') else 3)";

/// The interpreter at a path, which may be a virtual environment; without one that of the active environment, of a
/// `.venv` at or above the folder, or the first on the PATH.
pub(crate) fn find(given: Option<&Path>, folder: &Path) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        let inside = in_environment(given);
        return match () {
            () if given.is_file() => Ok(given.to_path_buf()),
            () if inside.is_file() => Ok(inside),
            () => anyhow::bail!("`{}` is no Python and no virtual environment", given.display()),
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
        .ok_or_else(|| anyhow::anyhow!("no Python: activate an environment or give `--python PATH`"))
}

/// Whether the runtime is installed for it; the message says how to install it.
pub(crate) fn has_runtime(python: &Path) -> anyhow::Result<()> {
    let answer = Command::new(python).args(["-c", PROBE]).output();
    let answer = answer.map_err(|error| anyhow::anyhow!("`{}` does not start: {error}", python.display()))?;
    match answer.status.code() {
        Some(0) => Ok(()),
        Some(3) => anyhow::bail!(
            "the runtime is not installed for `{python}`; install it with `{python} -m pip install {DISTRIBUTION}`",
            python = python.display()
        ),
        _ => anyhow::bail!(
            "`{}` does not work: {}",
            python.display(),
            String::from_utf8_lossy(&answer.stderr).lines().last().unwrap_or("it says nothing")
        ),
    }
}

fn in_environment(environment: &Path) -> PathBuf {
    if cfg!(windows) { environment.join("Scripts/python.exe") } else { environment.join("bin/python") }
}
