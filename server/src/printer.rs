//! Writing to people and to pipes: colours only where they are wanted, and no complaint when the
//! reader has gone (`ag-lsp check | head`).

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstream::ColorChoice;
use anyhow::Context;

/// Where the answer goes; messages about the run go to standard error.
pub(crate) struct Printer {
    out: Box<dyn Write>,
}

impl Printer {
    /// Standard output, or a file (with the folders above it).
    pub(crate) fn new(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = file else {
            return Ok(Self { out: Box::new(anstream::stdout()) });
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create `{}`", folder.display()))?;
        }
        let file =
            std::fs::File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
        let out: Box<dyn Write> = match ColorChoice::global() {
            ColorChoice::Always => Box::new(file),
            _ => Box::new(anstream::StripStream::new(file)),
        };
        Ok(Self { out })
    }

    /// For a text that has no colours.
    pub(crate) fn plain(file: Option<&Path>) -> anyhow::Result<Self> {
        match file {
            None => Ok(Self { out: Box::new(io::stdout().lock()) }),
            Some(_) => Self::new(file),
        }
    }

    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.write_bytes(text.as_bytes())
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write the output")
            }
            _ => Ok(()),
        }
    }
}

/// Whether standard output is read by a person.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A message about the run. Whoever has closed standard error does not want it.
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
