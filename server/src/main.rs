//! The binary `ag-lsp`: what the process is given, and what it answers with.
//!
//! Only this crate knows terminals, output formats and exit codes; what is right and wrong about a
//! program it asks of `ag-project`.

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
