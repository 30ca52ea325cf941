//! A command-line run on a project: configuration, environment, files, and an engine that has analyzed them.

mod setup;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ag_db::Document;
use ag_db::finding::Finding;
use ag_project::config::{Options, Settings};
use ag_project::{Engine, environment};
use anyhow::Context;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};
use rustc_hash::FxHashMap;

pub(crate) use setup::current_directory;

use crate::cli::arguments::ProjectArguments;
use crate::discovery::{self, Input, Unreadable};
use crate::panics;
use crate::printer;
use crate::progress::Progress;

/// Syntax trees are walked recursively. Every tree that the parser accepts fits in this stack.
pub(crate) const STACK: usize = 256 * 1024 * 1024;

const NO_ROOTS: &str = "\
no staged or traced functions found. The analysis starts at functions with a decorator such as `@tf.function`,
`@torch.compile` or `@jax.jit`, at the `call` method of a Keras layer, at a callback of `Dataset.map`, and the like
help: declare other functions with `roots = [\"package.module.function\"]` in the configuration, or check every
function with `--roots all`";

/// The file name for the text from standard input.
pub(crate) struct Stdin {
    pub(crate) name: String,
}

impl Stdin {
    /// Returns standard input if the only path is `-`, or if there is no path and `filename` is the file that standard
    /// input replaces.
    pub(crate) fn of(paths: &[String], filename: Option<&str>) -> anyhow::Result<Option<Self>> {
        let dash = paths.iter().any(|path| path == "-");
        if !dash && (filename.is_none() || !paths.is_empty()) {
            return Ok(None);
        }
        anyhow::ensure!(paths.len() <= 1, "`-` (standard input) cannot be combined with other paths");
        Ok(Some(Self { name: filename.unwrap_or("stdin.py").to_owned() }))
    }
}

pub(crate) struct Session {
    pub(crate) cwd: SystemPathBuf,
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) unreadable: Vec<Unreadable>,
    /// The inputs by path.
    pub(crate) inputs: FxHashMap<SystemPathBuf, Input>,
    pool: rayon::ThreadPool,
    quiet: bool,
}

/// The findings in one document, or the panic message if the analysis failed.
pub(crate) struct Checked {
    pub(crate) document: Document,
    pub(crate) path: SystemPathBuf,
    pub(crate) findings: Result<Vec<Finding>, String>,
}

impl Session {
    /// Opens the files without analyzing them. `set` changes settings that have no configuration option.
    pub(crate) fn open(
        arguments: &ProjectArguments,
        overrides: &Options,
        paths: &[String],
        stdin: Option<&Stdin>,
        verbosity: i8,
        set: impl FnOnce(&mut Settings),
    ) -> anyhow::Result<Self> {
        let cwd = current_directory()?;
        let system = OsSystem::new(&cwd);
        let paths: Vec<String> = match (paths, stdin) {
            (_, Some(stdin)) => vec![stdin.name.clone()],
            ([], None) => vec![".".to_owned()],
            (paths, None) => paths.to_vec(),
        };
        let start = setup::start(&system, &cwd, paths.first());
        let (root, mut settings, file) = setup::configure(&system, arguments, overrides, &cwd, &start)?;
        settings.all_roots = arguments.all_roots();
        set(&mut settings);
        let environment = environment::discover(&system, &root, settings.python.as_deref())?;
        if verbosity > 0 {
            let file = file.map_or("none".to_owned(), |file| file.path.to_string());
            printer::note(&format!("configuration: {file}\nproject root: {root}"));
            printer::note(&format!(
                "Python {}, packages in {:?}",
                environment.python_version, environment.site_packages
            ));
        }
        let (inputs, unreadable) = match stdin {
            Some(stdin) => {
                anyhow::ensure!(
                    !stdin.name.ends_with(".ipynb"),
                    "a notebook cannot be read from standard input"
                );
                let path = SystemPath::absolute(&stdin.name, &cwd);
                (vec![Input { path, given: stdin.name.clone() }], Vec::new())
            }
            None => discovery::discover(&paths, &cwd, &root, &settings),
        };
        let jobs = arguments.jobs.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).stack_size(STACK).build()?;
        let mut engine = Engine::open(system, &root, settings.clone(), environment)?;
        engine.add_files(inputs.iter().map(|input| input.path.clone()))?;
        let inputs = inputs.into_iter().map(|input| (input.path.clone(), input)).collect();
        let mut session = Self { cwd, settings, engine, unreadable, inputs, pool, quiet: verbosity < 0 };
        if let Some(stdin) = stdin {
            session.read_stdin(stdin)?;
        }
        Ok(session)
    }

    /// Analyzes the files for the first time.
    pub(crate) fn start(&mut self, verbosity: i8) {
        self.analyze();
        if self.inputs.is_empty() && self.unreadable.is_empty() && verbosity >= 0 {
            printer::warning("no Python files found");
        }
        if verbosity > 0 {
            let (files, roots) = (self.inputs.len(), self.engine.root_count());
            printer::note(&format!("{files} files, {roots} roots"));
        }
    }

    /// Indexes all files, and computes the findings about whole files while the syntax trees are in memory.
    pub(crate) fn check_whole_files(&self) {
        let progress = Progress::new(self.quiet);
        let documents = self.engine.documents();
        let total = documents.len();
        let done = AtomicUsize::new(0);
        let engine = self.engine.clone();
        self.pool.install(|| {
            documents.into_par_iter().for_each_with(engine, |engine, document| {
                // [`Self::check`] reports a panic.
                let _ = panics::catch(|| engine.check_whole(document));
                progress.update("Analyzing", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            });
        });
    }

    fn read_stdin(&mut self, stdin: &Stdin) -> anyhow::Result<()> {
        let path = SystemPath::absolute(&stdin.name, &self.cwd);
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        match String::from_utf8(bytes) {
            Ok(text) => self.engine.set_text(&path, text),
            Err(error) => {
                self.inputs.remove(&path);
                self.unreadable.push(Unreadable { path, message: error.utf8_error().to_string() });
            }
        }
        Ok(())
    }

    /// Prints a note if the project has no roots, because an empty result could be misread as success.
    pub(crate) fn note_missing_roots(&self) {
        if self.engine.root_count() == 0 && !self.inputs.is_empty() && !self.quiet {
            printer::note(NO_ROOTS);
        }
    }

    /// Runs the analysis after a change of text.
    pub(crate) fn analyze(&mut self) {
        let progress = Progress::new(self.quiet);
        let engine = &mut self.engine;
        self.pool.install(|| engine.analyze(&|done, total| progress.update("Analyzing", done, total)));
    }

    /// Applies a function to every input document in parallel. The results are sorted by path.
    pub(crate) fn each<T: Send>(
        &self,
        query: impl Fn(&Engine, Document) -> T + Sync,
    ) -> Vec<(SystemPathBuf, Document, Result<T, String>)> {
        let documents = self.documents();
        let progress = Progress::new(self.quiet);
        let total = documents.len();
        let done = AtomicUsize::new(0);
        let engine = self.engine.clone();
        let progress = Arc::new(progress);
        self.pool.install(|| {
            documents
                .into_par_iter()
                .map_with((engine, progress), |(engine, progress), (path, document)| {
                    let answer = panics::catch(|| query(engine, document));
                    progress.update("Checking", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                    (path, document, answer)
                })
                .collect()
        })
    }

    pub(crate) fn check(&self) -> Vec<Checked> {
        let answers = self.each(|engine, document| engine.findings(document));
        let checked = |(path, document, findings)| Checked { document, path, findings };
        answers.into_iter().map(checked).collect()
    }

    /// Returns the input documents, sorted by path.
    fn documents(&self) -> Vec<(SystemPathBuf, Document)> {
        let path = |document| self.engine.path(self.engine.file(document));
        let documents = self.engine.documents().into_iter();
        let documents = documents.map(|document| (path(document), document));
        documents.filter(|(path, _)| self.inputs.contains_key(path)).collect()
    }
}
