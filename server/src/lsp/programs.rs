//! `ag-lsp.run`, for clients without a terminal: the program's output goes to the client's log.

use ruff_db::system::SystemPath;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType};

use super::backend::Backend;
use super::commands::About;
use super::job::WhenStale;
use super::process::failed;
use super::requests;
use super::requests::execute_command::read;
use crate::program::Program;

impl Backend {
    pub(super) async fn run(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let about: About = read(params.arguments.into_iter().next().unwrap_or_default())?;
        let file = self.ask(requests::run::answer, about, WhenStale::Again).await?;
        let name =
            SystemPath::from_std_path(&file.path).and_then(SystemPath::file_name).unwrap_or("it").to_owned();
        let make = move || {
            let mut command = Program::Script(&file.path).command(None, &[])?;
            command.current_dir(&file.folder);
            anyhow::Ok(command)
        };
        let command = prepared(make).await?;
        let heard = |line: &str| self.outbox.log(MessageType::LOG, line.to_owned());
        let status = self.run_process(command, format!("Running {name}"), heard).await?;
        let Some(status) = status else { return Ok(None) };
        let (kind, ended) = match status.success() {
            true => (MessageType::INFO, "ended well".to_owned()),
            false => (MessageType::ERROR, format!("failed: {status}")),
        };
        self.outbox.show(kind, format!("`{name}` {ended}; what it wrote is in the log"));
        Ok(serde_json::to_value(status.code()).ok())
    }
}

/// Looks for the project's Python, off the threads that serve the client.
pub(super) async fn prepared(
    make: impl FnOnce() -> anyhow::Result<std::process::Command> + Send + 'static,
) -> Result<std::process::Command> {
    let made = tokio::task::spawn_blocking(make).await.map_err(|error| failed(error.to_string()))?;
    made.map_err(|error| failed(format!("{error:#}")))
}
