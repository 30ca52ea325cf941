//! One run over a project: configuration, environment and files put together, and an engine that
//! has settled on them.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use ag_analysis::check::Finding;
use ag_analysis::config::{self, ConfigFile, Options, Settings};
use ag_analysis::engine::{Engine, environment};
use ag_analysis::project::Document;
use anyhow::Context;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use ruff_db::system::{OsSystem, System, SystemPath, SystemPathBuf};

use crate::cli::arguments::{ConfigArgument, ProjectArguments};
use crate::discovery::{self, Input, Unreadable};
use crate::panics;
use crate::printer;
use crate::progress::Progress;

/// Trees are walked recursively; what is not too deep to parse fits in this.
const STACK: usize = 256 * 1024 * 1024;

/// The text of standard input stands for a file of this name.
pub(crate) struct Stdin {
    pub(crate) name: String,
}

pub(crate) struct Session {
    pub(crate) cwd: SystemPathBuf,
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) unreadable: Vec<Unreadable>,
    /// By path.
    pub(crate) inputs: BTreeMap<SystemPathBuf, Input>,
    pool: rayon::ThreadPool,
    quiet: bool,
}

/// What was found in one document; `Err` says how the engine failed.
pub(crate) struct Checked {
    pub(crate) document: Document,
    pub(crate) path: SystemPathBuf,
    pub(crate) findings: Result<Vec<Finding>, String>,
}

impl Session {
    pub(crate) fn open(
        arguments: &ProjectArguments,
        overrides: &Options,
        paths: &[String],
        stdin: Option<&Stdin>,
        verbosity: i8,
    ) -> anyhow::Result<Self> {
        let cwd = current_directory()?;
        let system = OsSystem::new(&cwd);
        let paths: Vec<String> = match (paths, stdin) {
            (_, Some(stdin)) => vec![stdin.name.clone()],
            ([], None) => vec![".".to_owned()],
            (paths, None) => paths.to_vec(),
        };
        let start = start(&system, &cwd, paths.first());
        let (root, mut settings, file) = configure(&system, arguments, overrides, &cwd, &start)?;
        settings.all_roots = arguments.all_roots();
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
        session.settle();
        if session.inputs.is_empty() && session.unreadable.is_empty() && verbosity >= 0 {
            printer::warning("no Python files found");
        }
        if verbosity > 0 {
            let (files, roots) = (session.inputs.len(), session.engine.root_count());
            printer::note(&format!("{files} files, {roots} roots"));
        }
        Ok(session)
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

    /// Brings the engine to rest after a text was set.
    pub(crate) fn settle(&mut self) {
        let progress = Progress::new(self.quiet);
        let engine = &mut self.engine;
        self.pool.install(|| engine.settle(&|done, total| progress.update("Looking for roots", done, total)));
    }

    /// Asks something about every document that the run is about, in parallel; sorted by path.
    pub(crate) fn each<T: Send>(
        &self,
        what: impl Fn(&Engine, Document) -> T + Sync,
    ) -> Vec<(SystemPathBuf, Document, Result<T, String>)> {
        let documents = self.documents();
        let progress = Progress::new(self.quiet);
        let total = documents.len();
        let done = std::sync::atomic::AtomicUsize::new(0);
        let engine = self.engine.clone();
        let progress = Arc::new(progress);
        self.pool.install(|| {
            documents
                .into_par_iter()
                .map_with((engine, progress), |(engine, progress), (path, document)| {
                    let answer = panics::catch(|| what(engine, document));
                    progress.update(
                        "Checking",
                        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
                        total,
                    );
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

    fn documents(&self) -> Vec<(SystemPathBuf, Document)> {
        let path = |document| self.engine.path(self.engine.file(document));
        let mut documents: Vec<_> = self
            .engine
            .documents()
            .into_iter()
            .map(|document| (path(document), document))
            .filter(|(path, _)| self.inputs.contains_key(path))
            .collect();
        documents.sort_by(|(a, _), (b, _)| a.cmp(b));
        documents
    }
}

pub(crate) fn current_directory() -> anyhow::Result<SystemPathBuf> {
    let cwd = std::env::current_dir().context("there is no current directory")?;
    SystemPathBuf::from_path_buf(cwd)
        .map_err(|path| anyhow::anyhow!("the current directory `{}` is not UTF-8", path.display()))
}

/// The folder from which the configuration is looked for.
fn start(system: &dyn System, cwd: &SystemPath, first: Option<&String>) -> SystemPathBuf {
    let Some(first) = first else {
        return cwd.to_path_buf();
    };
    let path = SystemPath::absolute(first, cwd);
    match path.parent() {
        Some(parent) if !system.is_directory(&path) => parent.to_path_buf(),
        _ => path,
    }
}

/// Root of the project, settings, and the file they come from.
pub(crate) fn configure(
    system: &dyn System,
    arguments: &ProjectArguments,
    overrides: &Options,
    cwd: &SystemPath,
    start: &SystemPath,
) -> anyhow::Result<(SystemPathBuf, Settings, Option<ConfigFile>)> {
    let named = arguments.config.iter().find_map(|argument| match argument {
        ConfigArgument::File(path) => Some(SystemPath::absolute(path, cwd)),
        ConfigArgument::Inline(_) => None,
    });
    let file = match &named {
        _ if arguments.isolated => None,
        Some(path) => ConfigFile::read(system, path)?,
        None => config::closest(system, start)?,
    };
    // A file that was named may lie anywhere; one that was found lies in the project's root.
    let root = match &file {
        Some(file) if named.is_none() => file.path.parent().map(SystemPath::to_path_buf),
        _ => config::project_root(system, start),
    };
    let root =
        root.unwrap_or_else(|| if start.starts_with(cwd) { cwd.to_path_buf() } else { start.to_path_buf() });
    let inline = arguments.config.iter().filter_map(|argument| match argument {
        ConfigArgument::Inline(options) => Some((**options).clone()),
        ConfigArgument::File(_) => None,
    });
    let layers: Vec<Options> = file
        .iter()
        .map(|file| file.options.clone())
        .chain(inline)
        .chain([arguments.options(cwd), overrides.clone()])
        .collect();
    Ok((root.clone(), Settings::resolve(&layers, &root), file))
}
