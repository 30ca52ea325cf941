//! `ag-lsp/status`: what the server is, how it is set up, and what it holds.

use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;

use crate::lsp::snapshot::Snapshot;

#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct Params {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    version: &'static str,
    pub(crate) markdown: String,
    /// Resident, in bytes, where the system tells.
    memory: Option<u64>,
    open_documents: usize,
    projects: Vec<ProjectStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectStatus {
    folder: String,
    configuration: Option<String>,
    python_version: String,
    site_packages: Vec<String>,
    files: usize,
    functions: usize,
    roots: usize,
    dialects: Vec<&'static str>,
    /// How long the engine last took to come to rest, in milliseconds.
    settled_in: f64,
}

pub(crate) fn answer(snapshot: &Snapshot, _: &Params) -> Result<Status> {
    let projects: Vec<ProjectStatus> = snapshot
        .views
        .iter()
        .map(|view| ProjectStatus {
            folder: view.folder.to_string(),
            configuration: view.configuration.as_ref().map(ToString::to_string),
            python_version: view.environment.python_version.to_string(),
            site_packages: view.environment.site_packages.iter().map(ToString::to_string).collect(),
            files: view.engine.documents().len(),
            functions: view.engine.function_count(),
            roots: view.engine.root_count(),
            dialects: view.engine.settings().dialects.iter().map(|dialect| dialect.as_str()).collect(),
            settled_in: view.settled_in.as_secs_f64() * 1e3,
        })
        .collect();
    let (memory, open_documents) = (memory(), snapshot.documents.iter().count());
    let markdown = page(&projects, memory, open_documents);
    Ok(Status { version: env!("CARGO_PKG_VERSION"), markdown, memory, open_documents, projects })
}

fn page(projects: &[ProjectStatus], memory: Option<u64>, open_documents: usize) -> String {
    let mut lines = vec![format!("# ag-lsp {}", env!("CARGO_PKG_VERSION")), String::new()];
    if let Some(memory) = memory {
        lines.push(format!("- memory: {:.1} MiB", memory as f64 / f64::from(1 << 20)));
    }
    lines.push(format!("- open documents: {open_documents}"));
    for project in projects {
        lines.extend([
            String::new(),
            format!("## {}", project.folder),
            String::new(),
            format!("- configuration: {}", project.configuration.as_deref().unwrap_or("none")),
            format!("- Python {}, packages in {:?}", project.python_version, project.site_packages),
            format!("- dialects: {}", project.dialects.join(", ")),
            format!("- {} files, {} functions, {} roots", project.files, project.functions, project.roots),
            format!("- last analysed in {:.1} ms", project.settled_in),
        ]);
    }
    lines.join("\n") + "\n"
}

/// Pages of the process that are in memory, as Linux tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
