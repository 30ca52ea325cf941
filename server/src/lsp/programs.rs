//! The command `ag-lsp.run`, for clients without a terminal. The program's output goes to the client's log.

use ruff_db::system::SystemPath;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType};

use super::backend::Backend;
use super::commands::FunctionParams;
use super::job::WhenStale;
use super::process::failed;
use super::requests;
use super::requests::execute_command::read;
use crate::program::Program;

impl Backend {
    pub(super) async fn run(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let argument: FunctionParams = read(params.arguments.into_iter().next().unwrap_or_default())?;
        let file = self.request(requests::run::answer, argument, WhenStale::Retry).await?;
        let name = SystemPath::from_std_path(&file.path)
            .and_then(SystemPath::file_name)
            .unwrap_or("program")
            .to_owned();
        let build = move || {
            let mut command = Program::Script(&file.path).command(None, &[])?;
            command.current_dir(&file.folder);
            anyhow::Ok(command)
        };
        let command = build_command(build).await?;
        let on_line = |line: &str| self.outbox.log(MessageType::LOG, line.to_owned());
        let status = self.run_process(command, format!("RunningProcesses {name}"), on_line).await?;
        let Some(status) = status else { return Ok(None) };
        let (kind, result) = match status.success() {
            true => (MessageType::INFO, "succeeded".to_owned()),
            false => (MessageType::ERROR, format!("failed: {status}")),
        };
        self.outbox.show(kind, format!("`{name}` {result}; its output is in the log"));
        Ok(serde_json::to_value(status.code()).ok())
    }
}

/// Builds a command on a blocking thread, because the search for the project's Python may block.
pub(super) async fn build_command(
    build: impl FnOnce() -> anyhow::Result<std::process::Command> + Send + 'static,
) -> Result<std::process::Command> {
    let command = tokio::task::spawn_blocking(build).await.map_err(|error| failed(error.to_string()))?;
    command.map_err(|error| failed(format!("{error:#}")))
}
