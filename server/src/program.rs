//! The commands that run what the user wrote, in the project's Python; made because a person asks for it. The command
//! line and the language server start the same ones.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interpreter;

/// Tells the runtime that standard error is a terminal, to show on it what is being staged.
const PROGRESS: &str = "AUTOGRAPH_PROGRESS";

/// What Python starts.
pub(crate) enum Program<'a> {
    Script(&'a Path),
    /// `-m package.train`
    Module(&'a OsStr),
}

impl Program<'_> {
    /// The command that runs it with arguments.
    pub(crate) fn command(&self, python: Option<&Path>, arguments: &[OsString]) -> anyhow::Result<Command> {
        let folder = match self {
            Self::Script(path) => folder_of(path)?,
            Self::Module(_) => std::env::current_dir()?,
        };
        let mut command = python_of(python, &folder)?;
        match self {
            // A name that starts with `-` is no option.
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

/// The graph of a function, for inputs.
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
    /// The command that makes it.
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

/// Has the runtime show on the terminal what is being staged.
pub(crate) fn with_progress(command: &mut Command) {
    command.env(PROGRESS, "1");
}

/// An option and its value in one word: a value may start with `-`.
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

/// The folder of a file that is there.
fn folder_of(file: &Path) -> anyhow::Result<PathBuf> {
    anyhow::ensure!(file.is_file(), "there is no file `{}`", file.display());
    let absolute = std::path::absolute(file)?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_path_buf())
}
