//! `ag-lsp server`: the language server, on standard input and output.

use anyhow::Context;
use clap::Args;

use super::ExitStatus;
use crate::lsp;
use crate::session;

/// Serve an editor: the Language Server Protocol on standard input and output.
///
/// Editors start it by themselves. The exit code is 0 when the editor has said goodbye, else 1.
#[derive(Args)]
pub(crate) struct Server {
    /// The only transport there is; accepted because editors say it.
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
        let serving = lsp::serve(tokio::io::stdin(), tokio::io::stdout(), cwd);
        let parted = runtime.block_on(serving);
        // A thread still waits for input that will not come.
        runtime.shutdown_background();
        Ok(if parted { ExitStatus::Clean } else { ExitStatus::Findings })
    }
}
