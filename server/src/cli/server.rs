//! `ag-lsp server`: the language server on standard input and output.

use anyhow::Context;
use clap::Args;

use super::ExitStatus;
use crate::lsp;
use crate::session;

/// Start the language server on standard input and output.
///
/// Editors start it themselves. The exit code is 0 after the `shutdown` and `exit` messages, else 1.
#[derive(Args)]
pub(crate) struct Server {
    /// Use standard input and output; the only transport, accepted because some editors pass it.
    #[arg(long)]
    stdio: bool,
}

impl Server {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let cwd = session::current_directory()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_io()
            .build()
            .context("cannot start the server's threads")?;
        let serving = lsp::serve(tokio::io::stdin(), tokio::io::stdout(), cwd, lsp::Timing::default());
        let shut_down = runtime.block_on(serving);
        // A thread may still be blocked on standard input.
        runtime.shutdown_background();
        Ok(if shut_down { ExitStatus::Clean } else { ExitStatus::Findings })
    }
}
