//! `ag-lsp run`: a program of the user, in the project's Python, where the runtime is installed.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::ExitStatus;
use crate::program::{self, Program};

/// Run a Python program whose functions are staged by `import autograph`.
///
/// The program runs in the project's Python: the one that the configuration names, the active virtual environment, a
/// `.venv` beside or above the program, or the first on the PATH. What follows the program is given to it as it is. The
/// exit status is the program's; it is 2 where the program cannot be started, and 130 after Ctrl-C.
///
/// Where standard error is a terminal, its last line shows which function is being staged, once that takes more than a
/// second.
#[derive(Args)]
#[command(
    override_usage = "ag-lsp run [OPTIONS] SCRIPT.py [ARGUMENTS]...\n       ag-lsp run [OPTIONS] -m MODULE [ARGUMENTS]...",
    after_help = "Examples:\n  ag-lsp run train.py --epochs 3\n  ag-lsp run -m package.train --epochs 3\n  \
                  ag-lsp run --python .venv train.py"
)]
pub(crate) struct Run {
    /// The Python, or the virtual environment, to run it in.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// The program is a module, found as `import` finds it from this folder.
    #[arg(long, short)]
    module: bool,

    /// The program, and its arguments.
    #[arg(
        value_name = "SCRIPT.py",
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(&self, verbosity: i8) -> anyhow::Result<ExitStatus> {
        let Some((name, arguments)) = self.program.split_first() else {
            anyhow::bail!("name a program: `ag-lsp run train.py`");
        };
        let program = match self.module {
            true => Program::Module(name),
            false => Program::Script(Path::new(name)),
        };
        become_or_wait(program.command(self.python.as_deref(), arguments)?, verbosity)
    }
}

/// The process becomes the program, so that signals and the exit status are its own.
pub(super) fn become_or_wait(mut command: Command, verbosity: i8) -> anyhow::Result<ExitStatus> {
    if verbosity >= 0 && std::io::stderr().is_terminal() {
        program::with_progress(&mut command);
    }
    start(command)
}

#[cfg(unix)]
fn start(mut command: Command) -> anyhow::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec().into())
}

#[cfg(not(unix))]
fn start(mut command: Command) -> anyhow::Result<ExitStatus> {
    std::process::exit(command.status()?.code().unwrap_or(1))
}
