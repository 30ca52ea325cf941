//! The queue of messages to the client. Notifications are sent in order. A request does not block the
//! messages after it.

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
    /// Returns the outbox, and the task that sends its messages.
    pub(crate) fn new(client: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Box<dyn FnOnce(Client) -> Sending + Send>>();
        let draining = async move {
            while let Some(send) = receiver.recv().await {
                send(client.clone()).await;
            }
        };
        (Self { sender }, draining)
    }

    pub(crate) fn send(&self, send: impl FnOnce(Client) -> Sending + Send + 'static) {
        // Fails only after the client has disconnected.
        let _ = self.sender.send(Box::new(send));
    }

    /// Waits until all earlier messages are sent: partial results precede the response.
    pub(crate) async fn flushed(&self) {
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

    /// Sends a request; `then` receives the response.
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

    /// Shows a message to the user.
    pub(crate) fn show(&self, level: MessageType, message: String) {
        self.send(move |client| Box::pin(async move { client.show_message(level, message).await }));
    }
}
