//! `$/progress`: how far a long computation is, for clients that show it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tower_lsp::lsp_types::notification::Progress as Notification;
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::outbox::Outbox;

/// Ends when it is dropped.
pub(crate) struct Progress {
    sender: Option<mpsc::UnboundedSender<(usize, usize)>>,
    percent: AtomicUsize,
}

impl Progress {
    pub(crate) fn begin(outbox: Option<&Outbox>, title: &'static str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let sender = outbox.map(|outbox| {
            let (sender, mut receiver) = mpsc::unbounded_channel::<(usize, usize)>();
            let token = NumberOrString::String(format!("ag-lsp/{}", NEXT.fetch_add(1, Ordering::Relaxed)));
            outbox.send(move |client| {
                tokio::spawn(async move {
                    let create = WorkDoneProgressCreateParams { token: token.clone() };
                    if client.send_request::<WorkDoneProgressCreate>(create).await.is_err() {
                        return;
                    }
                    let tell = |value| {
                        let value = ProgressParamsValue::WorkDone(value);
                        client
                            .send_notification::<Notification>(ProgressParams { token: token.clone(), value })
                    };
                    tell(WorkDoneProgress::Begin(WorkDoneProgressBegin {
                        title: title.to_owned(),
                        cancellable: Some(false),
                        percentage: Some(0),
                        ..WorkDoneProgressBegin::default()
                    }))
                    .await;
                    while let Some((done, total)) = receiver.recv().await {
                        tell(WorkDoneProgress::Report(WorkDoneProgressReport {
                            message: Some(format!("{done} of {total} files")),
                            percentage: u32::try_from(percent(done, total)).ok(),
                            ..WorkDoneProgressReport::default()
                        }))
                        .await;
                    }
                    tell(WorkDoneProgress::End(WorkDoneProgressEnd::default())).await;
                });
                Box::pin(std::future::ready(()))
            });
            sender
        });
        Self { sender, percent: AtomicUsize::new(0) }
    }

    /// Every percent once.
    pub(crate) fn update(&self, done: usize, total: usize) {
        let now = percent(done, total);
        if let Some(sender) = &self.sender
            && self.percent.fetch_max(now, Ordering::Relaxed) < now
        {
            // The client may have refused.
            let _ = sender.send((done, total));
        }
    }
}

fn percent(done: usize, total: usize) -> usize {
    (done * 100).checked_div(total).unwrap_or(100)
}
