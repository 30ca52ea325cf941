//! Work-done progress (`$/progress`), for clients that support it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tower_lsp::lsp_types::notification::Progress as Notification;
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::outbox::Outbox;

/// A progress bar. Dropping it ends the progress.
pub(crate) struct Progress {
    sender: Option<UnboundedSender<(usize, usize)>>,
    percent: AtomicUsize,
}

impl Progress {
    /// Progress of a computation over files.
    pub(crate) fn begin(outbox: Option<&Outbox>, title: &'static str) -> Self {
        let begin = WorkDoneProgressBegin {
            title: title.to_owned(),
            cancellable: Some(false),
            percentage: Some(0),
            message: None,
        };
        Self::new(outbox, new_token(), begin)
    }

    /// Progress of a process that the client can cancel.
    pub(crate) fn for_process(outbox: Option<&Outbox>, token: NumberOrString, title: String) -> Self {
        let begin = WorkDoneProgressBegin { title, cancellable: Some(true), percentage: None, message: None };
        Self::new(outbox, token, begin)
    }

    fn new(outbox: Option<&Outbox>, token: NumberOrString, begin: WorkDoneProgressBegin) -> Self {
        let sender = outbox.map(|outbox| {
            let (sender, receiver) = mpsc::unbounded_channel();
            outbox.send(move |client| {
                tokio::spawn(send_progress(client, token, begin, receiver));
                Box::pin(std::future::ready(()))
            });
            sender
        });
        Self { sender, percent: AtomicUsize::new(0) }
    }

    /// Reports each percentage at most once.
    pub(crate) fn update(&self, done: usize, total: usize) {
        let now = percent(done, total);
        if let Some(sender) = &self.sender
            && self.percent.fetch_max(now, Ordering::Relaxed) < now
        {
            // Fails if the client has rejected the progress.
            let _ = sender.send((done, total));
        }
    }
}

pub(crate) fn new_token() -> NumberOrString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NumberOrString::String(format!("ag-lsp/{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

async fn send_progress(
    client: tower_lsp::Client,
    token: NumberOrString,
    begin: WorkDoneProgressBegin,
    mut receiver: UnboundedReceiver<(usize, usize)>,
) {
    let create = WorkDoneProgressCreateParams { token: token.clone() };
    if client.send_request::<WorkDoneProgressCreate>(create).await.is_err() {
        return;
    }
    let send = |value| {
        let value = ProgressParamsValue::WorkDone(value);
        client.send_notification::<Notification>(ProgressParams { token: token.clone(), value })
    };
    send(WorkDoneProgress::Begin(begin)).await;
    while let Some((done, total)) = receiver.recv().await {
        send(WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some(format!("{done} of {total} files")),
            percentage: u32::try_from(percent(done, total)).ok(),
            ..WorkDoneProgressReport::default()
        }))
        .await;
    }
    send(WorkDoneProgress::End(WorkDoneProgressEnd::default())).await;
}

fn percent(done: usize, total: usize) -> usize {
    (done * 100).checked_div(total).unwrap_or(100)
}
