//! Writes converted code to one stream, or to one file per source file.

use std::path::{Path, PathBuf};

use super::Converted;
use crate::cli::convert::Format;
use crate::printer::{self, Printer};

pub(crate) struct Output {
    format: Format,
    target: Target,
    /// Whether each text gets a title, because there is more than one.
    has_titles: bool,
    entries: usize,
}

enum Target {
    Stream(Printer),
    Folder(PathBuf),
}

impl Output {
    /// Returns an output for `count` texts.
    pub(crate) fn new(format: Format, path: Option<&Path>, count: usize) -> anyhow::Result<Self> {
        let target = match path {
            _ if format == Format::Json => Target::Stream(printer::unstyled(path)?),
            Some(folder) if count > 1 || folder.is_dir() => Target::Folder(folder.to_owned()),
            path => Target::Stream(Printer::new(path)?),
        };
        let mut output = Self { format, target, has_titles: count > 1, entries: 0 };
        if format == Format::Json {
            output.stream("[")?;
        }
        Ok(output)
    }

    pub(crate) fn add(&mut self, converted: &Converted) -> anyhow::Result<()> {
        if self.format == Format::Json {
            if converted.entries.is_empty() {
                return Ok(());
            }
            if self.entries > 0 {
                self.stream(",")?;
            }
            self.entries += 1;
            return self.stream(&converted.entries);
        }
        if let Target::Folder(folder) = &self.target {
            let below = Path::new(&converted.file);
            let below = below.strip_prefix("/").unwrap_or(below);
            return printer::write_unstyled(Some(&folder.join(below)), &converted.text);
        }
        if self.has_titles {
            self.stream(&format!("# {}\n", converted.file))?;
        }
        self.stream(&converted.text)
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if self.format == Format::Json { self.stream("]\n") } else { Ok(()) }
    }

    fn stream(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.target {
            Target::Stream(printer) => printer.write(text),
            Target::Folder(_) => Ok(()),
        }
    }
}
