//! `ag-lsp run`: a program of the user, in the project's Python, where the runtime is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::ExitStatus;
use crate::interpreter;

/// Run a Python program whose functions are staged by `import autograph`.
///
/// The program runs in the project's Python: the active virtual environment, a `.venv` beside or above it, or the
/// first on the PATH. The exit status is the program's.
#[derive(Args)]
#[command(after_help = "Example: ag-lsp run train.py --epochs 3")]
pub(crate) struct Run {
    /// The Python, or the virtual environment, to run it in.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// The program.
    #[arg(value_name = "SCRIPT.py")]
    script: PathBuf,

    /// Its arguments.
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<std::ffi::OsString>,
}

impl Run {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        anyhow::ensure!(self.script.is_file(), "there is no file `{}`", self.script.display());
        let script = std::path::absolute(&self.script)?;
        let python = interpreter::find(self.python.as_deref(), script.parent().unwrap_or(Path::new("/")))?;
        interpreter::has_runtime(&python)?;
        let mut program = Command::new(&python);
        program.arg(&self.script).args(&self.arguments);
        become_or_wait(program)
    }
}

/// The process becomes the program, so that signals and the exit status are its own.
#[cfg(unix)]
pub(super) fn become_or_wait(mut program: Command) -> anyhow::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(program.exec().into())
}

#[cfg(not(unix))]
pub(super) fn become_or_wait(mut program: Command) -> anyhow::Result<ExitStatus> {
    std::process::exit(program.status()?.code().unwrap_or(1))
}
