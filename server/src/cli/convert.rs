//! `ag-lsp convert`: shows the converted code of a file or a function.

use std::io::Read;
use std::path::{Path, PathBuf};

use ag_convert as convert;
use ag_convert::{Converter, Features, OperatorSet, Pass, View};
use ag_project::config::Settings;
use anyhow::Context;
use clap::{Args, ValueEnum};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ruff_db::system::SystemPath;
use ruff_python_ast::PySourceType;

use super::ExitStatus;
use crate::converted::{self, Converted, Output};
use crate::discovery::{self, Input};
use crate::panics;
use crate::printer;
use crate::session::{STACK, current_directory};

/// The number of files that are converted before their results are written.
const BATCH: usize = 32;

/// Convert `if`, `while` and `for` into calls of operators that a framework can stage.
///
/// `FILE` converts the whole file, `FILE::QUALNAME` one function (`model.py::Model.call`), `-` standard input.
/// A function that cannot be converted is left unchanged; the reason is in the JSON and on standard error.
#[derive(Args)]
pub(crate) struct Convert {
    /// The files, folders or functions to convert.
    #[arg(required = true, value_name = "FILE[::QUALNAME]")]
    files: Vec<String>,

    /// The full converted code, or a simplified view without the handling of state and scopes.
    #[arg(long, value_name = "VIEW", default_value = "full")]
    view: ViewArgument,

    /// The framework whose operators the converted code calls.
    #[arg(long, value_name = "DIALECT", default_value = "tensorflow")]
    dialect: DialectArgument,

    /// Optional features, as TensorFlow names them: ALL, ASSERT_STATEMENTS, BUILTIN_FUNCTIONS,
    /// EQUALITY_OPERATORS, LISTS.
    #[arg(long, value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<String>,

    /// Stop after this pass and show its result.
    #[arg(long, value_name = "PASS", value_parser = pass_parser())]
    pass: Option<String>,

    /// The module that a converted file imports the operators from [default: autograph.operators, and
    /// autograph.operators.snek for `--dialect snek`].
    #[arg(long, value_name = "MODULE")]
    operators: Option<String>,

    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    output_format: Format,

    /// Write the source map (version 3) of a single converted file or function to this file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    source_map: Option<PathBuf>,

    /// Write to this file; if several files are converted, write to this folder, with the same relative paths.
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,

    /// The number of threads; by default, the number of CPUs.
    #[arg(long, short, value_name = "N", help_heading = "Miscellaneous")]
    jobs: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ViewArgument {
    Full,
    Simplified,
}

#[derive(Clone, Copy, ValueEnum)]
enum DialectArgument {
    Tensorflow,
    Autograph,
    Snek,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    SideBySide,
}

fn pass_parser() -> clap::builder::PossibleValuesParser {
    Pass::ALL.map(Pass::name).into()
}

/// A text to convert, and the requested function.
struct Job {
    input: Input,
    text: Option<String>,
    qualname: Option<String>,
}

impl Convert {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let options = self.options()?;
        let (jobs, mut status) = self.jobs()?;
        let threads = self.jobs.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build()?;
        anyhow::ensure!(
            self.source_map.is_none() || jobs.len() == 1,
            "`--source-map` takes a single file or function, found {}",
            jobs.len()
        );
        let mut output = Output::new(self.output_format, self.output.as_deref(), jobs.len())?;
        for batch in jobs.chunks(BATCH) {
            let results: Vec<Result<Converted, (ExitStatus, String)>> =
                pool.install(|| batch.par_iter().map(|job| self.convert(job, &options)).collect());
            for (job, result) in batch.iter().zip(results) {
                status = status.max(self.done(job, result, &mut output)?);
            }
        }
        output.finish()?;
        Ok(status)
    }

    fn done(
        &self,
        job: &Job,
        result: Result<Converted, (ExitStatus, String)>,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let converted = match result {
            Ok(converted) => converted,
            Err((failed, message)) => {
                printer::error(&format!("{}: {message}", job.input.given));
                return Ok(failed);
            }
        };
        for message in &converted.messages {
            printer::warning(message);
        }
        if let Some(file) = &self.source_map {
            printer::write_unstyled(Some(file), &converted.source_map())?;
        }
        output.add(&converted)?;
        Ok(if converted.has_errors { ExitStatus::Findings } else { ExitStatus::Clean })
    }

    fn options(&self) -> anyhow::Result<convert::Options> {
        let mut features = Features::default();
        for name in &self.features {
            anyhow::ensure!(features.enable(name), "unknown feature `{name}`");
        }
        Ok(convert::Options {
            view: match self.view {
                ViewArgument::Full => View::Full,
                ViewArgument::Simplified => View::Simplified,
            },
            operator_set: match self.dialect {
                DialectArgument::Tensorflow => OperatorSet::TensorFlow,
                DialectArgument::Autograph => OperatorSet::AutoGraph,
                DialectArgument::Snek => OperatorSet::Snek,
            },
            features,
            until: self.pass.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg)?,
            operators: self.operators.clone(),
        })
    }

    fn jobs(&self) -> anyhow::Result<(Vec<Job>, ExitStatus)> {
        let cwd = current_directory()?;
        let mut jobs = Vec::new();
        let mut status = ExitStatus::Clean;
        for given in &self.files {
            if given == "-" {
                let mut bytes = Vec::new();
                std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
                let text = String::from_utf8(bytes).context("standard input is not UTF-8")?;
                let input = Input { path: SystemPath::absolute("-", &cwd), given: "-".to_owned() };
                jobs.push(Job { input, text: Some(text), qualname: None });
                continue;
            }
            let (path, qualname) = match given.rsplit_once("::") {
                Some((path, qualname)) => (path.to_owned(), Some(qualname.to_owned())),
                None => (given.clone(), None),
            };
            let (inputs, unreadable) = discovery::discover(&[path], &cwd, &cwd, &Settings::default());
            for unreadable in unreadable {
                printer::error(&format!("{}: {}", unreadable.path, unreadable.message));
                status = ExitStatus::Usage;
            }
            jobs.extend(inputs.into_iter().map(|input| Job {
                input,
                text: None,
                qualname: qualname.clone(),
            }));
        }
        Ok((jobs, status))
    }

    fn convert(&self, job: &Job, options: &convert::Options) -> Result<Converted, (ExitStatus, String)> {
        let usage = |message: String| (ExitStatus::Usage, message);
        let path = job.input.path.as_std_path();
        let text = match &job.text {
            Some(text) => text.clone(),
            None => read(path).map_err(|error| usage(format!("{error:#}")))?,
        };
        let source_type = PySourceType::from(path);
        let result = panics::catch(|| {
            let converter = Converter::new(&text, source_type, options).map_err(|error| error.to_string())?;
            converted::of(&job.input.given, &text, &converter, job.qualname.as_deref(), self.output_format)
        });
        match result {
            Ok(converted) => converted.map_err(usage),
            Err(panic) => Err((ExitStatus::Panic, format!("{panic}; this is a bug in ag-lsp"))),
        }
    }
}

/// Returns the text of a file, or the code of a notebook.
fn read(path: &Path) -> anyhow::Result<String> {
    if path.extension().is_some_and(|extension| extension == "ipynb") {
        let notebook = ruff_notebook::Notebook::from_path(path).context("cannot read the notebook")?;
        return Ok(notebook.source_code().to_owned());
    }
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).context("not UTF-8")
}
