//! A workspace folder with its engine. Files outside the workspace get a project for their folder, in which
//! only open files are analyzed.

use std::time::{Duration, Instant};

use ag_project::config;
use ag_project::config::{ConfigFile, Exclusion, Settings};
use ag_project::{Engine, Environment, environment};
use ag_staging::analysis::Completeness;
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};

use super::loading::{Loader, Loading};
use super::options::EditorOptions;
use super::timing::Timing;
use crate::discovery;

/// The completion of the analysis of a large project after a quick run. It begins after some time without edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    Done,
    /// The completion begins some time after this instant, which is the end of the last run.
    Due(Instant),
    Running,
}

pub(crate) struct Project {
    pub(crate) folder: SystemPathBuf,
    /// Whether all Python files in the folder are analyzed, not only the open ones.
    pub(crate) is_workspace: bool,
    pub(crate) root: SystemPathBuf,
    pub(crate) engine: Engine,
    pub(crate) configuration: Option<SystemPathBuf>,
    pub(crate) environment: Environment,
    /// `Some` until the files of a workspace folder are analyzed. Until then the engine has only the open files.
    pub(crate) loading: Option<Loading>,
    /// Identifies the project to other threads.
    pub(crate) id: u64,
    /// Incremented by every change of the engine. A run that began at an earlier version was cancelled.
    pub(crate) version: u64,
    /// Whether texts have changed since the last run of the analysis began.
    pub(crate) needs_run: bool,
    pub(crate) is_running: bool,
    pub(crate) has_run: bool,
    /// The state of the completion that follows a quick run.
    pub(crate) completion: Completion,
    /// The number of steps that solving the value flow took in the last run. It determines whether the project counts
    /// as small (`Timing::small_project_steps`).
    value_flow_steps: usize,
    /// Whether a request was answered before the analysis was complete.
    pub(crate) has_answered_early: bool,
    /// Duration of the last run.
    pub(crate) analysis_time: Duration,
    exclusion: Exclusion,
}

impl Project {
    /// Opens a project. Also returns the problems of its configuration; an invalid configuration is ignored.
    pub(crate) fn open(
        id: u64,
        folder: SystemPathBuf,
        is_workspace: bool,
        options: &EditorOptions,
    ) -> Result<(Self, Vec<String>), String> {
        let system = OsSystem::new(&folder);
        let mut problems = Vec::new();
        let mut report = |problem: String| problems.push(problem);
        let file = match &options.configuration {
            Some(path) => ConfigFile::read(&system, &SystemPath::absolute(path, &folder)),
            None => config::closest(&system, &folder, &mut |error| {
                report(format!("{error}; the file is ignored"));
            }),
        };
        let file = file.unwrap_or_else(|error| {
            report(format!("{error}; the configuration is ignored"));
            None
        });
        let found = file.as_ref().filter(|_| options.configuration.is_none());
        let root = found
            .and_then(|file| file.path.parent().map(SystemPath::to_path_buf))
            .or_else(|| config::project_root(&system, &folder))
            .unwrap_or_else(|| folder.clone());
        let mut layers: Vec<_> = file.iter().map(|file| file.options.clone()).collect();
        match options.layer() {
            Ok(layer) => layers.push(layer),
            Err(problem) => report(problem),
        }
        let settings = Settings::resolve(&layers, &root);
        let environment = environment::discover(&system, &root, settings.python.as_deref());
        let environment = environment.unwrap_or_else(|error| {
            report(error.to_string());
            Environment::default()
        });
        let exclusion = Exclusion::new(&settings);
        let loading = is_workspace.then(|| Loading {
            since: Instant::now(),
            is_large: discovery::is_large(&folder, &root, &settings),
            has_begun: false,
            changed: Vec::new(),
        });
        let of_open_files = Settings { isolated: is_workspace, ..settings };
        let engine = Engine::open(system, &root, of_open_files, environment.clone());
        let project = Self {
            folder,
            is_workspace,
            root,
            engine: engine.map_err(|error| error.to_string())?,
            configuration: file.map(|file| file.path),
            environment,
            loading,
            id,
            version: 0,
            needs_run: false,
            is_running: false,
            has_run: false,
            completion: Completion::Done,
            value_flow_steps: 0,
            has_answered_early: false,
            analysis_time: Duration::ZERO,
            exclusion,
        };
        Ok((project, problems))
    }

    /// Returns the parameters for loading the files of a workspace folder.
    pub(crate) fn loader(&self, open: Vec<SystemPathBuf>) -> Loader {
        Loader {
            project: self.id,
            folder: self.folder.clone(),
            root: self.root.clone(),
            settings: Settings { isolated: false, ..self.engine.settings().clone() },
            environment: self.environment.clone(),
            open: open.into_iter().filter(|path| path.starts_with(&self.folder)).collect(),
        }
    }

    /// Changes the engine's files or texts, which cancels a run.
    pub(crate) fn change<T>(&mut self, change: impl FnOnce(&mut Engine) -> T) -> T {
        self.version += 1;
        self.is_running = false;
        self.completion = Completion::Done;
        self.needs_run = true;
        change(&mut self.engine)
    }

    /// Replaces the engine by one that has run.
    pub(crate) fn replace_engine(&mut self, engine: Engine) {
        self.change(|known| std::mem::replace(known, engine)).cancel_run();
        self.needs_run = false;
        self.has_run = true;
        self.note_completeness();
    }

    /// Returns whether a run after an edit must be complete or may be quick.
    pub(crate) fn completeness(&self, timing: &Timing) -> Completeness {
        if self.value_flow_steps <= timing.small_project_steps {
            Completeness::Complete
        } else {
            Completeness::Quick
        }
    }

    /// Must be called after a run: records whether its results are complete, and how long solving the value flow took.
    pub(crate) fn note_completeness(&mut self) {
        self.value_flow_steps = self.engine.value_flow_steps();
        if !self.engine.is_complete() {
            self.completion = Completion::Due(Instant::now());
        }
    }

    /// Returns whether there are no results, or they are older than the current texts.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_running || self.needs_run || self.loading.is_some() && !self.has_run
    }

    /// Returns whether the project analyzes this file on disk even if it is not open.
    pub(crate) fn includes(&self, path: &SystemPath) -> bool {
        self.is_workspace
            && discovery::is_python(path)
            && path.strip_prefix(&self.folder).is_ok_and(|below| {
                let above = self.folder.strip_prefix(&self.root).unwrap_or(SystemPath::new(""));
                !below
                    .ancestors()
                    .any(|part| !part.as_str().is_empty() && self.exclusion.covers(&above.join(part)))
            })
    }

    /// Returns the project folder of a file outside the workspace: the project root, else the file's folder.
    pub(crate) fn folder_around(path: &SystemPath, cwd: &SystemPath) -> SystemPathBuf {
        let system = OsSystem::new(cwd);
        let Some(parent) = path.parent().filter(|parent| parent.as_std_path().is_dir()) else {
            return cwd.to_path_buf();
        };
        config::project_root(&system, parent).unwrap_or_else(|| parent.to_path_buf())
    }
}
