//! The commands that execute user code, in the project's Python, when the user asks for it: on the command line or in
//! an editor.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interpreter;

/// Makes the runtime show on standard error, a terminal, which function is being traced.
const PROGRESS: &str = "AUTOGRAPH_PROGRESS";

/// The program that Python runs.
pub(crate) enum Program<'a> {
    Script(&'a Path),
    /// `-m package.train`
    Module(&'a OsStr),
}

impl Program<'_> {
    /// The command that runs it with the arguments.
    pub(crate) fn command(&self, python: Option<&Path>, arguments: &[OsString]) -> anyhow::Result<Command> {
        let folder = match self {
            Self::Script(path) => folder_of(path)?,
            Self::Module(_) => std::env::current_dir()?,
        };
        let mut command = python_of(python, &folder)?;
        match self {
            // A name that starts with `-` must not be read as an option.
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

/// The arguments of a graph of a function.
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
    /// The command that writes the graph.
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

/// Makes the runtime show its progress on the terminal.
pub(crate) fn with_progress(command: &mut Command) {
    command.env(PROGRESS, "1");
}

/// An option and its value in one argument: the value may start with `-`.
fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

fn python_of(given: Option<&Path>, folder: &Path) -> anyhow::Result<Command> {
    let python = interpreter::find(given, folder)?;
    interpreter::has_runtime(&python)?;
    Ok(Command::new(python))
}

/// The folder of an existing file.
fn folder_of(file: &Path) -> anyhow::Result<PathBuf> {
    anyhow::ensure!(file.is_file(), "no file `{}`", file.display());
    let absolute = std::path::absolute(file)?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_path_buf())
}
