//! A folder of the workspace with its engine; or, for files opened from outside the workspace, the
//! folder they are in, of which only the open files are analysed.

use std::time::Duration;

use ag_project::config;
use ag_project::config::{ConfigFile, Exclusion, Settings};
use ag_project::{Engine, Environment, environment};
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};

use super::options::EditorOptions;
use crate::discovery;

pub(crate) struct Project {
    pub(crate) folder: SystemPathBuf,
    /// All Python files below the folder are analysed, not only the open ones.
    pub(crate) whole: bool,
    pub(crate) root: SystemPathBuf,
    pub(crate) engine: Engine,
    pub(crate) configuration: Option<SystemPathBuf>,
    pub(crate) environment: Environment,
    /// Texts were set since the engine last came to rest.
    pub(crate) stale: bool,
    /// It never did.
    pub(crate) fresh: bool,
    pub(crate) settled_in: Duration,
    exclusion: Exclusion,
}

impl Project {
    /// Sets a project up; what is wrong with its configuration is told in the second part, and then it is
    /// as if it were not there.
    pub(crate) fn open(
        folder: SystemPathBuf,
        whole: bool,
        options: &EditorOptions,
    ) -> Result<(Self, Vec<String>), String> {
        let system = OsSystem::new(&folder);
        let mut problems = Vec::new();
        let mut heed = |problem: String| problems.push(problem);
        let file = match &options.configuration {
            Some(path) => ConfigFile::read(&system, &SystemPath::absolute(path, &folder)),
            None => config::closest(&system, &folder),
        };
        let file = file.unwrap_or_else(|error| {
            heed(format!("{error}; the configuration is left aside"));
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
            Err(problem) => heed(problem),
        }
        let settings = Settings::resolve(&layers, &root);
        let environment = environment::discover(&system, &root, settings.python.as_deref());
        let environment = environment.unwrap_or_else(|error| {
            heed(error.to_string());
            Environment::default()
        });
        let exclusion = Exclusion::new(&settings);
        let inputs = match whole {
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
            whole,
            root,
            engine,
            configuration: file.map(|file| file.path),
            environment,
            stale: true,
            fresh: true,
            settled_in: Duration::ZERO,
            exclusion,
        };
        Ok((project, problems))
    }

    /// Whether a file on disk belongs to the project without being open.
    pub(crate) fn wants(&self, path: &SystemPath) -> bool {
        self.whole
            && discovery::is_python(path)
            && path.strip_prefix(&self.folder).is_ok_and(|below| {
                let above = self.folder.strip_prefix(&self.root).unwrap_or(SystemPath::new(""));
                !below
                    .ancestors()
                    .any(|part| !part.as_str().is_empty() && self.exclusion.covers(&above.join(part)))
            })
    }

    /// Files outside every folder of the workspace share a project with their neighbours.
    pub(crate) fn folder_around(path: &SystemPath, cwd: &SystemPath) -> SystemPathBuf {
        let system = OsSystem::new(cwd);
        let Some(parent) = path.parent().filter(|parent| parent.as_std_path().is_dir()) else {
            return cwd.to_path_buf();
        };
        config::project_root(&system, parent).unwrap_or_else(|| parent.to_path_buf())
    }
}
