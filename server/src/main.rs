//! The binary `ag-lsp`: command line and language server.
//!
//! Only this crate deals with terminals, output formats and exit codes; `ag_analysis` analyzes programs.

mod cli;
mod converted;
mod discovery;
mod fix;
mod interpreter;
mod lsp;
mod manual;
mod panics;
mod printer;
mod program;
mod progress;
mod report;
mod session;
mod watch;

use std::process::ExitCode;

/// Parsing and inference allocate small nodes by the million.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    panics::record();
    let status = panics::catch(cli::main).unwrap_or_else(|panic| {
        printer::error(&format!("{panic}\nThis is a bug in ag-lsp."));
        cli::ExitStatus::Panic
    });
    ExitCode::from(status as u8)
}
