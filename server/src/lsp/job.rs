//! Questions to the engine: asked by the transport, answered by a worker on a snapshot, once each.

use std::panic::AssertUnwindSafe;

use ag_db::Cancelled;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::MessageType;

use super::outbox::Outbox;
use super::owner::{Inbox, Message};
use super::snapshot::Snapshot;
use crate::panics;

/// What an edit does to a question that is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenStale {
    /// It is asked again of the new text.
    Again,
    /// Its positions are those of the old text: the client is told so, and asks again if it still cares.
    Refuse,
}

/// Work for a worker.
pub(crate) trait Job: Send {
    fn run(self: Box<Self>, snapshot: Snapshot);

    /// Nobody waits for the outcome any more.
    fn is_pointless(&self) -> bool {
        false
    }
}

/// A request of the client.
pub(crate) struct Question<P, A> {
    pub(crate) answer: fn(&Snapshot, &P) -> Result<A>,
    pub(crate) params: P,
    pub(crate) when_stale: WhenStale,
    /// Dropped by the transport when the client cancels.
    pub(crate) reply: oneshot::Sender<Result<A>>,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
}

impl<P: Send + 'static, A: Send + 'static> Job for Question<P, A> {
    fn is_pointless(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(self: Box<Self>, snapshot: Snapshot) {
        if self.is_pointless() {
            return;
        }
        let outcome = catch(|| (self.answer)(&snapshot, &self.params));
        drop(snapshot);
        let answer = match outcome {
            Outcome::Done(answer) => answer,
            Outcome::Stale(_) if self.when_stale == WhenStale::Again => {
                self.inbox.clone().send(Message::Ask(self));
                return;
            }
            Outcome::Stale(_) => Err(Error::content_modified()),
            Outcome::Panicked(panic) => {
                self.outbox.log(MessageType::ERROR, format!("{panic}; this is a bug in ag-lsp"));
                Err(Error { code: ErrorCode::InternalError, message: panic.into(), data: None })
            }
        };
        // The client may have cancelled meanwhile.
        let _ = self.reply.send(answer);
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
