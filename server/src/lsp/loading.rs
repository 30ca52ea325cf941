//! Opens the engine of a workspace folder on another thread: finds its files and analyzes them. Until a large folder is
//! loaded, only its open files are analyzed.

use std::sync::Arc;
use std::time::Instant;

use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ruff_db::system::{OsSystem, SystemPathBuf};
use tower_lsp::lsp_types::MessageType;

use super::outbox::Outbox;
use super::owner::{Inbox, Owner, STACK};
use super::progress::Progress;
use crate::discovery;
use crate::panics;

/// A workspace folder that is being loaded.
pub(crate) struct Loading {
    pub(crate) since: Instant,
    pub(crate) is_large: bool,
    pub(crate) has_begun: bool,
    /// Files that have changed on disk since loading began.
    pub(crate) changed: Vec<SystemPathBuf>,
}

/// The data that is needed to load a workspace folder.
pub(crate) struct Loader {
    pub(crate) project: u64,
    pub(crate) folder: SystemPathBuf,
    pub(crate) root: SystemPathBuf,
    pub(crate) settings: Settings,
    pub(crate) environment: Environment,
    /// The files that are open in the editor. They are analyzed even if they are excluded.
    pub(crate) open: Vec<SystemPathBuf>,
}

impl Loader {
    /// Loads the folder on a separate thread, which notifies the owner at the end.
    fn begin(
        self,
        pool: Arc<rayon::ThreadPool>,
        inbox: Inbox,
        progress: Option<Outbox>,
    ) -> std::io::Result<()> {
        let load = move || {
            let (project, begin) = (self.project, Instant::now());
            let engine = panics::catch(|| self.load(&pool, progress.as_ref()));
            inbox.update(move |owner| owner.loaded(project, engine.unwrap_or_else(Err), begin));
        };
        std::thread::Builder::new().name("loader".to_owned()).stack_size(STACK).spawn(load)?;
        Ok(())
    }

    fn load(self, pool: &rayon::ThreadPool, outbox: Option<&Outbox>) -> Result<Engine, String> {
        let Self { folder, root, settings, environment, open, .. } = self;
        let inputs = discovery::discover(&[folder.to_string()], &folder, &root, &settings).0;
        let progress = Progress::begin(outbox, "Looking for staged functions");
        let mut engine = Engine::open(OsSystem::new(&folder), &root, settings, environment)
            .map_err(|it| it.to_string())?;
        let paths = inputs.into_iter().map(|input| input.path).chain(open);
        engine.add_files(paths).map_err(|error| error.to_string())?;
        pool.install(|| engine.analyze(&|done, total| progress.update(done, total)));
        Ok(engine)
    }
}

impl Owner {
    /// Begins to load small folders immediately, and large ones after their open files.
    pub(super) fn begin_loading(&mut self) {
        let has_documents = self.documents.iter().next().is_some();
        for project in &mut self.projects {
            let is_running = project.is_running || project.needs_run;
            let Some(loading) = &mut project.loading else { continue };
            let may_begin = has_documents || loading.since.elapsed() >= self.timing.open_file_wait;
            let is_large = loading.is_large;
            let is_due = !is_large || !is_running && may_begin;
            if !is_due || std::mem::replace(&mut loading.has_begun, true) {
                continue;
            }
            let open = self.documents.iter().map(|(_, source)| source.path.clone());
            let loader = project.loader(open.collect());
            // A small folder is loaded before a progress bar could be seen.
            let progress = (is_large && self.client.progress).then(|| self.outbox.clone());
            if let Err(error) = loader.begin(Arc::clone(&self.project_pool), self.inbox.clone(), progress) {
                self.outbox.show(MessageType::ERROR, format!("ag-lsp: {error}"));
                project.loading = None;
                project.needs_run = true;
            }
        }
    }

    /// A workspace folder was loaded: its engine replaces the one with only the open files.
    fn loaded(&mut self, project: u64, engine: Result<Engine, String>, begin: Instant) {
        let Some(index) = self.projects.iter().position(|known| known.id == project) else { return };
        let project = &mut self.projects[index];
        let Some(loading) = project.loading.take() else { return };
        match engine {
            Ok(engine) => {
                project.replace_engine(engine);
                project.analysis_time = begin.elapsed();
                if !loading.changed.is_empty() {
                    self.reload(&loading.changed);
                }
                self.edited.extend(self.documents.iter().map(|(uri, _)| uri.clone()));
                if self.edited.is_empty() {
                    self.refresh_early_answers();
                }
            }
            Err(problem) => {
                project.needs_run = true;
                self.report(&problem);
            }
        }
        self.is_unpublished = true;
    }
}
