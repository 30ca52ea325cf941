//! `ag-lsp/status`: the server's version, configuration, and statistics.

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
    /// Resident memory in bytes; `None` on systems other than Linux.
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
    /// Duration of the last run of the analysis, in milliseconds.
    analysis_time: f64,
}

pub(crate) fn answer(snapshot: &Snapshot, _: &Params) -> Result<Status> {
    let projects: Vec<ProjectStatus> = snapshot
        .projects
        .iter()
        .map(|project| ProjectStatus {
            folder: project.folder.to_string(),
            configuration: project.configuration.as_ref().map(ToString::to_string),
            python_version: project.environment.python_version.to_string(),
            site_packages: project.environment.site_packages.iter().map(ToString::to_string).collect(),
            files: project.engine.documents().len(),
            functions: project.engine.function_count(),
            roots: project.engine.root_count(),
            dialects: project.engine.settings().dialects.iter().map(|dialect| dialect.as_str()).collect(),
            analysis_time: project.analysis_time.as_secs_f64() * 1e3,
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
            format!("- last analyzed in {:.1} ms", project.analysis_time),
        ]);
    }
    lines.join("\n") + "\n"
}

/// Returns the resident memory of the process, in bytes.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
