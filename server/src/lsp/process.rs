//! Processes that the user has asked for: each with its progress, until it ends or the client cancels it. One whose
//! outcome nobody waits for any more is ended.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::Notify;
use tower_lsp::jsonrpc::{Error, ErrorCode};
use tower_lsp::lsp_types::{NumberOrString, WorkDoneProgressCancelParams};

use super::backend::Backend;
use super::progress::{Progress, new_token};

/// A longer line is told in parts.
const LINE: u64 = 1 << 14;

/// What cancels a process, by the token of its progress.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<FxHashMap<NumberOrString, Arc<Notify>>>>);

impl Running {
    fn with<T>(&self, change: impl FnOnce(&mut FxHashMap<NumberOrString, Arc<Notify>>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Forgets the token when the process is over, however that comes.
struct Listed<'a>(&'a Running, NumberOrString);

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.0.with(|running| running.remove(&self.1));
    }
}

impl Backend {
    /// `window/workDoneProgress/cancel`
    pub(crate) async fn cancel(&self, params: WorkDoneProgressCancelParams) {
        if let Some(cancel) = self.running.with(|running| running.get(&params.token).cloned()) {
            cancel.notify_one();
        }
    }

    /// Runs a command to its end, and tells its output line by line. `None` if the client has cancelled it.
    pub(super) async fn run_process(
        &self,
        command: std::process::Command,
        title: String,
        heard: impl Fn(&str),
    ) -> Result<Option<ExitStatus>, Error> {
        let (token, cancel) = (new_token(), Arc::new(Notify::new()));
        let _listed = Listed(&self.running, token.clone());
        self.running.with(|running| running.insert(token.clone(), Arc::clone(&cancel)));
        let shows = self.client().is_some_and(|client| client.progress);
        let _progress = Progress::of_process(shows.then_some(&self.outbox), token, title);
        let mut command = Command::from(command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
        let (out, err) = (process.stdout.take(), process.stderr.take());
        let ending = async {
            tokio::join!(listen(out, &heard), listen(err, &heard));
            process.wait().await
        };
        tokio::select! {
            status = ending => status.map(Some).map_err(|error| failed(error.to_string())),
            () = cancel.notified() => Ok(None),
        }
    }
}

async fn listen(output: Option<impl AsyncRead + Unpin>, heard: &impl Fn(&str)) {
    let Some(output) = output else { return };
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while (&mut output).take(LINE).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        heard(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
}

/// The protocol's `RequestFailed`: the request was right, and could not be done.
pub(crate) fn failed(message: String) -> Error {
    Error { code: ErrorCode::ServerError(-32803), message: message.into(), data: None }
}
