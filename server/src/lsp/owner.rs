//! The one thread that owns the engines. Everything that happens comes to it as a message, in the order
//! in which the client sent it; so edits cannot overtake each other. It never waits for the client.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use ruff_db::system::SystemPathBuf;
use rustc_hash::{FxHashMap, FxHashSet};
use tower_lsp::lsp_types::{MessageType, Url};

use super::capabilities::Client;
use super::diagnostics::Reported;
use super::documents::{Documents, Source};
use super::follow::Followed;
use super::job::Job;
use super::options::{EditorOptions, LogLevel};
use super::outbox::Outbox;
use super::progress::Progress;
use super::project::Project;
use super::publish::Publish;
use super::snapshot::{Snapshot, View, project_of};
use crate::panics;

/// Trees are walked recursively; what is not too deep to parse fits in this.
const STACK: usize = 256 * 1024 * 1024;
/// Indexing fewer files is over before a progress bar could be seen.
const WORTH_PROGRESS: usize = 64;

pub(crate) enum Message {
    /// Something happened.
    Tell(Box<dyn FnOnce(&mut Owner) + Send>),
    /// Something is asked.
    Ask(Box<dyn Job>),
}

/// Where messages are put; putting one never blocks.
#[derive(Clone)]
pub(crate) struct Inbox(Sender<Message>);

impl Inbox {
    pub(crate) fn send(&self, message: Message) {
        // Fails only when the process ends.
        let _ = self.0.send(message);
    }

    pub(crate) fn tell(&self, happened: impl FnOnce(&mut Owner) + Send + 'static) {
        self.send(Message::Tell(Box::new(happened)));
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
    /// Addresses of documents whose texts the engines have not been given.
    pub(super) edited: FxHashSet<Url>,
    /// Counts the changes; what was computed before the last one is stale.
    pub(super) revision: u64,
    /// The revision whose diagnostics were asked for.
    reported: u64,
    pub(super) published: FxHashMap<Url, Reported>,
    /// By the address of the source.
    pub(super) followed: FxHashMap<Url, Followed>,
    /// For a project as a whole.
    settlers: rayon::ThreadPool,
    /// For an edit, which concerns few functions: more threads would mostly look for work.
    settler: rayon::ThreadPool,
    workers: rayon::ThreadPool,
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
            reported: 0,
            published: FxHashMap::default(),
            followed: FxHashMap::default(),
            settlers: pool(0).build()?,
            settler: pool(1).build()?,
            // Apart from the settlers: a snapshot that waits for a thread would keep an engine from settling.
            workers: pool(std::thread::available_parallelism().map_or(2, |threads| threads.get().max(2)))
                .build()?,
        };
        std::thread::Builder::new().name("owner".to_owned()).stack_size(STACK).spawn(move || owner.run())?;
        Ok(inbox)
    }

    fn run(&mut self) {
        while let Ok(message) = self.messages.recv() {
            self.handle(message);
            // All that has come meanwhile first: a burst of edits is analysed once.
            while let Ok(message) = self.messages.try_recv() {
                self.handle(message);
            }
            if self.reported != self.revision {
                self.analyze();
                self.reported = self.revision;
                self.report();
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Tell(happened) => {
                if let Err(panic) = panics::catch(|| happened(self)) {
                    self.recover(&panic);
                }
            }
            Message::Ask(job) if job.is_pointless() => {}
            Message::Ask(job) => {
                self.analyze();
                let snapshot = self.snapshot();
                self.workers.spawn(move || job.run(snapshot));
            }
        }
    }

    /// An engine that panicked may be half changed: it is opened anew.
    fn recover(&mut self, panic: &str) {
        self.log(LogLevel::Error, format!("{panic}; this is a bug in ag-lsp"));
        self.reopen();
    }

    /// Something that answers depend on has changed.
    pub(super) fn touch(&mut self, uri: Url) {
        self.edited.insert(uri);
        self.revision += 1;
    }

    /// Gives the engines the texts as they are now, and brings them to rest.
    pub(super) fn analyze(&mut self) {
        if let Err(panic) = panics::catch(|| self.open_projects()) {
            self.recover(&panic);
        }
        for uri in std::mem::take(&mut self.edited) {
            let Some(source) = self.documents.get(&uri).map(Arc::clone) else { continue };
            let Some(number) = self.project_for(&source) else { continue };
            let project = &mut self.projects[number];
            project.engine.set_editor_text(&source.path, source.text());
            project.stale = true;
        }
        self.tell_converted();
        for project in self.projects.iter_mut().filter(|project| project.stale) {
            let shows =
                self.client.progress && project.engine.documents().len() >= WORTH_PROGRESS && project.fresh;
            let progress = Progress::begin(shows.then_some(&self.outbox), "Looking for staged functions");
            let engine = &mut project.engine;
            let pool = if project.fresh { &self.settlers } else { &self.settler };
            let start = Instant::now();
            let settled = panics::catch(|| {
                pool.install(|| engine.analyze(&|done, total| progress.update(done, total)));
            });
            if let Err(panic) = settled {
                self.outbox.log(MessageType::ERROR, format!("{panic}; this is a bug in ag-lsp"));
            }
            project.stale = false;
            project.fresh = false;
            project.settled_in = start.elapsed();
        }
    }

    /// The folders of the workspace have a project each.
    fn open_projects(&mut self) {
        for folder in self.folders.clone() {
            if !self.projects.iter().any(|project| project.whole && project.folder == folder) {
                self.open_project(folder, true);
                self.edited.extend(self.documents.iter().map(|(uri, _)| uri.clone()));
            }
        }
    }

    fn open_project(&mut self, folder: SystemPathBuf, whole: bool) -> Option<usize> {
        match Project::open(folder, whole, &self.options) {
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

    /// The project of a document, opened if there is none yet.
    fn project_for(&mut self, source: &Source) -> Option<usize> {
        let folders = self.projects.iter().map(|project| (&project.folder, project.whole));
        match project_of(folders, &source.path) {
            Some(number) => Some(number),
            None => self.open_project(Project::folder_around(&source.path, &self.cwd), false),
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let view = |project: &Project| View {
            folder: project.folder.clone(),
            whole: project.whole,
            configuration: project.configuration.clone(),
            environment: project.environment.clone(),
            settled_in: project.settled_in,
            engine: project.engine.clone(),
        };
        Snapshot {
            client: Arc::clone(&self.client),
            outbox: self.outbox.clone(),
            options: Arc::clone(&self.options),
            documents: Arc::clone(&self.documents),
            views: self.projects.iter().map(view).collect(),
        }
    }

    /// Has the diagnostics computed, for clients that do not ask for them.
    fn report(&mut self) {
        if !self.client.pulls_diagnostics {
            let job = Publish { revision: self.revision, inbox: self.inbox.clone() };
            let snapshot = self.snapshot();
            self.workers.spawn(move || Box::new(job).run(snapshot));
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
