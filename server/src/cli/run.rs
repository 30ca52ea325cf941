//! `ag-lsp run`: runs a Python program with the runtime, in the project's Python.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::ExitStatus;
use crate::program::{self, Program};

/// Run a Python program that uses the runtime (`import autograph`).
///
/// The program runs in the project's Python: the configured one, the active virtual environment, a `.venv`
/// in the folder of the program or above it, or the first one on the PATH. Arguments after the program are passed to it
/// unchanged. The exit status is the program's, or 2 if it cannot be started, or 130 after Ctrl-C.
///
/// If standard error is a terminal, its last line shows the function that is being traced, once that takes more than
/// one second.
#[derive(Args)]
#[command(
    override_usage = "ag-lsp run [OPTIONS] SCRIPT.py [ARGUMENTS]...\n       ag-lsp run [OPTIONS] -m MODULE [ARGUMENTS]...",
    after_help = "Examples:\n  ag-lsp run train.py --epochs 3\n  ag-lsp run -m package.train --epochs 3\n  \
                  ag-lsp run --python .venv train.py"
)]
pub(crate) struct Run {
    /// The Python interpreter or virtual environment that runs the program.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// Run a module, imported from the current folder, instead of a script.
    #[arg(long, short)]
    module: bool,

    /// The program and its arguments.
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
            anyhow::bail!("no program given; write e.g. `ag-lsp run train.py`");
        };
        let program = match self.module {
            true => Program::Module(name),
            false => Program::Script(Path::new(name)),
        };
        exec_or_wait(program.command(self.python.as_deref(), arguments)?, verbosity)
    }
}

/// On Unix, replaces this process by the program, so that the program receives signals directly. On other systems,
/// waits for the program.
pub(super) fn exec_or_wait(mut command: Command, verbosity: i8) -> anyhow::Result<ExitStatus> {
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
