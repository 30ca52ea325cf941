//! A workspace folder with its engine. Files outside the workspace get a project for their folder, in which
//! only open files are analyzed.

use std::time::Duration;

use ag_project::config;
use ag_project::config::{ConfigFile, Exclusion, Settings};
use ag_project::{Engine, Environment, environment};
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};

use super::options::EditorOptions;
use crate::discovery;

pub(crate) struct Project {
    pub(crate) folder: SystemPathBuf,
    /// All Python files in the folder are analyzed, not only the open ones.
    pub(crate) is_workspace: bool,
    pub(crate) root: SystemPathBuf,
    pub(crate) engine: Engine,
    pub(crate) configuration: Option<SystemPathBuf>,
    pub(crate) environment: Environment,
    /// Texts have changed since the last run of the analysis.
    pub(crate) needs_analysis: bool,
    /// The analysis has never run.
    pub(crate) is_new: bool,
    pub(crate) analysis_time: Duration,
    exclusion: Exclusion,
}

impl Project {
    /// Opens a project. Also returns the problems of its configuration; an invalid configuration is ignored.
    pub(crate) fn open(
        folder: SystemPathBuf,
        is_workspace: bool,
        options: &EditorOptions,
    ) -> Result<(Self, Vec<String>), String> {
        let system = OsSystem::new(&folder);
        let mut problems = Vec::new();
        let mut report = |problem: String| problems.push(problem);
        let file = match &options.configuration {
            Some(path) => ConfigFile::read(&system, &SystemPath::absolute(path, &folder)),
            None => config::closest(&system, &folder),
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
        let inputs = match is_workspace {
            true => discovery::discover(&[folder.to_string()], &folder, &root, &settings).0,
            false => Vec::new(),
        };
        let engine = Engine::open(system, &root, settings, environment.clone())
            .and_then(|mut engine| {
                engine.add_files(inputs.into_iter().map(|input| input.path))?;
                Ok(engine)
            })
            .map_err(|error| error.to_string())?;
        let project = Self {
            folder,
            is_workspace,
            root,
            engine,
            configuration: file.map(|file| file.path),
            environment,
            needs_analysis: true,
            is_new: true,
            analysis_time: Duration::ZERO,
            exclusion,
        };
        Ok((project, problems))
    }

    /// Whether the project analyzes this file on disk even if it is not open.
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

    /// The project folder of a file outside the workspace: the project root, else the file's folder.
    pub(crate) fn folder_around(path: &SystemPath, cwd: &SystemPath) -> SystemPathBuf {
        let system = OsSystem::new(cwd);
        let Some(parent) = path.parent().filter(|parent| parent.as_std_path().is_dir()) else {
            return cwd.to_path_buf();
        };
        config::project_root(&system, parent).unwrap_or_else(|| parent.to_path_buf())
    }
}
