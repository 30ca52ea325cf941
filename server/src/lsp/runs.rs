//! Runs of the analysis, on other threads, and the requests that wait for them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ag_staging::analysis::{Completeness, Outcome as RunOutcome};

use super::job::{Job, Outcome, catch};
use super::owner::{Inbox, Owner};
use super::project::{Completion, Project};

/// A request that waits for runs.
pub(super) struct Waiting {
    since: Instant,
    /// The revision of the texts that the request refers to.
    revision: u64,
    job: Box<dyn Job>,
}

impl Owner {
    pub(super) fn wait(&mut self, job: Box<dyn Job>) {
        self.waiting.push(Waiting { since: Instant::now(), revision: self.revision, job });
    }

    /// Returns the time at which [`Self::proceed`] must be called even if no message arrives; `None` if it need not be.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let requests = self.waiting.iter().filter(|_| self.has_results());
        let requests = requests.map(|waiting| waiting.since + self.timing.max_wait);
        let loading = self.projects.iter().filter_map(|project| project.loading.as_ref());
        let has_documents = self.documents.iter().next().is_some();
        let loading = loading.filter(|loading| !loading.has_begun && !has_documents);
        let loading = loading.map(|loading| loading.since + self.timing.open_file_wait);
        let completions = self.projects.iter().filter_map(|project| match project.completion {
            Completion::Due(since) => Some(since + self.timing.completion_delay),
            Completion::Done | Completion::Running => None,
        });
        requests.chain(loading).chain(completions).min()
    }

    /// Starts the runs that are needed, answers the requests that need not wait, and publishes diagnostics when all
    /// runs have ended.
    pub(super) fn proceed(&mut self) {
        self.start_runs();
        self.start_completions();
        self.begin_loading();
        let is_busy = self.projects.iter().any(|project| project.is_busy());
        let now = Instant::now();
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.job.is_cancelled() {
                continue;
            }
            let is_overdue = now.saturating_duration_since(waiting.since) >= self.timing.max_wait;
            if is_busy && !(is_overdue && self.has_results()) {
                self.waiting.push(waiting);
                continue;
            }
            let job =
                if waiting.revision == self.revision { Some(waiting.job) } else { waiting.job.outdated() };
            if let Some(job) = job {
                for project in &mut self.projects {
                    project.has_answered_early |= project.is_busy() || project.loading.is_some();
                }
                let snapshot = self.snapshot();
                self.request_pool.spawn(move || job.run(snapshot));
            }
        }
        if !is_busy && self.is_unpublished {
            self.is_unpublished = false;
            self.publish_diagnostics();
        }
    }

    /// Returns whether every project has results of a run. Before that, requests cannot be answered.
    fn has_results(&self) -> bool {
        self.projects.iter().all(|project| project.has_run)
    }

    fn start_runs(&mut self) {
        for project in &mut self.projects {
            if project.loading.as_ref().is_some_and(|loading| !loading.is_large) {
                continue;
            }
            if !std::mem::take(&mut project.needs_run) {
                continue;
            }
            project.is_running = true;
            // While a workspace is loaded, its files occupy the other pool.
            let has_few_files = project.has_run || project.loading.is_some();
            let pool = if has_few_files { &self.edit_pool } else { &self.project_pool };
            let completeness = project.completeness(&self.timing);
            start(project, pool, &self.inbox, completeness);
        }
    }

    /// Completes the analysis where no edit has arrived for some time.
    fn start_completions(&mut self) {
        for project in &mut self.projects {
            if let Completion::Due(since) = project.completion
                && !project.is_busy()
                && since.elapsed() >= self.timing.completion_delay
            {
                project.completion = Completion::Running;
                start(project, &self.edit_pool, &self.inbox, Completeness::Complete);
            }
        }
    }

    /// A run has ended. Its outcome is ignored if the project was edited since.
    fn end_run(&mut self, project: u64, version: u64, outcome: Outcome<RunOutcome>, spent: Duration) {
        let current = self.projects.iter_mut().find(|known| known.id == project && known.version == version);
        let Some(project) = current else { return };
        let is_completion = project.completion == Completion::Running;
        project.completion = Completion::Done;
        project.is_running = false;
        project.has_run = true;
        match outcome {
            Outcome::Done(outcome) => {
                project.has_answered_early |= is_completion && matches!(outcome, RunOutcome::All(_));
                project.engine.publish(outcome);
                project.note_completeness();
                if !is_completion {
                    project.analysis_time = spent;
                }
            }
            Outcome::Stale(_) => project.needs_run = true,
            Outcome::Panicked(panic) => self.report(&panic),
        }
        self.is_unpublished = true;
        self.refresh_early_answers();
    }

    /// Asks the client to repeat requests that were answered before the analysis was complete.
    pub(super) fn refresh_early_answers(&mut self) {
        let mut is_needed = false;
        for project in self.projects.iter_mut().filter(|project| !project.is_busy() && !project.needs_run) {
            let is_complete = project.loading.is_none();
            is_needed |= project.has_answered_early;
            project.has_answered_early &= !is_complete;
        }
        if is_needed {
            self.refresh();
        }
    }

    /// Counts an edit: answers about older texts are outdated.
    pub(super) fn count_edit(&mut self) {
        self.revision += 1;
        self.publications += 1;
        self.is_unpublished = true;
        self.latest_revision.store(self.revision, Ordering::Relaxed);
    }
}

/// Starts a run on another thread.
fn start(project: &mut Project, pool: &rayon::ThreadPool, inbox: &Inbox, completeness: Completeness) {
    let (id, version) = (project.id, project.version);
    let engine = project.engine.prepare_run();
    let inbox = inbox.clone();
    pool.spawn(move || {
        let begin = Instant::now();
        let outcome = catch(|| engine.run(completeness, &|_, _| {}));
        let spent = begin.elapsed();
        inbox.update(move |owner| owner.end_run(id, version, outcome, spent));
    });
}
