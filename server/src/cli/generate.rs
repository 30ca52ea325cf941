//! Generated files: shell completions, JSON schema, manual page, rule documentation.

use ag_project::config::Options;
use ag_rules::registry;
use clap::Args;
use clap_complete::Shell;

use super::ExitStatus;
use crate::manual;
use crate::printer::Printer;

/// Write shell completions to standard output.
#[derive(Args)]
pub(crate) struct ShellCompletion {
    shell: Shell,
}

impl ShellCompletion {
    pub(crate) fn run(&self, command: &mut clap::Command) -> anyhow::Result<ExitStatus> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, "ag-lsp", &mut script);
        print(&String::from_utf8(script)?)
    }
}

pub(super) fn schema() -> anyhow::Result<ExitStatus> {
    print(&(serde_json::to_string_pretty(&schemars::schema_for!(Options))? + "\n"))
}

pub(super) fn manual(command: clap::Command) -> anyhow::Result<ExitStatus> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&String::from_utf8(page)?)
}

pub(super) fn rules_reference() -> anyhow::Result<ExitStatus> {
    let pages: Vec<String> = registry::RULES.iter().map(|rule| manual::page(rule)).collect();
    print(&pages.join("\n"))
}

fn print(text: &str) -> anyhow::Result<ExitStatus> {
    Printer::new(None)?.write(text)?;
    Ok(ExitStatus::Clean)
}
