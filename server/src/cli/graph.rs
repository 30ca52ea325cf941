//! `ag-lsp graph`: shows the graph of a function. The runtime traces it in the project's Python.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::ExitStatus;
use super::run::exec_or_wait;
use crate::program;

/// Show the graph of a staged function, with the source line of each node.
///
/// The module is imported. The function is traced with inputs of the given types, but its graph is not run. Output of
/// the module goes to standard error. The exit status is 0, 1 if the code raises an exception, or 2 if the arguments
/// are invalid.
#[derive(Args)]
#[command(
    after_help = "Example: ag-lsp graph model.py::step --input 'x=f32[32,10]' --input n=3 --output-format svg -o step.svg\n\n\
                  Element types: f16 bf16 f32 f64 i8 i16 i32 i64 u8 bool c64 c128; `@cuda` behind the type names a device."
)]
pub(crate) struct Graph {
    /// The function: `model.py::step`, `model.py::Model.call`.
    #[arg(value_name = "FILE::QUALNAME")]
    function: OsString,

    /// An argument of the function: the type of a tensor (`x=f32[32,10]`) or a Python literal (`n=3`).
    #[arg(long, short, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    input: Vec<OsString>,

    /// Passes to run before printing: `all`, or a comma-separated list. Passes of the optimizer: constant-folding,
    /// algebraic-simplification, gradient-accumulation, common-subexpression-elimination, loop-invariant-code-motion,
    /// dead-code-elimination. Passes of the native tier, with which the native programs are printed too:
    /// borrowed-items, multiply-add, in-place-results, added-products, joined-lists, input-products.
    #[arg(long, value_name = "PASSES")]
    passes: Option<String>,

    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    output_format: Format,

    /// Write to this file.
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,

    /// The Python interpreter or virtual environment that imports the module.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
    Svg,
    Sexpr,
}

impl Graph {
    pub(crate) fn run(&self, verbosity: i8) -> anyhow::Result<ExitStatus> {
        let Some((file, qualname)) = split(&self.function) else {
            anyhow::bail!(
                "`{}` does not name a function; write FILE::QUALNAME, e.g. model.py::step",
                self.function.display()
            )
        };
        let format = self.output_format.to_possible_value();
        let graph = program::Graph {
            python: self.python.as_deref(),
            file: Path::new(&file),
            qualname: &qualname,
            inputs: &self.input,
            passes: self.passes.as_deref(),
            format: format.as_ref().map_or("text", |format| format.get_name()),
            output: self.output.as_deref(),
        };
        exec_or_wait(graph.command()?, verbosity)
    }
}

/// Splits `FILE::QUALNAME`. The path may be any byte string.
#[cfg(unix)]
fn split(function: &OsStr) -> Option<(OsString, OsString)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = function.as_bytes();
    let at = bytes.windows(2).rposition(|pair| pair == b"::")?;
    let part = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    Some((part(&bytes[..at]), part(&bytes[at + 2..])))
}

#[cfg(not(unix))]
fn split(function: &OsStr) -> Option<(OsString, OsString)> {
    let (file, qualname) = function.to_str()?.rsplit_once("::")?;
    Some((file.into(), qualname.into()))
}
