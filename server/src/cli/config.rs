//! `ag-lsp config`: explains the configuration options, with the texts of the JSON schema.

use ag_project::config::Options;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::ExitStatus;
use crate::printer::{self, Printer};

/// Show the options of the configuration file.
#[derive(Args)]
pub(crate) struct Config {
    /// The option to explain.
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Config {
    pub(crate) fn run(&self) -> anyhow::Result<ExitStatus> {
        let mut schema = schemars::schema_for!(Options).to_value();
        let options: Map<String, Value> = match schema.get_mut("properties").map(Value::take) {
            Some(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let text = match &self.key {
            Some(key) => {
                let Some(option) = options.get(key) else {
                    printer::error(&format!("unknown option `{key}`; `ag-lsp config` lists them"));
                    return Ok(ExitStatus::Usage);
                };
                match self.output_format {
                    Format::Json => serde_json::to_string_pretty(option)? + "\n",
                    Format::Text => format!("{key}\n\n{}\n", description(option)),
                }
            }
            None => match self.output_format {
                Format::Json => serde_json::to_string_pretty(&options)? + "\n",
                Format::Text => {
                    let sections =
                        options.iter().map(|(key, option)| format!("{key}\n{}\n", indented(option)));
                    sections.collect::<Vec<_>>().join("\n")
                }
            },
        };
        Printer::new(None)?.write(&text)?;
        Ok(ExitStatus::Clean)
    }
}

fn description(option: &Value) -> &str {
    option.get("description").and_then(Value::as_str).unwrap_or_default()
}

fn indented(option: &Value) -> String {
    let lines = description(option).lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
