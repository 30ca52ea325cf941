//! `ag-lsp check`: findings, their repair, their suppression.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ag_analysis::check::{Finding, Note};
use ag_analysis::config::{Options, Selector};
use ag_analysis::diagnostic::{Applicability, Severity};
use ag_analysis::rules::registry;
use ag_analysis::suppress;
use clap::Args;
use ruff_db::files::File;
use ruff_python_ast::PySourceType;
use ruff_text_size::TextRange;

use super::ExitStatus;
use super::arguments::ProjectArguments;
use crate::fix::{self, Change, Fixed};
use crate::printer::{self, Printer};
use crate::report::{self, Format, Place, Remark, Report, Source, Violation};
use crate::session::{Checked, Session, Stdin};
use crate::watch;

const NO_ROOTS: &str = "\
No staged functions found. Staging starts at functions that the code declares: those with `@tf.function`,
`@torch.compile`, `@jax.jit` and their kin, the `call` of a Keras layer, a callback of `Dataset.map`. Declare
others with `roots = [\"package.module.function\"]` in the configuration, or check every function as if it
were staged with `--roots all`.";

/// Look for staging faults in files and folders.
///
/// The exit code is 0 when nothing is found (or nothing worse than `info`), 1 when there are errors
/// or warnings, 2 when the command line or the configuration is wrong, and 101 when ag-lsp itself
/// has failed.
#[derive(Args)]
pub(crate) struct Check {
    /// The files and folders to check; the current folder by default; `-` for standard input.
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,

    /// How findings are written.
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

    /// Apply the fixes that are safe.
    #[arg(long, help_heading = "Fixes")]
    fix: bool,

    /// Apply (with `--fix`) or show (with `--diff`) also the fixes that may change what was meant.
    #[arg(long, help_heading = "Fixes")]
    unsafe_fixes: bool,

    /// Show what `--fix` would change instead of changing it; exit code 1 if there is anything.
    #[arg(long, help_heading = "Fixes", conflicts_with = "fix")]
    diff: bool,

    /// Add a suppression comment for each finding.
    #[arg(long, help_heading = "Fixes", conflicts_with_all = ["fix", "diff", "watch"])]
    add_ignore: bool,

    /// The rules to run instead of the configured ones: codes, prefixes (AG1), names, or ALL.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    select: Option<Vec<Selector>>,

    /// The rules to run besides the configured ones.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    extend_select: Vec<Selector>,

    /// The rules not to run.
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rule selection")]
    ignore: Vec<Selector>,

    #[command(flatten)]
    project: ProjectArguments,

    /// The path that the text of standard input belongs to.
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
        self.once(&mut self.open(verbosity)?, verbosity)
    }

    fn open(&self, verbosity: i8) -> anyhow::Result<Session> {
        let overrides = Options {
            select: self.select.clone(),
            extend_select: self.extend_select.clone(),
            ignore: self.ignore.clone(),
            ..Options::default()
        };
        Session::open(&self.project, &overrides, &self.paths, self.stdin()?.as_ref(), verbosity)
    }

    fn stdin(&self) -> anyhow::Result<Option<Stdin>> {
        let dash = self.paths.iter().any(|path| path == "-");
        if !dash && (self.stdin_filename.is_none() || !self.paths.is_empty()) {
            return Ok(None);
        }
        anyhow::ensure!(
            self.paths.len() <= 1,
            "`-` stands for standard input and cannot be joined with other paths"
        );
        anyhow::ensure!(!self.watch, "standard input cannot be watched");
        let name = self.stdin_filename.clone().unwrap_or_else(|| "stdin.py".to_owned());
        Ok(Some(Stdin { name }))
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
        let to_stdout = self.stdin()?.is_some() && self.fix;
        if to_stdout {
            // As a filter: the text, mended or not.
            for checked in &remaining {
                printer.write(&String::from_utf8_lossy(
                    &session.engine.text(session.engine.file(checked.document)).to_bytes(),
                ))?;
            }
        } else {
            fix::write(&changes)?;
        }

        let report = Reporter::new(session, self.error_on_warning).report(remaining);
        let mut text = match self.statistics {
            true => report::statistics(&report, self.output_format)?,
            false => report::render(&report, self.output_format)?,
        };
        if self.output_format.is_for_people() && verbosity >= 0 && !self.statistics {
            text.push_str(&report::summary(&report, count));
        }
        if to_stdout {
            printer::note(text.trim_end());
        } else {
            printer.write(&text)?;
        }
        if session.engine.root_count() == 0 && !session.inputs.is_empty() && verbosity >= 0 {
            printer::note(NO_ROOTS);
        }
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

    /// `--add-ignore`.
    fn suppress(&self, session: &Session, checked: &[Checked]) -> anyhow::Result<ExitStatus> {
        let mut changes = std::collections::BTreeMap::new();
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
            let mut printer = Printer::new(self.output_file.as_deref())?;
            for change in changes.values() {
                printer.write(&String::from_utf8_lossy(&change.after.to_bytes()))?;
            }
        } else {
            fix::write(&changes)?;
        }
        printer::note(&format!("Added or extended {}.", report::plural(count, "suppression comment")));
        let panicked = checked.iter().any(|checked| checked.findings.is_err());
        Ok(self.status(ExitStatus::Clean, panicked))
    }
}

/// Turns findings into a report: files get names, offsets stay within their texts.
struct Reporter<'a> {
    session: &'a Session,
    error_on_warning: bool,
    sources: HashMap<File, Arc<Source>>,
}

impl<'a> Reporter<'a> {
    fn new(session: &'a Session, error_on_warning: bool) -> Self {
        Self { session, error_on_warning, sources: HashMap::new() }
    }

    fn report(mut self, checked: Vec<Checked>) -> Report {
        let mut violations = Vec::new();
        for unreadable in &self.session.unreadable {
            let source = Source::new(unreadable.path.clone(), &self.session.cwd, String::new(), None);
            violations.extend(self.own("AG901", unreadable.message.clone(), &source));
        }
        for Checked { document, findings, .. } in checked {
            let file = self.session.engine.file(document);
            match findings {
                Ok(findings) => {
                    violations.extend(findings.into_iter().map(|finding| self.violation(finding)))
                }
                Err(panic) => {
                    let source = self.source(file);
                    violations.extend(self.own(
                        "AG903",
                        format!("{panic}; this is a bug in ag-lsp"),
                        &source,
                    ));
                }
            }
        }
        violations.sort_by(|a, b| a.place.source.path.cmp(&b.place.source.path));
        Report { violations }
    }

    fn severity(&self, severity: Severity) -> Severity {
        if self.error_on_warning && severity == Severity::Warning { Severity::Error } else { severity }
    }

    /// A finding about a file as a whole.
    fn own(&self, code: &str, message: String, source: &Arc<Source>) -> Option<Violation> {
        let rule = registry::find(code)?;
        Some(Violation {
            code: rule.code,
            name: rule.name,
            severity: self.severity(self.session.settings.rules.enabled(code)?),
            message,
            place: Place::new(source, TextRange::default()),
            labels: Vec::new(),
            why: Vec::new(),
            help: None,
            fix: None,
        })
    }

    fn source(&mut self, file: File) -> Arc<Source> {
        let session = self.session;
        let source = || Source::of_file(&session.engine, file, &session.cwd);
        Arc::clone(self.sources.entry(file).or_insert_with(source))
    }

    fn violation(&mut self, finding: Finding) -> Violation {
        let source = self.source(finding.location.file);
        let place = |range| Place::new(&source, range);
        let fix = finding.fix.map(|fix| report::Fix {
            message: fix.message,
            applicability: fix.applicability,
            edits: fix.edits.into_iter().map(|edit| (place(edit.range), edit.text)).collect(),
        });
        Violation {
            code: finding.code,
            name: finding.name,
            severity: self.severity(finding.severity),
            message: finding.message,
            place: place(finding.location.range),
            labels: self.remarks(finding.labels),
            why: self.remarks(finding.why),
            help: finding.help,
            fix,
        }
    }

    fn remarks(&mut self, notes: Vec<Note>) -> Vec<Remark> {
        let remark = |note: Note| {
            let place = note.location.map(|location| Place::new(&self.source(location.file), location.range));
            Remark { message: note.message, place }
        };
        notes.into_iter().map(remark).collect()
    }
}
