//! `ag-lsp check`: findings, fixes and suppressions.

use std::mem::ManuallyDrop;
use std::path::PathBuf;

use ag_db::diagnostic::{Applicability, Severity};
use ag_project::config::Options;
use ag_rules::selection::Selector;
use ag_rules::suppress;
use clap::Args;
use ruff_python_ast::PySourceType;

use super::ExitStatus;
use super::arguments::ProjectArguments;
use crate::fix::{self, Change, Changes, Fixed};
use crate::printer::{self, Printer};
use crate::report::{self, Format};
use crate::session::{Checked, Session, Stdin};
use crate::watch;

/// Check files and folders for staging and tracing errors.
///
/// The exit code is 0 if there are no errors or warnings, 1 if there are any, 2 if the command line or
/// the configuration is invalid, and 101 after an internal error.
#[derive(Args)]
pub(crate) struct Check {
    /// The files and folders to check; the current folder by default; `-` for standard input.
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,

    /// The output format.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "AG_LSP_OUTPUT_FORMAT",
        default_value = "full",
        help_heading = "Output"
    )]
    output_format: Format,

    /// Write the findings to a file instead of standard output.
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output_file: Option<PathBuf>,

    /// Count the findings of each rule instead of showing them.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["diff", "add_ignore"])]
    statistics: bool,

    /// Apply safe fixes.
    #[arg(long, help_heading = "Fixes")]
    fix: bool,

    /// Also apply (with `--fix`) or show (with `--diff`) unsafe fixes, which may change what the code does.
    #[arg(long, help_heading = "Fixes")]
    unsafe_fixes: bool,

    /// Show the changes of `--fix` as a diff instead of applying them; exit with 1 if there are any.
    #[arg(long, help_heading = "Fixes", conflicts_with = "fix")]
    diff: bool,

    /// Add a suppression comment for each finding.
    #[arg(long, help_heading = "Fixes", conflicts_with_all = ["fix", "diff", "watch"])]
    add_ignore: bool,

    /// The rules to run instead of the configured ones: codes, prefixes (AG1), names, or ALL.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    select: Option<Vec<Selector>>,

    /// Rules to run in addition to the configured ones.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    extend_select: Vec<Selector>,

    /// Rules to disable.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    ignore: Vec<Selector>,

    #[command(flatten)]
    project: ProjectArguments,

    /// The path of the file whose text is on standard input.
    #[arg(long, value_name = "FILE", help_heading = "File selection", conflicts_with = "watch")]
    stdin_filename: Option<String>,

    /// Check again whenever a file changes.
    #[arg(long, short, help_heading = "Miscellaneous")]
    watch: bool,

    /// Treat warnings as errors.
    #[arg(long, help_heading = "Miscellaneous")]
    error_on_warning: bool,

    /// Exit with 0 even when there are findings.
    #[arg(long, short = 'e', help_heading = "Miscellaneous")]
    exit_zero: bool,
}

impl Check {
    pub(crate) fn run(&self, verbosity: i8) -> anyhow::Result<ExitStatus> {
        if self.watch {
            return watch::watch(
                &self.paths,
                || self.open(verbosity),
                |session| {
                    self.once(session, verbosity)?;
                    printer::note("Watching for changes …");
                    Ok(())
                },
            );
        }
        // The process ends here; the system frees the memory faster than the destructors of the database.
        let mut session = ManuallyDrop::new(self.open(verbosity)?);
        self.once(&mut session, verbosity)
    }

    fn open(&self, verbosity: i8) -> anyhow::Result<Session> {
        let overrides = Options {
            select: self.select.clone(),
            extend_select: self.extend_select.clone(),
            ignore: self.ignore.clone(),
            ..Options::default()
        };
        let stdin = self.stdin()?;
        let mut session =
            Session::open(&self.project, &overrides, &self.paths, stdin.as_ref(), verbosity, |_| {})?;
        session.check_whole_files();
        session.start(verbosity);
        Ok(session)
    }

    fn stdin(&self) -> anyhow::Result<Option<Stdin>> {
        let stdin = Stdin::of(&self.paths, self.stdin_filename.as_deref())?;
        anyhow::ensure!(stdin.is_none() || !self.watch, "standard input cannot be watched");
        Ok(stdin)
    }

    fn once(&self, session: &mut Session, verbosity: i8) -> anyhow::Result<ExitStatus> {
        let least = if self.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
        let Fixed { changes, count, remaining } = match self.fix || self.diff {
            true => fix::fix(session, least),
            false => Fixed { remaining: session.check(), ..Fixed::default() },
        };
        if self.add_ignore {
            return self.suppress(session, &remaining);
        }
        let mut printer = Printer::new(self.output_file.as_deref())?;
        let panicked = remaining.iter().any(|checked| checked.findings.is_err());
        if self.diff {
            printer.write(&fix::diff(&changes, &session.cwd))?;
            printer::note(&format!("Would fix {}.", report::plural(count, "finding")));
            let status = if changes.is_empty() { ExitStatus::Clean } else { ExitStatus::Findings };
            return Ok(self.status(status, panicked));
        }
        let filters = self.stdin()?.is_some() && self.fix;
        if filters {
            self.write_filtered_stdin(session, &remaining, &changes)?;
        } else {
            fix::write(&changes)?;
        }

        let report = report::collect(session, remaining, self.error_on_warning);
        let mut text = match self.statistics {
            true => report::statistics(&report, self.output_format)?,
            false => report::render(&report, self.output_format)?,
        };
        if self.output_format.is_human_readable() && verbosity >= 0 && !self.statistics {
            text.push_str(&report::summary(&report, count));
        }
        if filters {
            printer::note(text.trim_end());
        } else {
            printer.write(&text)?;
        }
        session.note_missing_roots();
        let bad = report.violations.iter().any(|violation| violation.severity >= Severity::Warning);
        Ok(self.status(if bad { ExitStatus::Findings } else { ExitStatus::Clean }, panicked))
    }

    fn status(&self, status: ExitStatus, panicked: bool) -> ExitStatus {
        match (panicked, self.exit_zero) {
            (true, _) => ExitStatus::Panic,
            (false, true) => ExitStatus::Clean,
            (false, false) => status,
        }
    }

    /// Writes the text of standard input, after the changes, to standard output.
    fn write_filtered_stdin(
        &self,
        session: &Session,
        checked: &[Checked],
        changes: &Changes,
    ) -> anyhow::Result<()> {
        let mut printer = Printer::new(self.output_file.as_deref())?;
        for Checked { document, path, .. } in checked {
            let text = match changes.get(path) {
                Some(change) => change.after.clone(),
                None => session.engine.text(session.engine.file(*document)),
            };
            printer.write(text.as_str())?;
        }
        Ok(())
    }

    /// Adds the suppression comments of `--add-ignore`.
    fn suppress(&self, session: &Session, checked: &[Checked]) -> anyhow::Result<ExitStatus> {
        let mut changes = Changes::new();
        let mut count = 0;
        for Checked { document, path, findings } in checked {
            let Ok(findings) = findings else { continue };
            let before = session.engine.text(session.engine.file(*document));
            let source_type = path.extension().map(PySourceType::from_extension).unwrap_or_default();
            let edits = suppress::additions(findings, before.as_str(), source_type);
            if !edits.is_empty() {
                count += edits.len();
                let after = fix::replace(&before, &edits);
                changes.insert(path.clone(), Change { before, after });
            }
        }
        if self.stdin()?.is_some() {
            self.write_filtered_stdin(session, checked, &changes)?;
        } else {
            fix::write(&changes)?;
        }
        printer::note(&format!("Added or extended {}.", report::plural(count, "suppression comment")));
        let panicked = checked.iter().any(|checked| checked.findings.is_err());
        Ok(self.status(ExitStatus::Clean, panicked))
    }
}
