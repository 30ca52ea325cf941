//! `ag-lsp version`.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::ExitStatus;
use crate::printer::Printer;

/// Show the version.
#[derive(Args)]
pub(crate) struct Version {
    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Version {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let version = env!("CARGO_PKG_VERSION");
        let text = match self.output_format {
            Format::Text => format!("ag-lsp {version}\n"),
            Format::Json => {
                serde_json::to_string_pretty(&json!({ "name": "ag-lsp", "version": version }))? + "\n"
            }
        };
        Printer::new(None)?.write(&text)?;
        Ok(ExitStatus::Clean)
    }
}
