//! Requests of the client, answered by a worker thread on a snapshot.

use std::panic::AssertUnwindSafe;

use ag_db::Cancelled;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::MessageType;

use super::outbox::Outbox;
use super::owner::{Inbox, Message};
use super::snapshot::Snapshot;
use crate::panics;

/// The treatment of a request whose snapshot an edit has made stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenStale {
    /// It is answered again on the new text.
    Retry,
    /// It fails with `ContentModified`, because its positions refer to the old text.
    Fail,
}

/// Work for a worker thread.
pub(crate) trait Job: Send {
    fn run(self: Box<Self>, snapshot: Snapshot);

    /// Returns whether the client no longer waits for the result.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Called if a text was edited before the job began. Returns the job to run instead, if any.
    fn outdated(self: Box<Self>) -> Option<Box<dyn Job>>;
}

/// A request of the client.
pub(crate) struct RequestJob<P, A> {
    pub(crate) answer: fn(&Snapshot, &P) -> Result<A>,
    pub(crate) params: P,
    pub(crate) when_stale: WhenStale,
    /// Dropped by the transport when the client cancels.
    pub(crate) reply: oneshot::Sender<Result<A>>,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
}

impl<P: Send + 'static, A: Send + 'static> Job for RequestJob<P, A> {
    fn is_cancelled(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(self: Box<Self>, snapshot: Snapshot) {
        if self.is_cancelled() {
            return;
        }
        let outcome = catch(|| (self.answer)(&snapshot, &self.params));
        let is_edited = snapshot.is_edited();
        drop(snapshot);
        let answer = match outcome {
            Outcome::Done(answer) => answer,
            Outcome::Stale(_) if self.when_stale == WhenStale::Retry || !is_edited => {
                self.inbox.clone().send(Message::Request(self));
                return;
            }
            Outcome::Stale(_) => Err(Error::content_modified()),
            Outcome::Panicked(panic) => {
                self.outbox.log(MessageType::ERROR, format!("{panic}; this is a bug in ag-lsp"));
                Err(Error { code: ErrorCode::InternalError, message: panic.into(), data: None })
            }
        };
        // Fails if the client has cancelled the request.
        let _ = self.reply.send(answer);
    }

    fn outdated(self: Box<Self>) -> Option<Box<dyn Job>> {
        if self.when_stale == WhenStale::Retry {
            return Some(self);
        }
        let _ = self.reply.send(Err(Error::content_modified()));
        None
    }
}

/// How a computation on a snapshot ended.
pub(crate) enum Outcome<T> {
    Done(T),
    /// The text was edited.
    Stale(Cancelled),
    Panicked(String),
}

pub(crate) fn catch<T>(compute: impl FnOnce() -> T) -> Outcome<T> {
    match panics::catch(|| Cancelled::catch(AssertUnwindSafe(compute))) {
        Ok(Ok(done)) => Outcome::Done(done),
        Ok(Err(cancelled)) => Outcome::Stale(cancelled),
        Err(panic) => Outcome::Panicked(panic),
    }
}
