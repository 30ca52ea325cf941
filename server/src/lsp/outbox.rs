//! What goes to the client, in the order in which it was decided. Notifications leave one after the
//! other; a request to the client does not hold up what comes after it.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tower_lsp::Client;
use tower_lsp::lsp_types::notification::Notification;
use tower_lsp::lsp_types::{MessageType, request::Request};

type Sending = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::UnboundedSender<Box<dyn FnOnce(Client) -> Sending + Send>>,
}

impl Outbox {
    /// The outbox, and what empties it into the client.
    pub(crate) fn new(client: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Box<dyn FnOnce(Client) -> Sending + Send>>();
        let emptying = async move {
            while let Some(send) = receiver.recv().await {
                send(client.clone()).await;
            }
        };
        (Self { sender }, emptying)
    }

    pub(crate) fn send(&self, send: impl FnOnce(Client) -> Sending + Send + 'static) {
        // A client that is gone needs nothing more.
        let _ = self.sender.send(Box::new(send));
    }

    /// Waits until what was decided before has left: an answer comes after what was said on the way to it.
    pub(crate) async fn emptied(&self) {
        let (sender, left) = oneshot::channel();
        self.send(move |_| {
            Box::pin(async move {
                let _ = sender.send(());
            })
        });
        let _ = left.await;
    }

    pub(crate) fn notify<N: Notification>(&self, params: N::Params)
    where
        N::Params: Serialize + Send + 'static,
    {
        self.send(move |client| Box::pin(async move { client.send_notification::<N>(params).await }));
    }

    /// Asks the client; the answer is given to `then` when it comes.
    pub(crate) fn request<R: Request>(
        &self,
        params: R::Params,
        then: impl FnOnce(Result<R::Result, String>) + Send + 'static,
    ) where
        R::Params: Send + 'static,
        R::Result: Send,
    {
        self.send(move |client| {
            tokio::spawn(async move {
                let answer = client.send_request::<R>(params).await;
                then(answer.map_err(|error| error.to_string()));
            });
            Box::pin(std::future::ready(()))
        });
    }

    pub(crate) fn log(&self, level: MessageType, message: String) {
        self.send(move |client| Box::pin(async move { client.log_message(level, message).await }));
    }

    /// For what the user must know.
    pub(crate) fn show(&self, level: MessageType, message: String) {
        self.send(move |client| Box::pin(async move { client.show_message(level, message).await }));
    }
}
