//! Processes that a command has started, with progress and cancellation. A process is killed when its request is
//! dropped.

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

/// The maximum length of a line of output. A longer line is split.
const MAX_LINE: u64 = 1 << 14;

/// Cancellation of running processes, by progress token.
#[derive(Clone, Default)]
pub(crate) struct RunningProcesses(Arc<Mutex<FxHashMap<NumberOrString, Arc<Notify>>>>);

impl RunningProcesses {
    fn with<T>(&self, change: impl FnOnce(&mut FxHashMap<NumberOrString, Arc<Notify>>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Removes the token on drop.
struct RegisteredProcess<'a>(&'a RunningProcesses, NumberOrString);

impl Drop for RegisteredProcess<'_> {
    fn drop(&mut self) {
        self.0.with(|running| running.remove(&self.1));
    }
}

impl Backend {
    /// Handles `window/workDoneProgress/cancel`.
    pub(crate) async fn cancel(&self, params: WorkDoneProgressCancelParams) {
        if let Some(cancel) = self.running.with(|running| running.get(&params.token).cloned()) {
            cancel.notify_one();
        }
    }

    /// Runs a command and passes each line of its output to `on_line`. `None` if the client has cancelled it.
    pub(super) async fn run_process(
        &self,
        command: std::process::Command,
        title: String,
        on_line: impl Fn(&str),
    ) -> Result<Option<ExitStatus>, Error> {
        let (token, cancel) = (new_token(), Arc::new(Notify::new()));
        let _registered = RegisteredProcess(&self.running, token.clone());
        self.running.with(|running| running.insert(token.clone(), Arc::clone(&cancel)));
        let shows_progress = self.client().is_some_and(|client| client.progress);
        let _progress = Progress::for_process(shows_progress.then_some(&self.outbox), token, title);
        let mut command = Command::from(command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
        let (out, err) = (process.stdout.take(), process.stderr.take());
        let exit = async {
            tokio::join!(read_lines(out, &on_line), read_lines(err, &on_line));
            process.wait().await
        };
        tokio::select! {
            status = exit => status.map(Some).map_err(|error| failed(error.to_string())),
            () = cancel.notified() => Ok(None),
        }
    }
}

async fn read_lines(output: Option<impl AsyncRead + Unpin>, on_line: &impl Fn(&str)) {
    let Some(output) = output else { return };
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while (&mut output).take(MAX_LINE).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        on_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
}

/// Returns the protocol's error `RequestFailed`: the request was valid but failed.
pub(crate) fn failed(message: String) -> Error {
    Error { code: ErrorCode::ServerError(-32803), message: message.into(), data: None }
}
