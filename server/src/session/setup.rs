//! Finds the project root and its configuration.

use ag_project::config;
use ag_project::config::{ConfigFile, Options, Settings};
use anyhow::Context;
use ruff_db::system::{System, SystemPath, SystemPathBuf};

use crate::cli::arguments::{ConfigArgument, ProjectArguments};
use crate::printer;

pub(crate) fn current_directory() -> anyhow::Result<SystemPathBuf> {
    let cwd = std::env::current_dir().context("cannot determine the current directory")?;
    SystemPathBuf::from_path_buf(cwd)
        .map_err(|path| anyhow::anyhow!("the current directory `{}` is not UTF-8", path.display()))
}

/// Returns the folder in which the search for a configuration starts.
pub(super) fn start(system: &dyn System, cwd: &SystemPath, first: Option<&String>) -> SystemPathBuf {
    let Some(first) = first else {
        return cwd.to_path_buf();
    };
    let path = SystemPath::absolute(first, cwd);
    match path.parent() {
        Some(parent) if !system.is_directory(&path) => parent.to_path_buf(),
        _ => path,
    }
}

/// Returns the project root, the settings, and the configuration file.
pub(super) fn configure(
    system: &dyn System,
    arguments: &ProjectArguments,
    overrides: &Options,
    cwd: &SystemPath,
    start: &SystemPath,
) -> anyhow::Result<(SystemPathBuf, Settings, Option<ConfigFile>)> {
    let mut files = arguments.config.iter().filter_map(|argument| match argument {
        ConfigArgument::File(path) => Some(SystemPath::absolute(path, cwd)),
        ConfigArgument::Inline(_) => None,
    });
    let named = files.next();
    anyhow::ensure!(files.next().is_none(), "`--config` takes one file only");
    anyhow::ensure!(
        !arguments.isolated || named.is_none(),
        "`--isolated` cannot be combined with a file in `--config`"
    );
    let file = match &named {
        _ if arguments.isolated => None,
        Some(path) => ConfigFile::read(system, path)?,
        None => config::closest(system, start, &mut |error| {
            printer::warning(&format!("{error}; the file is ignored"))
        })?,
    };
    // A configuration file that was found is in the project root. One that `--config` names can be anywhere.
    let root = match &file {
        Some(file) if named.is_none() => file.path.parent().map(SystemPath::to_path_buf),
        _ => config::project_root(system, start),
    };
    let root =
        root.unwrap_or_else(|| if start.starts_with(cwd) { cwd.to_path_buf() } else { start.to_path_buf() });
    let inline = arguments.config.iter().filter_map(|argument| match argument {
        ConfigArgument::Inline(options) => Some((**options).clone()),
        ConfigArgument::File(_) => None,
    });
    let layers: Vec<Options> = file
        .iter()
        .map(|file| file.options.clone())
        .chain(inline)
        .chain([arguments.options(cwd), overrides.clone()])
        .collect();
    Ok((root.clone(), Settings::resolve(&layers, &root), file))
}
