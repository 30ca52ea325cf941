//! Output to terminals, pipes and files: styles only where supported, and no error when the reader closes the
//! pipe (`ag-lsp check | head`).

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstream::ColorChoice;
use anyhow::Context;

/// Returns a printer without styles, to standard output or a file.
pub(crate) fn unstyled(file: Option<&Path>) -> anyhow::Result<Printer> {
    let out: Box<dyn Write> = match file {
        Some(path) => Box::new(create(path)?),
        None => Box::new(io::stdout()),
    };
    Ok(Printer { out })
}

pub(crate) fn write_unstyled(file: Option<&Path>, text: &str) -> anyhow::Result<()> {
    unstyled(file)?.write(text)
}

fn create(path: &Path) -> anyhow::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    std::fs::File::create(path).with_context(|| format!("cannot write `{}`", path.display()))
}

/// The destination of results. Messages about the run go to standard error.
pub(crate) struct Printer {
    out: Box<dyn Write>,
}

impl Printer {
    /// Prints to standard output or to a file. Creates the file's parent folders.
    pub(crate) fn new(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = file else {
            return Ok(Self { out: Box::new(anstream::stdout()) });
        };
        let file = create(path)?;
        let out: Box<dyn Write> = match ColorChoice::global() {
            ColorChoice::Always => Box::new(file),
            _ => Box::new(anstream::StripStream::new(file)),
        };
        Ok(Self { out })
    }

    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write the output")
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a message about the run. Ignores errors, because standard error may be closed.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

pub(crate) fn error(text: &str) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    note(&format!("{style}error{style:#}: {text}"));
}

pub(crate) fn warning(text: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    note(&format!("{style}warning{style:#}: {text}"));
}
