//! The thread that owns the engines. It receives messages in the order in which the client sent them, so
//! edits are applied in order. It never blocks on the client, and never on a run of the analysis: an edit cancels it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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
use super::project::Project;
use super::publish::Publish;
use super::runs::Waiting;
use super::snapshot::{ProjectSnapshot, Snapshot, project_of};
use super::timing::Timing;
use super::tracking::TrackedSource;
use crate::panics;

/// Syntax trees are walked recursively. Every tree that the parser accepts fits in this stack.
pub(super) const STACK: usize = 256 * 1024 * 1024;

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
    /// Edited documents whose new text is not yet passed to the engines.
    pub(super) edited: FxHashSet<Url>,
    /// Incremented by every change. A result computed at an earlier revision is stale.
    pub(super) revision: u64,
    /// A copy of `revision` that other threads read.
    pub(super) latest_revision: Arc<AtomicU64>,
    /// Whether diagnostics may have changed since they were last computed.
    pub(super) is_unpublished: bool,
    /// Counts the computations of diagnostics and the edits that outdate them. Only the result of the last computation
    /// is published.
    pub(super) publications: u64,
    /// The requests that wait for runs, in the order of arrival.
    pub(super) waiting: Vec<Waiting>,
    pub(super) timing: Timing,
    pub(super) published: FxHashMap<Url, FileDiagnostics>,
    /// The sources whose converted code the client shows, by URI.
    pub(super) tracked: FxHashMap<Url, TrackedSource>,
    /// Counts the projects that were opened.
    opened: u64,
    /// Runs the first analysis of a project.
    pub(super) project_pool: Arc<rayon::ThreadPool>,
    /// Runs the analysis after an edit and the analysis of open files: few functions, so one thread suffices.
    pub(super) edit_pool: rayon::ThreadPool,
    /// Answers requests.
    pub(super) request_pool: rayon::ThreadPool,
}

impl Owner {
    /// Starts the thread.
    pub(crate) fn start(
        client: Client,
        cwd: SystemPathBuf,
        folders: Vec<SystemPathBuf>,
        options: EditorOptions,
        outbox: Outbox,
        timing: Timing,
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
            latest_revision: Arc::new(AtomicU64::new(1)),
            is_unpublished: true,
            publications: 0,
            waiting: Vec::new(),
            timing,
            opened: 0,
            published: FxHashMap::default(),
            tracked: FxHashMap::default(),
            project_pool: Arc::new(pool(0).build()?),
            edit_pool: pool(1).build()?,
            // A separate pool: the analysis waits until all snapshots are dropped, so a snapshot must not
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
        while let Ok(message) = self.receive() {
            message.into_iter().for_each(|message| self.handle(message));
            // Handle all queued messages first, so that a burst of edits is analyzed once.
            while let Ok(message) = self.messages.try_recv() {
                self.handle(message);
            }
            if let Err(panic) = panics::catch(|| self.apply_edits()) {
                self.recover(&panic);
            }
            self.proceed();
        }
    }

    /// Returns the next message; `None` if a deadline comes first.
    fn receive(&self) -> Result<Option<Message>, RecvTimeoutError> {
        let Some(deadline) = self.deadline() else {
            return self.messages.recv().map(Some).map_err(|_| RecvTimeoutError::Disconnected);
        };
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Update(update) => {
                if let Err(panic) = panics::catch(|| update(self)) {
                    self.recover(&panic);
                }
            }
            Message::Request(job) => self.wait(job),
        }
    }

    /// Reopens every project: an engine that panicked may be in an inconsistent state.
    fn recover(&mut self, panic: &str) {
        self.report(panic);
        self.reopen();
    }

    /// Logs a bug.
    pub(super) fn report(&self, panic: &str) {
        self.log(LogLevel::Error, format!("{panic}; this is a bug in ag-lsp"));
    }

    /// Records that a document was edited.
    pub(super) fn mark_edited(&mut self, uri: Url) {
        self.edited.insert(uri);
        self.count_edit();
    }

    /// Passes edited texts to the engines, which cancels runs on older texts.
    fn apply_edits(&mut self) {
        self.open_projects();
        for uri in std::mem::take(&mut self.edited) {
            let Some(source) = self.documents.get(&uri).map(Arc::clone) else { continue };
            let Some(index) = self.project_for(&source) else { continue };
            let project = &mut self.projects[index];
            project.change(|engine| engine.set_editor_text(&source.path, source.text()));
        }
        self.notify_converted();
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
        self.opened += 1;
        match Project::open(self.opened, folder, is_workspace, &self.options) {
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

    /// Returns the index of the project that a document belongs to. Opens the project if necessary.
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
            revision: self.revision,
            latest_revision: Arc::clone(&self.latest_revision),
        }
    }

    /// Computes and publishes diagnostics, for clients that do not pull them.
    pub(super) fn publish_diagnostics(&mut self) {
        if !self.client.pulls_diagnostics {
            self.publications += 1;
            let publish = Publish { publication: self.publications, inbox: self.inbox.clone() };
            let snapshot = self.snapshot();
            self.request_pool.spawn(move || publish.run(snapshot));
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
