//! `ag-lsp graph`: the graph that a function of the user is staged into. The runtime makes it, in the project's Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use super::ExitStatus;
use super::run::become_or_wait;
use crate::interpreter;

/// Show the graph of a staged function, with the source line of each node.
///
/// The module is imported and the function staged with inputs of the given types; it is not run.
#[derive(Args)]
#[command(
    after_help = "Example: ag-lsp graph model.py::step --input 'x=f32[32,10]' --input n=3 --output-format svg -o step.svg"
)]
pub(crate) struct Graph {
    /// The function: `model.py::step`, `model.py::Model.call`.
    #[arg(value_name = "FILE::QUALNAME")]
    function: String,

    /// An argument: a tensor by its type (`x=f32[32,10]`), anything else as a Python literal (`n=3`).
    #[arg(long, short, value_name = "NAME=VALUE")]
    input: Vec<String>,

    /// Show the graph after these passes of the optimizer: `all`, or some of constants, identities, common,
    /// invariants, dead.
    #[arg(long, value_name = "PASSES")]
    passes: Option<String>,

    /// How the graph is written.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    output_format: Format,

    /// Write to this file.
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,

    /// The Python, or the virtual environment, to stage it in.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
    Svg,
}

impl Graph {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let Some((file, qualname)) = self.function.rsplit_once("::") else {
            anyhow::bail!(
                "`{}` names no function: write FILE::QUALNAME, such as model.py::step",
                self.function
            )
        };
        let path = Path::new(file);
        anyhow::ensure!(path.is_file(), "there is no file `{file}`");
        let absolute = std::path::absolute(path)?;
        let python = interpreter::find(self.python.as_deref(), absolute.parent().unwrap_or(Path::new("/")))?;
        interpreter::has_runtime(&python)?;
        let mut program = Command::new(&python);
        program.args(["-m", "autograph.graph", file, qualname]);
        let format = self.output_format.to_possible_value();
        program.args(["--format", format.as_ref().map_or("text", |format| format.get_name())]);
        for input in &self.input {
            program.args(["--input", input]);
        }
        if let Some(passes) = &self.passes {
            program.args(["--passes", passes]);
        }
        if let Some(output) = &self.output {
            program.arg("--output").arg(output);
        }
        become_or_wait(program)
    }
}
