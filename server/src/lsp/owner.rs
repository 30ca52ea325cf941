//! The thread that owns the engines. It receives messages in the order in which the client sent them, so
//! edits are applied in order. It never blocks on the client.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use ruff_db::system::SystemPathBuf;
use rustc_hash::{FxHashMap, FxHashSet};
use tower_lsp::lsp_types::{MessageType, Url};

use super::capabilities::Client;
use super::diagnostics::FileDiagnostics;
use super::documents::{Documents, Source};
use super::job::Job;
use super::options::{EditorOptions, LogLevel};
use super::outbox::Outbox;
use super::progress::Progress;
use super::project::Project;
use super::publish::Publish;
use super::snapshot::{ProjectSnapshot, Snapshot, project_of};
use super::tracking::TrackedSource;
use crate::panics;

/// Syntax trees are walked recursively. Every tree that the parser accepts fits in this stack.
const STACK: usize = 256 * 1024 * 1024;
/// Projects with fewer files are indexed before a progress bar becomes visible.
const MIN_FILES_FOR_PROGRESS: usize = 64;

pub(crate) enum Message {
    /// Changes the owner's state.
    Update(Box<dyn FnOnce(&mut Owner) + Send>),
    /// Reads a snapshot on a worker thread.
    Request(Box<dyn Job>),
}

/// The sending end of the owner's message queue. Sending never blocks.
#[derive(Clone)]
pub(crate) struct Inbox(Sender<Message>);

impl Inbox {
    pub(crate) fn send(&self, message: Message) {
        // Fails only while the process exits.
        let _ = self.0.send(message);
    }

    pub(crate) fn update(&self, update: impl FnOnce(&mut Owner) + Send + 'static) {
        self.send(Message::Update(Box::new(update)));
    }
}

pub(crate) struct Owner {
    pub(super) inbox: Inbox,
    messages: Receiver<Message>,
    pub(super) outbox: Outbox,
    pub(super) client: Arc<Client>,
    pub(super) cwd: SystemPathBuf,
    pub(super) options: Arc<EditorOptions>,
    pub(super) folders: Vec<SystemPathBuf>,
    pub(super) projects: Vec<Project>,
    pub(super) documents: Arc<Documents>,
    /// Documents whose current text the engines do not have yet.
    pub(super) edited: FxHashSet<Url>,
    /// Incremented by every change. A result computed at an earlier revision is stale.
    pub(super) revision: u64,
    /// The revision for which diagnostics were last computed.
    published_revision: u64,
    pub(super) published: FxHashMap<Url, FileDiagnostics>,
    /// By the URI of the source.
    pub(super) tracked: FxHashMap<Url, TrackedSource>,
    /// Runs the first analysis of a project.
    project_pool: rayon::ThreadPool,
    /// Runs the analysis after an edit. An edit affects few functions, so one thread suffices.
    edit_pool: rayon::ThreadPool,
    /// Answers requests.
    request_pool: rayon::ThreadPool,
}

impl Owner {
    /// Starts the thread.
    pub(crate) fn start(
        client: Client,
        cwd: SystemPathBuf,
        folders: Vec<SystemPathBuf>,
        options: EditorOptions,
        outbox: Outbox,
    ) -> anyhow::Result<Inbox> {
        let (sender, messages) = mpsc::channel();
        let inbox = Inbox(sender);
        let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK);
        let mut owner = Self {
            inbox: inbox.clone(),
            messages,
            outbox,
            client: Arc::new(client),
            cwd,
            options: Arc::new(options),
            folders,
            projects: Vec::new(),
            documents: Arc::default(),
            edited: FxHashSet::default(),
            revision: 1,
            published_revision: 0,
            published: FxHashMap::default(),
            tracked: FxHashMap::default(),
            project_pool: pool(0).build()?,
            edit_pool: pool(1).build()?,
            // A pool of its own: the analysis waits until all snapshots are dropped, so a snapshot must not
            // wait for a thread of the analysis.
            request_pool: pool(
                std::thread::available_parallelism().map_or(2, |threads| threads.get().max(2)),
            )
            .build()?,
        };
        std::thread::Builder::new().name("owner".to_owned()).stack_size(STACK).spawn(move || owner.run())?;
        Ok(inbox)
    }

    fn run(&mut self) {
        while let Ok(message) = self.messages.recv() {
            self.handle(message);
            // Handle all queued messages first, so that a burst of edits is analyzed once.
            while let Ok(message) = self.messages.try_recv() {
                self.handle(message);
            }
            if self.published_revision != self.revision {
                self.analyze();
                self.published_revision = self.revision;
                self.publish_diagnostics();
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Update(update) => {
                if let Err(panic) = panics::catch(|| update(self)) {
                    self.recover(&panic);
                }
            }
            Message::Request(job) if job.is_cancelled() => {}
            Message::Request(job) => {
                self.analyze();
                let snapshot = self.snapshot();
                self.request_pool.spawn(move || job.run(snapshot));
            }
        }
    }

    /// Reopens every project: an engine that panicked may be in an inconsistent state.
    fn recover(&mut self, panic: &str) {
        self.log(LogLevel::Error, format!("{panic}; this is a bug in ag-lsp"));
        self.reopen();
    }

    /// Records that a document was edited.
    pub(super) fn mark_edited(&mut self, uri: Url) {
        self.edited.insert(uri);
        self.revision += 1;
    }

    /// Passes edited texts to the engines and runs the analysis of every project that needs it.
    pub(super) fn analyze(&mut self) {
        if let Err(panic) = panics::catch(|| self.open_projects()) {
            self.recover(&panic);
        }
        for uri in std::mem::take(&mut self.edited) {
            let Some(source) = self.documents.get(&uri).map(Arc::clone) else { continue };
            let Some(index) = self.project_for(&source) else { continue };
            let project = &mut self.projects[index];
            project.engine.set_editor_text(&source.path, source.text());
            project.needs_analysis = true;
        }
        self.notify_converted();
        for project in self.projects.iter_mut().filter(|project| project.needs_analysis) {
            let shows_progress = self.client.progress
                && project.engine.documents().len() >= MIN_FILES_FOR_PROGRESS
                && project.is_new;
            let progress =
                Progress::begin(shows_progress.then_some(&self.outbox), "Looking for staged functions");
            let engine = &mut project.engine;
            let pool = if project.is_new { &self.project_pool } else { &self.edit_pool };
            let start = Instant::now();
            let outcome = panics::catch(|| {
                pool.install(|| engine.analyze(&|done, total| progress.update(done, total)));
            });
            if let Err(panic) = outcome {
                self.outbox.log(MessageType::ERROR, format!("{panic}; this is a bug in ag-lsp"));
            }
            project.needs_analysis = false;
            project.is_new = false;
            project.analysis_time = start.elapsed();
        }
    }

    /// Opens a project for every workspace folder that has none.
    fn open_projects(&mut self) {
        for folder in self.folders.clone() {
            if !self.projects.iter().any(|project| project.is_workspace && project.folder == folder) {
                self.open_project(folder, true);
                self.edited.extend(self.documents.iter().map(|(uri, _)| uri.clone()));
            }
        }
    }

    fn open_project(&mut self, folder: SystemPathBuf, is_workspace: bool) -> Option<usize> {
        match Project::open(folder, is_workspace, &self.options) {
            Ok((project, problems)) => {
                for problem in problems {
                    self.outbox.show(MessageType::ERROR, format!("ag-lsp: {problem}"));
                }
                self.projects.push(project);
                Some(self.projects.len() - 1)
            }
            Err(problem) => {
                self.outbox.show(MessageType::ERROR, format!("ag-lsp: {problem}"));
                None
            }
        }
    }

    /// The index of the project that a document belongs to. Opens the project if necessary.
    fn project_for(&mut self, source: &Source) -> Option<usize> {
        let folders = self.projects.iter().map(|project| (&project.folder, project.is_workspace));
        match project_of(folders, &source.path) {
            Some(index) => Some(index),
            None => self.open_project(Project::folder_around(&source.path, &self.cwd), false),
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let to_snapshot = |project: &Project| ProjectSnapshot {
            folder: project.folder.clone(),
            is_workspace: project.is_workspace,
            configuration: project.configuration.clone(),
            environment: project.environment.clone(),
            analysis_time: project.analysis_time,
            engine: project.engine.clone(),
        };
        Snapshot {
            client: Arc::clone(&self.client),
            outbox: self.outbox.clone(),
            options: Arc::clone(&self.options),
            documents: Arc::clone(&self.documents),
            projects: self.projects.iter().map(to_snapshot).collect(),
        }
    }

    /// Computes and publishes diagnostics, for clients that do not pull them.
    fn publish_diagnostics(&mut self) {
        if !self.client.pulls_diagnostics {
            let job = Publish { revision: self.revision, inbox: self.inbox.clone() };
            let snapshot = self.snapshot();
            self.request_pool.spawn(move || Box::new(job).run(snapshot));
        }
    }

    pub(super) fn log(&self, level: LogLevel, message: String) {
        if level <= self.options.log_level {
            let kind = match level {
                LogLevel::Error => MessageType::ERROR,
                LogLevel::Warn => MessageType::WARNING,
                LogLevel::Info => MessageType::INFO,
                LogLevel::Debug => MessageType::LOG,
            };
            self.outbox.log(kind, message);
        }
    }
}
