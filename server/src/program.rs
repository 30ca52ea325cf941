//! Commands that execute the user's code in the project's Python. The command line and the language server share them;
//! both start them only on the user's request.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interpreter;

/// Environment variable that makes the runtime show progress on standard error.
const PROGRESS: &str = "AUTOGRAPH_PROGRESS";

/// A Python program.
pub(crate) enum Program<'a> {
    Script(&'a Path),
    /// `-m package.train`
    Module(&'a OsStr),
}

impl Program<'_> {
    /// Returns the command that runs the program with these arguments.
    pub(crate) fn command(&self, python: Option<&Path>, arguments: &[OsString]) -> anyhow::Result<Command> {
        let folder = match self {
            Self::Script(path) => folder_of(path)?,
            Self::Module(_) => std::env::current_dir()?,
        };
        let mut command = python_of(python, &folder)?;
        match self {
            // Python would parse a file name that starts with `-` as an option.
            Self::Script(path) if path.as_os_str().as_encoded_bytes().starts_with(b"-") => {
                command.arg(Path::new(".").join(path))
            }
            Self::Script(path) => command.arg(path),
            Self::Module(name) => command.arg("-m").arg(name),
        };
        command.args(arguments);
        Ok(command)
    }
}

/// Traces a function with example inputs and prints its graph.
pub(crate) struct Graph<'a> {
    pub(crate) python: Option<&'a Path>,
    pub(crate) file: &'a Path,
    pub(crate) qualname: &'a OsStr,
    /// `x=f32[32,10]`
    pub(crate) inputs: &'a [OsString],
    pub(crate) passes: Option<&'a str>,
    pub(crate) format: &'a str,
    pub(crate) output: Option<&'a Path>,
}

impl Graph<'_> {
    /// Returns the command that prints the graph.
    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        let mut command = python_of(self.python, &folder_of(self.file)?)?;
        command.args(["-m", "autograph.graph", "--format", self.format]);
        for input in self.inputs {
            command.arg(joined("--input=", input));
        }
        if let Some(passes) = self.passes {
            command.arg(format!("--passes={passes}"));
        }
        if let Some(output) = self.output {
            command.arg(joined("--output=", output.as_os_str()));
        }
        command.arg("--").arg(self.file).arg(self.qualname);
        Ok(command)
    }
}

/// Makes the runtime show on the terminal which function it is tracing.
pub(crate) fn with_progress(command: &mut Command) {
    command.env(PROGRESS, "1");
}

/// Returns an option and its value as one argument, because a value may start with `-`.
fn joined(option: &str, value: &OsStr) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(value);
    argument
}

fn python_of(given: Option<&Path>, folder: &Path) -> anyhow::Result<Command> {
    let python = interpreter::find(given, folder)?;
    interpreter::require_runtime(&python)?;
    Ok(Command::new(python))
}

/// Returns the folder of an existing file.
fn folder_of(file: &Path) -> anyhow::Result<PathBuf> {
    anyhow::ensure!(file.is_file(), "no such file: `{}`", file.display());
    let absolute = std::path::absolute(file)?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_path_buf())
}
